"""Two releases of the same people: what their intersection reveals.

An attacker who knows a person's quasi-identifiers finds the person's group in each release. The sensitive value must
occur in both groups. If it occurs n times in one and n' times in the other, at most min(n, n') of the people in both
have it. So the remaining candidates are the values with these smaller counts: the intersection of two multisets.
Ganta, Kasiviswanathan & Smith, "Composition attacks and auxiliary information in data privacy", KDD 2008.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.auditing.coverage import TextCombinations, locate
from sfumato.auditing.notation import Notation
from sfumato.auditing.profile import Profile
from sfumato.auditing.published_file import Counted
from sfumato.runtime.arrays import Counts, Numbers, RedactedRepr
from sfumato.texts.catalogue import refusal

MOST_PAIRS = 2_000_000_000
"""The most pairs of boxes that are compared without the original."""

MOST_COUNTS = 200_000_000
"""The most counts of histograms (groups x values)."""

TOLERANCE = 1e-9


@dataclass(frozen=True, repr=False)
class WorstPair(RedactedRepr):
    """Two groups, one of each release, with the most revealing intersection."""

    earlier: Mapping[str, str]
    later: Mapping[str, str]
    candidates: Mapping[str, int]
    """The remaining values, each with the largest possible number of people."""

    people: int
    """People in both groups: counted in the original, otherwise an upper bound."""


@dataclass(frozen=True, repr=False)
class Intersection(RedactedRepr):
    """The information that two releases reveal together about one sensitive attribute."""

    earlier: str
    sensitive: str
    quasi: tuple[str, ...]
    """The quasi-identifiers that both releases have."""

    exact: bool
    """Whether people were found in the original, so that counts are exact; otherwise they are upper bounds."""

    people: int
    """The people in both releases."""

    pairs: int
    """The pairs of their groups."""

    single_pairs: int
    """Pairs with one remaining sensitive value, although each release alone has several."""

    single_people: int
    raised_pairs: int
    """Pairs that raise the largest share of a value above that in either release."""

    raised_people: int
    raised_groups: int
    """Groups of the later release in such a pair."""

    l_frequency: float
    """1 / the largest share of a remaining value, in the worst pair."""

    l_distinct: int
    p_loss: float
    """JS(Q, P) of the remaining values, in the worst pair."""

    alone: Mapping[str, float]
    """The same three of the later release alone."""

    unmatched_groups: int
    """Groups of the later release without a matching group of the earlier one."""

    worst: WorstPair | None
    """The raised pair with the largest share, if any pair is raised."""


@dataclass(frozen=True, eq=False, repr=False)
class Seen(RedactedRepr):
    """A release as an attacker reads it: boxes, the group of each, and the published texts of groups."""

    counted: Counted
    grouping: tuple[str, ...]
    boxes: TextCombinations
    group: Counts
    """The group of every box."""

    first: Counts
    """A counted tuple of each group, with its texts."""

    profile: Profile

    @staticmethod
    def of(counted: Counted, quasi: Sequence[str], grouping: Sequence[str], profile: Profile) -> Seen:
        """Return the boxes of a counted release; the profile describes its groups, numbered by `grouping`."""
        some, _ = counted.number(tuple(dict.fromkeys([*grouping, *quasi])))
        boxes = TextCombinations.at(counted, quasi, some, np.arange(len(some)))
        first, number = counted.number(grouping)
        return Seen(counted, tuple(grouping), boxes, number[some], first, profile)

    def histograms(self, sets: Sequence[Sequence[int]]) -> Counts:
        """Sum the histograms of sets of groups: sets x values."""
        shape = (len(self.profile.sizes), len(self.profile.baseline.values))
        if (shape[0] + len(sets)) * shape[1] > MOST_COUNTS:
            raise refusal("groups_values_too_many", shape=shape[0], shape_2=shape[1])
        counts = np.zeros(shape, np.int64)
        counts[self.profile.group, self.profile.value] = self.profile.count
        lengths = np.array([len(groups) for groups in sets])
        members = np.array([group for groups in sets for group in groups], np.int64)
        total = np.zeros((len(sets), shape[1]), np.int64)
        np.add.at(total, np.repeat(np.arange(len(sets)), lengths), counts[members])
        return total

    def show(self, groups: Sequence[int]) -> dict[str, str]:
        """Return the texts of a group (the first of several possible ones)."""
        return self.counted.show(int(self.first[groups[0]]), self.grouping)


@dataclass(frozen=True, eq=False, repr=False)
class GroupPairs(RedactedRepr):
    """Pairs of (sets of) groups that one person may be in."""

    earlier_sets: Sequence[tuple[int, ...]]
    later_sets: Sequence[tuple[int, ...]]
    earlier: Counts
    later: Counts
    people: Counts | None
    """The number of people in each pair, if the original determines it."""


def intersect(
    earlier: Seen, later: Seen, origin: str, notations: Mapping[str, Notation], original: Counted | None
) -> Intersection | None:
    """Return what two releases reveal together; None if nobody can be in both. Both profiles have the same baseline."""
    pairs = _overlapping(earlier, later, notations) if original is None else None
    pairs = pairs or _shared(earlier, later, notations, original)
    theirs, ours = earlier.histograms(pairs.earlier_sets), later.histograms(pairs.later_sets)
    compared = later.profile.baseline
    parts = []
    step = max(MOST_COUNTS // 100 // len(compared.values), 1)
    for start in range(0, len(pairs.later), step):
        part = slice(start, start + step)
        parts.append(_left(theirs[pairs.earlier[part]], ours[pairs.later[part]], compared.shares))
    left = np.concatenate(parts) if parts else np.zeros((0, 6))
    possible = left[:, 0] > 0
    people = (left[:, 0].astype(np.int64) if pairs.people is None else pairs.people)[possible]
    left, places = left[possible], np.flatnonzero(possible)
    if not len(left):
        return None
    _, share, distinct, loss, single, raised = left.T
    worst = None
    if raised.any():
        place = int(np.lexsort((-people, -share, -raised))[0])
        worst = _worst(earlier, later, pairs, int(places[place]), theirs, ours, int(people[place]))
    return Intersection(
        earlier=origin,
        sensitive=compared.name,
        quasi=earlier.boxes.names,
        exact=original is not None,
        people=int(people.sum()) if original is not None else min(earlier.counted.records, later.counted.records),
        pairs=len(left),
        single_pairs=int(single.sum()),
        single_people=int(people[single > 0].sum()),
        raised_pairs=int(raised.sum()),
        raised_people=int(people[raised > 0].sum()),
        raised_groups=len(_members(pairs, places[raised > 0])),
        l_frequency=float(1 / share.max()),
        l_distinct=int(distinct.min()),
        p_loss=float(loss.max()),
        alone={
            "l_frequency": float(later.profile.l_frequency.min()),
            "l_distinct": int(later.profile.l_distinct.min()),
            "p_loss": float(later.profile.t_js.max()),
        },
        unmatched_groups=len(later.profile.sizes) - len(_members(pairs, places)),
        worst=worst,
    )


def _left(theirs: Counts, ours: Counts, q: Numbers) -> Numbers:
    """Return for each pair: remaining total, largest share, number of values, JS from Q, newly single, newly raised."""
    both = np.minimum(theirs, ours)
    total = both.sum(axis=1)
    p = both / np.maximum(total, 1)[:, None]
    share, distinct = p.max(axis=1), (both > 0).sum(axis=1)
    alone = np.maximum(theirs.max(axis=1) / theirs.sum(axis=1), ours.max(axis=1) / ours.sum(axis=1))
    several = np.minimum((theirs > 0).sum(axis=1), (ours > 0).sum(axis=1)) > 1
    logs = [part * np.log(np.where(part > 0, part, 1)) for part in (p, q[None, :], (p + q) / 2)]
    loss = np.maximum((logs[0] + logs[1]).sum(axis=1) / 2 - logs[2].sum(axis=1), 0)
    return np.stack([total, share, distinct, loss, (distinct == 1) & several, share > alone + TOLERANCE], axis=1)


def _members(pairs: GroupPairs, places: Counts) -> set[int]:
    """Return the groups of the later release in some pairs."""
    return {group for later in np.unique(pairs.later[places]) for group in pairs.later_sets[later]}


def _worst(
    earlier: Seen, later: Seen, pairs: GroupPairs, place: int, theirs: Counts, ours: Counts, people: int
) -> WorstPair:
    e, l = int(pairs.earlier[place]), int(pairs.later[place])  # noqa: E741
    both = np.minimum(theirs[e], ours[l])
    values = later.profile.baseline.values
    candidates = {values[i]: int(both[i]) for i in np.argsort(-both, kind="stable") if both[i] > 0}
    return WorstPair(earlier.show(pairs.earlier_sets[e]), later.show(pairs.later_sets[l]), candidates, people)


def _overlapping(earlier: Seen, later: Seen, notations: Mapping[str, Notation]) -> GroupPairs:
    """Return the pairs of groups whose boxes overlap in the common quasi-identifiers."""
    shape = (len(earlier.boxes.codes), len(later.boxes.codes))
    if shape[0] * shape[1] > MOST_PAIRS:
        raise refusal("audit_error.many_boxes", shape=shape[0], others=shape[1])
    columns = [later.boxes.names.index(name) for name in earlier.boxes.names]
    readings = [
        [notations[name].read(text) for text in later.boxes.texts[column]]
        for name, column in zip(earlier.boxes.names, columns, strict=True)
    ]
    meets = [
        np.array([[a.meets(b) for b in meanings] for a in theirs])
        for theirs, meanings in zip(earlier.boxes.meanings(notations), readings, strict=True)
    ]
    pairs = []
    for box in range(shape[1]):
        fits = np.ones(shape[0], np.bool_)
        for place, column in enumerate(columns):
            fits &= meets[place][:, later.boxes.codes[box, column]][earlier.boxes.codes[:, place]]
        groups = np.unique(earlier.group[fits])
        pairs.append(np.stack([groups, np.full(len(groups), later.group[box])], axis=1))
    both = np.unique(np.concatenate(pairs), axis=0)
    sets = [[(group,) for group in range(len(seen.profile.sizes))] for seen in (earlier, later)]
    return GroupPairs(sets[0], sets[1], both[:, 0], both[:, 1], None)


def _shared(earlier: Seen, later: Seen, notations: Mapping[str, Notation], original: Counted | None) -> GroupPairs:
    """Return for each person of the original the groups of both releases that cover it."""
    assert original is not None
    points = TextCombinations.of(original, later.boxes.names)
    people = np.bincount(points.number, weights=original.counts).astype(np.int64)
    numbered = []
    for seen in (earlier, later):
        columns = [points.names.index(name) for name in seen.boxes.names]
        texts = tuple(points.texts[column] for column in columns)
        combinations = TextCombinations(seen.boxes.names, texts, points.codes[:, columns], points.number)
        places = locate(seen.boxes, combinations, notations)
        if places is None:
            raise refusal("files_too_large_find")
        number, boxes = places.signatures
        groups = [tuple(sorted({int(seen.group[box]) for box in some})) for some in boxes]
        numbered.append((number, groups))
    (their_number, their_groups), (our_number, our_groups) = numbered
    inside = np.array([len(covering) > 0 for covering in their_groups])[their_number]
    inside &= np.array([len(covering) > 0 for covering in our_groups])[our_number]
    key, number = np.unique(their_number[inside] * len(our_groups) + our_number[inside], return_inverse=True)
    totals = np.bincount(number, weights=people[inside], minlength=len(key)).astype(np.int64)
    return GroupPairs(their_groups, our_groups, key // len(our_groups), key % len(our_groups), totals)
