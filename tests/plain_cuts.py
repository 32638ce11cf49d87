"""Mondrian by a score, written from the definitions: records one by one, every cut of every attribute tried.

A score says how good it is to divide `records` into `left` and `right` at an attribute; all of them are per record.
"""

import math
from collections import Counter
from fractions import Fraction
from typing import NamedTuple

import plain_twins as twins

EQUAL = 1e-9


class Record(NamedTuple):
    """One record: the number of its cell, its leaf codes, its sensitive values, and its target."""

    cell: int
    codes: tuple[int, ...]
    values: tuple[int, ...]
    target: object


class Cut(NamedTuple):
    """One way to divide records, and how good it is."""

    attribute: int
    left: list
    right: list
    score: object

    def unevenness(self):
        return abs(len(self.left) - len(self.right))


def mondrian(records, widths, judge, score, widest_first=False):
    """Make the admitted cut of the highest score, and so on; ties as Mondrian would: widest, then most even."""
    cuts = []
    for attribute in twins.by_spread(records, widths):
        cuts += [cut for cut in cuts_of(records, attribute, widths, score) if judge(cut.left) and judge(cut.right)]
        if cuts and widest_first:
            break
    if not cuts:
        return [records]
    highest = max(float(cut.score) for cut in cuts)
    ties = [cut for cut in cuts if float(cut.score) >= highest - EQUAL]
    best = min((cut for cut in ties if cut.attribute == ties[0].attribute), key=Cut.unevenness)
    return [group for part in (best.left, best.right) for group in mondrian(part, widths, judge, score, widest_first)]


def cuts_of(records, attribute, widths, score):
    for code in sorted({record.codes[attribute] for record in records})[:-1]:
        left = [record for record in records if record.codes[attribute] <= code]
        right = [record for record in records if record.codes[attribute] > code]
        yield Cut(attribute, left, right, score(records, left, right, attribute, widths))


def range_score(records, left, right, attribute, widths):
    """Minus the distance from the middle of the range to the stretch between the two parts."""
    own = widths[attribute]
    lo, hi = min(r.codes[attribute] for r in left), max(r.codes[attribute] for r in right)
    middle = Fraction(sum(own[:lo]) + sum(own[: hi + 1]), 2)
    start = sum(own[: max(r.codes[attribute] for r in left) + 1])
    end = sum(own[: min(r.codes[attribute] for r in right)])
    return -max(start - middle, middle - end, 0) / Fraction(sum(own))


def squares(numbers):
    """The sum of squares around the mean."""
    if not numbers:
        return 0
    mean = sum(numbers, Fraction(0)) / len(numbers)
    return sum((number - mean) ** 2 for number in numbers)


def variance_score(records, left, right, attribute, widths):
    """How much the variance of the attribute falls, leaves placed at their middles, the domain from 0 to 1."""
    own = widths[attribute]

    def middles(part):
        places = [Fraction(sum(own[: r.codes[attribute]])) + Fraction(own[r.codes[attribute]], 2) for r in part]
        return [place / sum(own) for place in places]

    return (squares(middles(records)) - squares(middles(left)) - squares(middles(right))) / len(records)


def target_variance_score(everything):
    """How much the variance of the target falls, in units of the whole table's; None has no number."""

    def known(part):
        return [Fraction(record.target) for record in part if record.target is not None]

    numbers = known(everything)
    unit = squares(numbers) / len(numbers) if numbers and squares(numbers) else 1

    def score(records, left, right, attribute, widths):
        return (squares(known(records)) - squares(known(left)) - squares(known(right))) / unit / len(records)

    return score


def loss_score(records, left, right, attribute, widths):
    """How much the loss falls: the mean over the attributes, of the boxes of the parts."""

    def total(part):
        return len(part) * twins.box_loss(widths, *twins.box_of(part))

    return (total(records) - total(left) - total(right)) / Fraction(len(records))


def gain_score(records, left, right, attribute, widths):
    """The entropy of the target less the mean entropy of the parts."""

    def entropy(part):
        shares = [count / len(part) for count in Counter(record.target for record in part).values()]
        return -sum(share * math.log(share) for share in shares)

    return entropy(records) - (len(left) * entropy(left) + len(right) * entropy(right)) / len(records)


def weighted_entropy(groups):
    """The mean entropy of the target in groups of records, each counted with its size."""
    total = sum(map(len, groups))
    return sum(-sum(n * math.log(n / len(own)) for n in Counter(own).values()) for own in groups) / total
