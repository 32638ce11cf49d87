"""Do members of a household show the same value of what they share? Read off the published file and the original.

A published row does not say which record it is, so the question is asked of values: if only one published combination
of the shared attributes covers what the members of a household have, they all show that one. Where several do, the
file cannot confirm it: two members may show two of them, and who knows of both intersects these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.arrays import Counts
from sfumato.publish.audit.boxes import Combinations, Places, locate
from sfumato.publish.audit.counted import Counted, TextColumn
from sfumato.publish.audit.notation import Notation
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
    """The quasi-identifiers that are the same within every household."""

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
    shared = [name for name in quasi if _same(_leaves(members.columns[name], domains[name]), household)]
    if not shared or not several.any():
        return Together(column, tuple(shared) if several.any() else (), int(several.sum()), int(several.sum()), ())
    boxes, points = Combinations.of(published, shared), Combinations.of(members, shared)
    places = locate(boxes, points, notations)
    if places is None:
        return Together(column, tuple(shared), int(several.sum()), 0, ("too many combinations to look at them all",))
    many = _boxes_of_households(places, points.number, household) > 1
    examples = [
        f"{', '.join(f'{name} {text}' for name, text in points.show(place).items())}: {number} published combinations"
        for place, number in _worst(places, points.number[(many & several)[household]])
    ]
    confirmed = int((several & ~many).sum())
    return Together(column, tuple(shared), int(several.sum()), confirmed, tuple(examples))


def _leaves(column: TextColumn, domain: Hierarchy) -> Counts:
    """Number the values of a column by their leaf, or by their text where they have none."""
    leaves = domain.encode([text or None for text in column.texts]).astype(np.int64)
    numbers = np.where(leaves < 0, domain.size + np.arange(len(leaves)), leaves)
    codes: Counts = numbers[column.codes]
    return codes


def _same(values: Counts, household: Counts) -> bool:
    """Say whether every household has one value."""
    order = np.argsort(household, kind="stable")
    starts = np.flatnonzero(np.diff(household[order], prepend=-1))
    low, high = np.minimum.reduceat(values[order], starts), np.maximum.reduceat(values[order], starts)
    return bool((low == high).all())


def _boxes_of_households(places: Places, point: Counts, household: Counts) -> Counts:
    """Count the different boxes that cover what the members of every household have."""
    starts = np.searchsorted(places.point, np.arange(places.points + 1))
    number = (starts[1:] - starts[:-1])[point]
    offset = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
    box = places.box[np.repeat(starts[:-1][point], number) + offset]
    home = np.repeat(household, number)
    pairs = np.unique(np.stack([home, box], axis=1), axis=0)
    return np.bincount(pairs[:, 0], minlength=int(household.max()) + 1)


def _worst(places: Places, points: Counts) -> list[tuple[int, int]]:
    """Find some of these points that most boxes cover, each with their number."""
    number = np.bincount(places.point, minlength=places.points)
    distinct = np.unique(points)
    order = np.lexsort((distinct, -number[distinct]))[:MOST_NAMED]
    return [(int(distinct[i]), int(number[distinct[i]])) for i in order]
