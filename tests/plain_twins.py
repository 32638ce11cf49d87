"""Slow plain twins of the kernels, written from the definitions; the kernels must agree with them.

Records are listed one by one, shares are exact fractions, only logarithms are floating point. `counts` are a group's
counts of one sensitive attribute, `table` the whole table's counts of it, `levels` its hierarchy: for every level
from the leaves to the root, the node above each value.
"""

import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

TOLERANCE = Fraction(1, 10**9)


def shares(counts):
    """The distribution of a histogram, exactly."""
    return [Fraction(int(n), int(sum(counts))) for n in counts]


def differences(counts, table):
    """What a group has of every value more than the whole table."""
    return [p - q for p, q in zip(shares(counts), shares(table), strict=True)]


# ---------------------------------------------------------------- distances


def equal(counts, table):
    """The mass that has to be moved, whatever the way: all that is too much somewhere."""
    return sum(max(d, 0) for d in differences(counts, table))


def ordered(counts, table):
    """Every neighbouring pair of values is 1/(m-1) apart and carries the surplus of all values before it."""
    return sum(abs(surplus) for surplus in list(accumulate(differences(counts, table)))[:-1]) / Fraction(len(table) - 1)


def hierarchical(counts, table, levels):
    """Li et al. 2007, section 4.2: the sum over inner nodes of height(N)/H * min(pos_extra(N), neg_extra(N))."""
    difference = differences(counts, table)
    height = len(levels) - 1
    total = Fraction(0)
    for level in range(1, height + 1):
        for node in set(levels[level]):
            children = defaultdict(Fraction)
            for value, extra in enumerate(difference):
                if levels[level][value] == node:
                    children[levels[level - 1][value]] += extra
            positive = sum(extra for extra in children.values() if extra > 0)
            negative = -sum(extra for extra in children.values() if extra < 0)
            total += Fraction(level, height) * min(positive, negative)
    return total


def kullback_leibler(p, q):
    """Sum of p ln(p/q), in nats."""
    return sum(float(a) * math.log(a / b) for a, b in zip(p, q, strict=True) if a)


def js(counts, table):
    """Jensen-Shannon divergence: the mean divergence of the two from their middle."""
    p, q = shares(counts), shares(table)
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return (kullback_leibler(p, middle) + kullback_leibler(q, middle)) / 2


def delta(counts, table, absent="infinite"):
    """The largest |ln(p/q)|."""
    if absent == "infinite" and 0 in list(counts):
        return math.inf
    return max(abs(math.log(p / q)) for p, q in zip(shares(counts), shares(table), strict=True) if p)


def gains(counts, table):
    """The relative gain of every value."""
    return [p / q - 1 for p, q in zip(shares(counts), shares(table), strict=True)]


def beta(counts, table):
    """The largest relative gain."""
    return max(gains(counts, table))


# ---------------------------------------------------------------- diversity


def frequency_l(counts):
    """1 / the largest share."""
    return 1 / max(shares(counts))


def distinct_l(counts):
    """The number of values that are present."""
    return len([n for n in counts if n])


def entropy(counts):
    """Entropy in nats."""
    return -sum(float(p) * math.log(p) for p in shares(counts) if p)


def recursive_tail(counts, rank):
    """r_l + ... + r_m."""
    return int(sum(sorted(counts, reverse=True)[rank - 1 :]))


def recursive_l(counts, c):
    """The largest l with r_1 < c (r_l + ... + r_m), 0 if there is none."""
    return max(
        (rank for rank in range(1, len(counts) + 1) if max(counts) < c * recursive_tail(counts, rank)), default=0
    )


# ---------------------------------------------------------------- requirements


def at_most(a, b):
    """a <= b, with the tolerance in favour."""
    return a <= b + TOLERANCE if isinstance(a, Fraction) and isinstance(b, Fraction) else float(a) <= float(b) + 1e-9


def below(a, b):
    """a < b, with the tolerance against."""
    return float(a) < float(b) - 1e-9


def admits(part, counts, table, levels):
    """Say whether one requirement (not a joined one) admits a group with these counts of its sensitive attribute."""
    given = vars(part)
    return PREDICATES[part.name](given, [int(n) for n in counts], [int(n) for n in table], levels)


def _diverse(given, counts, table, levels):
    wanted = Fraction(given["l"])
    if given["variant"] == "frequency":
        return at_most(max(shares(counts)), 1 / wanted)
    if given["variant"] == "distinct":
        return distinct_l(counts) >= wanted
    if given["variant"] == "entropy":
        return at_most(math.log(wanted), entropy(counts))
    tail = Fraction(given["c"]) * recursive_tail(counts, int(wanted))
    return Fraction(max(counts), sum(counts)) < tail / sum(counts) - TOLERANCE


def _close(given, counts, table, levels):
    distance = {
        "equal": lambda: equal(counts, table),
        "ordered": lambda: ordered(counts, table),
        "hierarchical": lambda: hierarchical(counts, table, levels),
        "js": lambda: js(counts, table),
    }[given["distance"]]()
    return at_most(distance, Fraction(given["t"]))


