"""Many releases by one recoding, as data arrive: what is left when one is taken from another, or all are held together.

Where a release may hold all rows of another, group by group, the rows that it has more are a release of their own,
which nobody checked: one row more in a group tells that person's value. And whoever is in every file of a sequence,
with a value that does not change, has one that stands in the group of each: the smallest count over all files is left
of it. Groups are those with equal texts, as a recoding that stays the same makes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from sfumato.arrays import Counts, Numbers
from sfumato.publish.audit.intersection import TOLERANCE, Seen
from sfumato.quiet import Quiet


@dataclass(frozen=True, repr=False)
class Remainder(Quiet):
    """What is left of groups: how many, how few rows one has, and how certain a value is in them."""

    spoken: ClassVar[tuple[str, ...]] = ("groups", "smallest")

    groups: int
    records: int
    smallest: int
    """The rows that are left in the smallest."""

    single_groups: int
    """Groups that leave one value where every file alone leaves several."""

    raised_groups: int
    """Groups that make a value more certain than any file alone."""

    l_frequency: float
    l_distinct: int
    worst: Mapping[str, str]
    """What the group shows in which a value is most certain."""

    candidates: Mapping[str, int]
    """The values that are left there."""


@dataclass(frozen=True, repr=False)
class Difference(Quiet):
    """What the larger of two files has more than the other, which it may hold as a whole."""

    spoken: ClassVar[tuple[str, ...]] = ("earlier", "sensitive", "larger")

    earlier: str
    sensitive: str
    larger: Literal["earlier", "later", "neither"]
    """Neither: they have the same groups with the same values."""

    more: Remainder | None


@dataclass(frozen=True, repr=False)
class Throughout(Quiet):
    """What is left of the groups that stand in every file of a sequence."""

    spoken: ClassVar[tuple[str, ...]] = ("files", "sensitive")

    files: int
    sensitive: str
    left: Remainder | None
    """None where no group stands in all of them, or none leaves a value."""


def difference(earlier: Seen, later: Seen, origin: str) -> Difference | None:
    """Take the smaller release from the larger; None where neither may hold the other."""
    theirs, ours, shows = _aligned(earlier, later)
    name = later.profile.baseline.name
    if (theirs == ours).all():
        return Difference(origin, name, "neither", None)
    if (ours >= theirs).all():
        return Difference(origin, name, "later", _remainder(ours - theirs, [ours, theirs], shows, later))
    if (theirs >= ours).all():
        return Difference(origin, name, "earlier", _remainder(theirs - ours, [theirs, ours], shows, later))
    return None


def throughout(pairs: Sequence[tuple[Seen, Seen]]) -> Throughout:
    """Hold all earlier releases and the later one together, given as pairs of each with the later."""
    later = pairs[0][1]
    values = later.profile.baseline.values
    later_texts = _texts(later)
    every = [_counts(later)]
    for earlier, ours in pairs:
        place = {value: i for i, value in enumerate(ours.profile.baseline.values)}
        groups = {texts: i for i, texts in enumerate(_texts(earlier))}
        counts, columns = _counts(earlier), [place[value] for value in values]
        rows = np.array([groups.get(texts, -1) for texts in later_texts])
        every.append(np.where(rows[:, None] >= 0, counts[rows][:, columns], 0))
    left = np.minimum.reduce(every)
    return Throughout(len(every), later.profile.baseline.name, _remainder(left, every, later_texts, later))


def _remainder(left: Counts, files: Sequence[Counts], shows: Sequence[tuple[str, ...]], seen: Seen) -> Remainder | None:
    """Describe what is left of every group, beside what each file alone shows of it."""
    totals = left.sum(axis=1)
    some = np.flatnonzero(totals)
    if not len(some):
        return None
    left, totals = left[some], totals[some]
    shares, distinct = left.max(axis=1) / totals, (left > 0).sum(axis=1)
    present = [counts[some] for counts in files]
    alone: Numbers = np.max([counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1) for counts in present], axis=0)
    several = np.min([np.where(counts.any(axis=1), (counts > 0).sum(axis=1), 2) for counts in present], axis=0) > 1
    single = (distinct == 1) & several
    raised = shares > alone + TOLERANCE
    worst = int(np.lexsort((totals, -shares, ~single))[0])
    values = seen.profile.baseline.values
    return Remainder(
        groups=len(some),
        records=int(totals.sum()),
        smallest=int(totals.min()),
        single_groups=int(single.sum()),
        raised_groups=int(raised.sum()),
        l_frequency=float(1 / shares.max()),
        l_distinct=int(distinct.min()),
        worst=dict(zip(seen.grouping, shows[some[worst]], strict=True)),
        candidates={values[i]: int(left[worst, i]) for i in np.argsort(-left[worst], kind="stable") if left[worst, i]},
    )


def _aligned(earlier: Seen, later: Seen) -> tuple[Counts, Counts, list[tuple[str, ...]]]:
    """Return the counts of both releases, a row for every group that either has, and what these groups show."""
    places = {texts: i for i, texts in enumerate(dict.fromkeys([*_texts(earlier), *_texts(later)]))}
    both = []
    for seen in (earlier, later):
        counts = np.zeros((len(places), len(seen.profile.baseline.values)), np.int64)
        counts[[places[texts] for texts in _texts(seen)]] = _counts(seen)
        both.append(counts)
    return both[0], both[1], list(places)


def _counts(seen: Seen) -> Counts:
    return seen.histograms([(group,) for group in range(len(seen.profile.sizes))])


def _texts(seen: Seen) -> list[tuple[str, ...]]:
    """Return what every group shows."""
    columns = [seen.counted.columns[name] for name in seen.grouping]
    listed = [[column.texts[code] for code in column.codes[seen.first]] for column in columns]
    return list(zip(*listed, strict=True))
