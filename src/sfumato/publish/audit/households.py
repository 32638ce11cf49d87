"""Do members of a household show the same value of what they share? Read off the published file and the original.

A published row does not say which record it is, so the question is asked of values: if only one published combination
of the shared attributes covers what the members of a household have, they all show that one. Where several do, the
file cannot confirm it: two members may show two of them, and who knows of both intersects these. A member that lacks
a value may show just that, an empty field, which says nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.arrays import Counts, Flags
from sfumato.evidence.boxes import Places, TextCombinations, locate
from sfumato.evidence.counted import Counted
from sfumato.evidence.notation import Notation
from sfumato.quiet import Quiet
from sfumato.table import Hierarchy

MOST_NAMED = 3
"""How many combinations are named that more than one published combination covers."""


@dataclass(frozen=True, repr=False)
class Together(Quiet):
    """What a file shows of the attributes that the members of every household share."""

    spoken: ClassVar[tuple[str, ...]] = ("holds",)

    column: str
    shared: tuple[str, ...]
    """The quasi-identifiers of which no household has two values."""

    households: int
    """Households with several members."""

    confirmed: int
    """Those whose shared values one published combination covers, or none, where they are not in the file."""

    examples: tuple[str, ...]
    """Shared values of some others, and how many published combinations cover them. It shows records."""

    @property
    def holds(self) -> bool:
        """Whether all households are confirmed."""
        return self.confirmed == self.households


def together(
    published: Counted,
    original: Counted,
    column: str,
    quasi: Sequence[str],
    domains: Mapping[str, Hierarchy],
    notations: Mapping[str, Notation],
) -> Together:
    """Check the households of an original (counted over their column and the quasi-identifiers) in a published file."""
    named = np.array([text != "" for text in original.columns[column].texts], np.bool_)[original.columns[column].codes]
    if not named.any():
        return Together(column, (), 0, 0, ())
    members = original.where(named)
    household = members.number((column,))[1]
    several = np.bincount(household, weights=members.counts) > 1
    shared = [name for name in quasi if _same(members, name, domains[name], household)]
    if not shared or not several.any():
        return Together(column, tuple(shared) if several.any() else (), int(several.sum()), int(several.sum()), ())
    boxes, points = TextCombinations.of(published, shared), TextCombinations.of(members, shared)
    places = locate(boxes, points, notations)
    if places is None:
        return Together(column, tuple(shared), int(several.sum()), 0, ("too many combinations to look at them all",))
    many = _differ_in_households(places, boxes, points, household)
    examples = [
        f"{', '.join(f'{name} {text}' for name, text in points.show(place).items())}: {number} published combinations"
        for place, number in _worst(places, points.number[(many & several)[household]])
    ]
    confirmed = int((several & ~many).sum())
    return Together(column, tuple(shared), int(several.sum()), confirmed, tuple(examples))


def _same(members: Counted, name: str, domain: Hierarchy, household: Counts) -> bool:
    """Say whether every household has one value of a column, or those have who have any, and somewhere two have."""
    column = members.columns[name]
    leaves = domain.encode([text or None for text in column.texts]).astype(np.int64)
    numbers = np.where(leaves < 0, domain.size + np.arange(len(leaves)), leaves)  # by their text where they have none
    values, has = numbers[column.codes], ~_empty(column.texts)[column.codes]
    together = bool(has.any()) and np.bincount(household[has], weights=members.counts[has]).max() > 1
    return _one_each(values, household) or bool(together and _one_each(values[has], household[has]))


def _one_each(values: Counts, household: Counts) -> bool:
    order = np.argsort(household, kind="stable")
    starts = np.flatnonzero(np.diff(household[order], prepend=-1))
    low, high = np.minimum.reduceat(values[order], starts), np.maximum.reduceat(values[order], starts)
    return bool((low == high).all())


def _empty(texts: Sequence[str]) -> Flags:
    return np.array([text == "" for text in texts], np.bool_)


def _differ_in_households(
    places: Places, boxes: TextCombinations, points: TextCombinations, household: Counts
) -> Flags:
    """Say in which households members may show two texts of one column, where it is not just shown to be missing."""
    starts = np.searchsorted(places.point, np.arange(places.points + 1))
    number = (starts[1:] - starts[:-1])[points.number]
    offset = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
    box = places.box[np.repeat(starts[:-1][points.number], number) + offset]
    home, point = np.repeat(household, number), np.repeat(points.number, number)
    differ = np.zeros(int(household.max()) + 1, np.bool_)
    for place in range(len(points.names)):
        text, value = boxes.codes[box, place], points.codes[point, place]
        telling = ~(_empty(boxes.texts[place])[text] & _empty(points.texts[place])[value])
        pairs = np.unique(np.stack([home[telling], text[telling]], axis=1), axis=0)
        differ |= np.bincount(pairs[:, 0], minlength=len(differ)) > 1
    return differ


def _worst(places: Places, points: Counts) -> list[tuple[int, int]]:
    """Find some of these points that most boxes cover, each with their number."""
    number = np.bincount(places.point, minlength=places.points)
    distinct = np.unique(points)
    order = np.lexsort((distinct, -number[distinct]))[:MOST_NAMED]
    return [(int(distinct[i]), int(number[distinct[i]])) for i in order]