def _alike(given, counts, table, levels):
    for gain, q in zip(gains(counts, table), shares(table), strict=True):
        bound = given["beta"] if given["variant"] == "basic" else min(given["beta"], -math.log(q))
        if not at_most(gain, Fraction(bound)):
            return False
    return True


PREDICATES = {
    "k-anonymity": lambda given, counts, table, levels: sum(counts) >= given["k"],
    "l-diversity": _diverse,
    "t-closeness": _close,
    "delta-disclosure": lambda given, counts, table, levels: below(
        delta(counts, table, given["absent"]), given["delta"]
    ),
    "beta-likeness": _alike,
    "alpha-k": lambda given, counts, table, levels: (
        sum(counts) >= given["k"] and at_most(max(shares(counts)), Fraction(given["alpha"]))
    ),
}


# ---------------------------------------------------------------- records


class Record(NamedTuple):
    """One record: the number of its cell, its leaf codes, and its sensitive values."""

    cell: int
    codes: tuple[int, ...]
    values: tuple[int, ...]


def records_of(cells):
    """List the records of cells one by one, in the order of the cells."""
    return [
        Record(cell, tuple(cells.codes[cell].tolist()), tuple(cells.values[cell].tolist()))
        for cell in range(cells.size)
        for _ in range(cells.counts[cell])
    ]


def histogram(records, attribute, values):
    """Count the values 0, 1, ... of a sensitive attribute."""
    found = Counter(record.values[attribute] for record in records)
    return [found[value] for value in range(values)]


def entries(records):
    """How many records of which cells: what a group consists of."""
    return frozenset(Counter(record.cell for record in records).items())


def box_of(records):
    """The smallest and the largest code of every attribute."""
    columns = list(zip(*(record.codes for record in records), strict=True))
    return tuple(map(min, columns)), tuple(map(max, columns))


def distinct_rows(rows):
    """Where each distinct row appears first, and for every row which of them it is."""
    rows = [tuple(row) for row in rows]
    first = [place for place, row in enumerate(rows) if row not in rows[:place]]
    return first, [[rows[place] for place in first].index(row) for row in rows]


def code_weights(records, attribute):
    """How many records have each code, codes ascending."""
    found = sorted(Counter(record.codes[attribute] for record in records).items())
    return [code for code, _ in found], [weight for _, weight in found]


class Judge:
    """Ask a requirement about lists of records; the whole table gives Q."""

    def __init__(self, requirement, everything, sensitive):
        self.parts = requirement.parts
        self.names = [attribute.name for attribute in sensitive]
        self.levels = [attribute.hierarchy.ancestors[:, attribute.leaves].tolist() for attribute in sensitive]
        self.values = [len(attribute.leaves) for attribute in sensitive]
        self.tables = [histogram(everything, place, values) for place, values in enumerate(self.values)]

    def __call__(self, records):
        return bool(records) and all(self.part_admits(part, records) for part in self.parts)

    def part_admits(self, part, records):
        if part.name == "k-anonymity":
            return admits(part, [len(records)], [1], None)
        place = 0 if part.on is None else self.names.index(part.on)
        counts = histogram(records, place, self.values[place])
        return admits(part, counts, self.tables[place], self.levels[place])


# ---------------------------------------------------------------- Mondrian


def mondrian(records, widths, judge, relaxed):
    """Cut the records in two while both halves are admitted; `widths` are the widths of every attribute's leaves."""
    for attribute in by_spread(records, widths):
        left, right = halves(records, attribute, relaxed)
        if judge(left) and judge(right):
            return mondrian(left, widths, judge, relaxed) + mondrian(right, widths, judge, relaxed)
    return [records]


def by_spread(records, widths):
    """The attributes that can be cut, the largest share of the domain first, ties in the order of their names."""
    lo, hi = box_of(records)
    spread = [Fraction(sum(w[a : b + 1])) / Fraction(sum(w)) for a, b, w in zip(lo, hi, widths, strict=True)]
    return sorted((a for a in range(len(lo)) if lo[a] < hi[a]), key=lambda a: (-spread[a], a))


def halves(records, attribute, relaxed):
    """Cut at the median: exactly in half, or at the boundary between two codes that halves best."""
    if relaxed:
        in_order = sorted(records, key=lambda record: (record.codes[attribute], record.cell))
        half = len(records) // 2
        return in_order[:half], in_order[half:]
    codes = sorted({record.codes[attribute] for record in records})

    def parts(code):
        left = [record for record in records if record.codes[attribute] <= code]
        return left, [record for record in records if record.codes[attribute] > code]

    return min(map(parts, codes[:-1]), key=lambda both: abs(len(both[0]) - len(both[1])))


def trims(records, budget):
    """All ways to leave out the records at one end of one attribute: what is kept, what is removed."""
    for attribute in range(len(records[0].codes)):
        for code in sorted({record.codes[attribute] for record in records})[:-1]:
            left = [record for record in records if record.codes[attribute] <= code]
            right = [record for record in records if record.codes[attribute] > code]
            for kept, removed in ((right, left), (left, right)):
                if len(removed) <= budget:
                    yield kept, removed


# ---------------------------------------------------------------- measures of a release


def interval_loss(widths, lo, hi):
    """What publishing leaves lo..hi loses: (s - 1/N) / (1 - 1/N) with s the share of the width, 0 for a leaf."""
    if lo == hi:
        return Fraction(0)
    share = Fraction(sum(widths[lo : hi + 1])) / Fraction(sum(widths))
    leaf = Fraction(1, len(widths))
    return max((share - leaf) / (1 - leaf), Fraction(0))


def box_loss(widths, lo, hi, weights=None):
    """The mean loss over the attributes of a box, weighted where there are weights."""
    weights = [1] * len(widths) if weights is None else weights
    losses = [interval_loss(w, a, b) for w, a, b in zip(widths, lo, hi, strict=True)]
    return sum(w * loss for w, loss in zip(weights, losses, strict=True)) / Fraction(sum(weights))


def trim_saving(records, kept, widths):
    """How much loss a trim saves: boxes shrink to what is kept, every removed record costs 1."""
    before = len(records) * box_loss(widths, *box_of(records))
    after = len(kept) * box_loss(widths, *box_of(kept)) + len(records) - len(kept)
    return before - after


class Published(NamedTuple):
    """One published record: its box, its group as a reader sees it, its sensitive values."""

    lo: tuple[int, ...]
    hi: tuple[int, ...]
    group: object
    values: tuple[int, ...]


def measures(published, everything, sensitive, widths):
    """All measures of a release of these records; `sensitive` maps names to levels, None where none is published."""
    groups = defaultdict(list)
    for record in published:
        groups[record.group].append(record)
    seen = Counter((record.lo, record.hi) for record in published)
    suppressed = len(everything) - len(published)
    generalized = sum(box_loss(widths, record.lo, record.hi) for record in published) / Fraction(len(everything))
    squares = sum(len(group) ** 2 for group in groups.values())
    found = {
        "k": min(seen.values()),
        "smallest_group": min(map(len, groups.values())),
        "prosecutor": Fraction(1, min(seen.values())),
        "marketer": Fraction(len(seen), len(published)),
        "discernibility": squares + suppressed * len(everything),
        "average_group": len(published) / len(groups),
        "weighted_k": squares / len(published),
        "suppressed": suppressed,
        "generalization_loss": generalized,
        "suppression_loss": Fraction(suppressed, len(everything)),
        "loss": generalized + Fraction(suppressed, len(everything)),
    }
    by_sensitive = {
        name: worst_groups(list(groups.values()), everything, place, levels)
        for place, (name, levels) in enumerate((sensitive or {}).items())
    }
    for name in next(iter(by_sensitive.values()), {}):
        worst = min if name.startswith("l_") else max
        found[name] = worst(own[name] for own in by_sensitive.values())
    return found, by_sensitive


def worst_groups(groups, everything, place, levels):
    """The measures of one sensitive attribute, each of the group for which it is worst."""
    values = len(levels[0])
    table = histogram(everything, place, values)
    counts = [histogram(group, place, values) for group in groups]
    found = {
        "l_frequency": min(map(frequency_l, counts)),
        "l_distinct": min(map(distinct_l, counts)),
        "l_entropy": min(math.exp(entropy(own)) for own in counts),
        "l_recursive": min(recursive_l(own, 3) for own in counts),
        "t_equal": max(equal(own, table) for own in counts),
        "t_ordered": max(ordered(own, table) for own in counts),
        "t_hierarchical": max(hierarchical(own, table, levels) for own in counts),
        "t_js": max(js(own, table) for own in counts),
        "delta": max(delta(own, table) for own in counts),
        "beta": max(beta(own, table) for own in counts),
    }
    losses = sorted(js(own, table) for own in counts for _ in range(sum(own)))  # of every record
    spread = {
        "p_loss_mean": sum(losses) / len(losses),
        "p_loss_median": losses[math.ceil(len(losses) / 2) - 1],
        "p_loss_95": losses[math.ceil(Fraction(95, 100) * len(losses)) - 1],
    }
    return {**found, "p_loss": found["t_js"], **spread, **adversary(counts, table)}


def adversary(counts, table):
    """Brickell & Shmatikov 2008, record by record: knowledge, accuracy of the best guess, information gain."""
    people = [own for own in counts for _ in range(sum(own))]
    q = [Fraction(n, sum(table)) for n in table]
    gain = sum(
        Fraction(n, sum(own)) * 1.0 * math.log(Fraction(n, sum(own)) / share)
        for own in people
        for n, share in zip(own, q, strict=True)
        if n
    )
    return {
        "a_know": sum(equal(own, table) for own in people) / len(people),
        "a_acc": sum(Fraction(max(own), sum(own)) for own in people) / len(people) - max(q),
        "information_gain": max(gain / len(people), 0.0),
    }
