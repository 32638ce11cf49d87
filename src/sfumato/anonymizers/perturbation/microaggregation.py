"""Microaggregation: small groups of records that are alike all show the average of their group.

    MDAV, maximum distance to average vector (Domingo-Ferrer & Mateo-Sanz 2002; with categories Domingo-Ferrer & Torra
    2005, MDAV-generic). R: the records that are in no group yet.

    while R has at least 3k records:
        r: the record of R farthest from the average record of R; a group of r and the k - 1 nearest to it leaves R
        s: the record of R farthest from r;                       a group of s and the k - 1 nearest to it leaves R
    if R has at least 2k records: a group around the record farthest from the average of R
    what is left is the last group
    publish the average of its group in place of every record

`average` says what an average is: of numbers and dates the mean, the median or the mode; of categories the mode, of
`ordered` ones the median. A missing value is a category of its own: it is as far from a number as numbers are from each
other at most, and a group shows it where more than half of its records do (a mode: where it is the commonest).

Every column is scaled so that two records drawn at random differ in it by 1 on average (of squares): for numbers that
is the usual standardization, and categories, which are equal or not, weigh as much. The table's weights multiply it.

What it promises: where all quasi-identifiers are averaged (`columns` left out), every published combination stands for
at least k records. A column `by` may stay as it is: groups lie within its values. With `columns`, or with every column
grouped by itself (`method=columns`: individual ranking, Defays & Nanopoulos 1993), nothing is promised. It promises
nothing of sensitive values. Averages are nobody's value, so boxes do not hold people's values: no loss is said of it.

Records with equal values are one point with a count, so time is (points x groups), not (records x groups); where a
point is divided between groups, which of its records go where is drawn at random.

The groups of MDAV over distinct points with counts: `microaggregation` says what it is and what it promises.

Every group looks at all points that are left, so time is points x groups x columns: 45,222 records of Adult, k = 5,
take about a second. All arrays are made once; a point that is divided stays, with the records that are left of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np

from sfumato.anonymizers.anonymizer import Dial, size_dial
from sfumato.anonymizers.perturbation.record_anonymizer import NOTHING, InColumns, RecordMaker, Seed, all_places
from sfumato.config.options import Option
from sfumato.data.cells import Points, laid_out
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.release.records import Records, leaf_numbers
from sfumato.requirements.requirement import KAnonymity, Requirement
from sfumato.runtime.arrays import Codes, Counts, Flags, Numbers
from sfumato.runtime.kernels import kernel

MEAN, MEDIAN, MODE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Space:
    """Points with counts, and what distances between them are."""

    rank: Codes
    """One row per point, one column per attribute: which of the values that occur it has."""

    counts: Counts
    numbers: tuple[Numbers, ...]
    """Of every attribute the values that occur as numbers, scaled; NaN where a value is none."""

    apart: Numbers
    """Of every attribute the squared distance of two different values of which one is no number."""

    kinds: Counts
    """Of every attribute what its average is."""

    @staticmethod
    def of(codes: Codes, counts: Counts, leaf_numbers: Sequence[Numbers], kinds: Counts) -> Space:
        """Scale every column so that two records drawn at random differ by 1 on average, in squares."""
        rank, numbers, apart = np.empty_like(codes), [], np.empty(codes.shape[1])
        for a, leaves in enumerate(leaf_numbers):
            values, where = np.unique(codes[:, a], return_inverse=True)
            rank[:, a] = where.ravel()
            weights = np.bincount(where.ravel(), counts, len(values))
            scaled, apart[a] = _scaled(leaves[values], weights / weights.sum())
            numbers.append(scaled)
        return Space(rank, counts, tuple(numbers), apart, kinds)

    def weighted(self, weights: Sequence[float]) -> Space:
        """Let distances in every attribute count by a weight."""
        numbers = tuple(column * np.sqrt(weight) for column, weight in zip(self.numbers, weights, strict=True))
        return replace(self, numbers=numbers, apart=self.apart * np.array(weights))

    def only(self, points: Counts) -> Space:
        """Return the space of some of its points; distances stay as they are."""
        return replace(self, rank=np.ascontiguousarray(self.rank[points]), counts=self.counts[points])


def _scaled(numbers: Numbers, shares: Numbers) -> tuple[Numbers, float]:
    """Scale the values of a column; return them with the squared distance of those that are no numbers."""
    known = ~np.isnan(numbers)
    if not known.any():
        different = 1 - float(shares @ shares)
        return numbers, 1 / different if different > 0 else 1.0
    mean = np.average(numbers[known], weights=shares[known])
    spread = 2 * float(np.average((numbers[known] - mean) ** 2, weights=shares[known]))
    scaled = (numbers - mean) / np.sqrt(spread) if spread > 0 else numbers * 0.0
    return scaled, max(float(np.ptp(scaled[known])) ** 2, 1.0)


class Plane(NamedTuple):
    """A space as kernels read it."""

    rank: Codes
    numbers: Numbers
    """One row per point: its values as numbers."""

    values: Numbers
    """The values of all attributes as numbers, one attribute behind the other from `starts` on."""

    starts: Counts
    apart: Numbers
    kinds: Counts


def grouped(space: Space, k: int) -> tuple[Counts, Counts, Counts]:
    """Form groups of at least k records: how many records of which point go to which group."""
    values, starts = laid_out(space.numbers)
    numbers = np.column_stack([column[space.rank[:, a]] for a, column in enumerate(space.numbers)])
    plane = Plane(space.rank, np.ascontiguousarray(numbers), values, starts, space.apart, space.kinds)
    return mdav(plane, space.counts.copy(), k)


@kernel
def mdav(plane: Plane, left: Counts, k: int) -> tuple[Counts, Counts, Counts]:
    """Follow the pseudo-code of the module; `left` counts the records of every point that are in no group."""
    n, d = plane.rank.shape
    remaining = left.sum()
    present = np.zeros(len(plane.values), np.int64)  # how many records that are left have each value
    for i in range(n):
        for a in range(d):
            present[plane.starts[a] + plane.rank[i, a]] += left[i]
    active, distance = np.arange(n), np.empty(n)
    near, near_distance = np.empty(min(k, n), np.int64), np.empty(min(k, n))
    most = n + remaining // k + 1  # every group divides at most one point
    point, group, count = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    size, filled, groups = n, 0, 0
    rank, number = np.empty(d, np.int32), np.empty(d)
    from_other = False  # whether the next group begins at the record farthest from the last one's
    while remaining >= 2 * k:
        size = compacted(active, size, left)
        if from_other:
            from_other = False
        else:
            average_record(plane, present, rank, number)
            distances(plane, rank, number, active, size, distance)
            from_other = remaining >= 3 * k
        start = farthest(active, size, distance)
        rank[:], number[:] = plane.rank[start], plane.numbers[start]
        distances(plane, rank, number, active, size, distance)
        nearest(active, size, distance, near, near_distance)
        wanted, j = k, 0
        while wanted > 0:
            i = near[j]
            part = min(wanted, left[i])
            point[filled], group[filled], count[filled] = i, groups, part
            filled, j = filled + 1, j + 1
            wanted -= part
            left[i] -= part
            for a in range(d):
                present[plane.starts[a] + plane.rank[i, a]] -= part
        remaining -= k
        groups += 1
    for i in range(n):
        if left[i] > 0:
            point[filled], group[filled], count[filled] = i, groups, left[i]
            filled += 1
    return point[:filled], group[:filled], count[:filled]


@kernel
def compacted(active: Counts, size: int, left: Counts) -> int:
    """Keep the points that have records left, in their order; return how many."""
    kept = 0
    for j in range(size):
        if left[active[j]] > 0:
            active[kept] = active[j]
            kept += 1
    return kept


@kernel
def average_record(plane: Plane, present: Counts, rank: Codes, number: Numbers) -> None:
    """Find the average of the records that are left: of every attribute a value, or (rank -1) a number."""
    for a in range(len(rank)):
        start, end = plane.starts[a], plane.starts[a + 1]
        known = total = mode = 0
        together = 0.0
        for v in range(start, end):
            total += present[v]
            if present[v] > present[start + mode]:
                mode = v - start
            if not np.isnan(plane.values[v]):
                known += present[v]
                together += present[v] * plane.values[v]
        rank[a], number[a] = mode, plane.values[start + mode]
        if plane.kinds[a] == MODE:
            continue
        if 2 * known < total:  # more than half are missing, which is the last value
            rank[a], number[a] = end - start - 1, np.nan
        elif plane.kinds[a] == MEAN:
            rank[a], number[a] = -1, together / known
        else:
            below = v = 0
            while 2 * (below + present[start + v]) < known:
                below += present[start + v]
                v += 1
            rank[a], number[a] = v, plane.values[start + v]


@kernel
def distances(plane: Plane, rank: Codes, number: Numbers, active: Counts, size: int, distance: Numbers) -> None:
    """Measure how far every point that is left is from a record, in squares."""
    for j in range(size):
        i, total = active[j], 0.0
        for a in range(len(rank)):
            if plane.rank[i, a] != rank[a]:
                between = plane.numbers[i, a] - number[a]
                total += plane.apart[a] if np.isnan(between) else between * between
        distance[i] = total


@kernel
def farthest(active: Counts, size: int, distance: Numbers) -> int:
    """Find the point that is farthest; of equally far ones the first."""
    best = active[0]
    for j in range(1, size):
        if distance[active[j]] > distance[best]:
            best = active[j]
    return int(best)


@kernel
def nearest(active: Counts, size: int, distance: Numbers, near: Counts, near_distance: Numbers) -> None:
    """List the nearest points in their order, as many as there is room for; of equally near ones the first."""
    found = 0
    for j in range(size):
        far = distance[active[j]]
        if found == len(near) and far >= near_distance[found - 1]:
            continue
        found = min(found + 1, len(near))
        place = found - 1
        while place > 0 and near_distance[place - 1] > far:
            near[place], near_distance[place] = near[place - 1], near_distance[place - 1]
            place -= 1
        near[place], near_distance[place] = active[j], far


KINDS = {"mean": MEAN, "median": MEDIAN, "mode": MODE}


@dataclass(frozen=True)
class Microaggregation(RecordMaker):
    """Publish the average of its group of at least k similar records in place of every record."""

    k: Annotated[int, Option(least=1)]
    """How many records a group has at least."""

    method: Annotated[Literal["mdav", "columns"], Option()] = "mdav"
    """Groups over all columns together (MDAV), or for every column its own, which promises nothing."""

    average: Annotated[Literal["mean", "median", "mode"], Option()] = "mean"
    """The average of numbers and dates. Of categories it is the mode, of ordered ones the median."""

    columns: InColumns = ()
    ordered: Annotated[tuple[str, ...], Option(takes="columns")] = ()
    """Columns of categories whose order in the hierarchy means something."""

    by: Annotated[str | None, Option(takes="quasi")] = None
    """A quasi-identifier that stays as it is: groups lie within its values."""

    seed: Seed = None

    name: ClassVar[str] = "microaggregation"
    example: ClassVar[str | None] = "microaggregation k=5"
    effort: ClassVar[float] = 3.0

    @property
    def promised(self) -> Requirement:
        """Groups of k, where no quasi-identifier stays out of them."""
        return KAnonymity(self.k) if self.method == "mdav" and not self.columns else NOTHING

    def dial(self, records: int) -> Dial | None:
        """Turn k."""
        return size_dial("k", records)

    def check_columns(self, columns: Records) -> None:
        """Raise where a column is named that is not there or does not fit."""
        self._places(columns)

    def records(self, original: Records, generator: np.random.Generator) -> Records:
        """Group, and average."""
        places = self._places(original)
        stratum = np.zeros(len(original), np.int32) if self.by is None else original.codes[:, original.place(self.by)]
        self._check_sizes(original, stratum)
        together = [places] if self.method == "mdav" else [[place] for place in places]
        replaced: dict[int, Codes] = {}
        for columns in together:
            group = self._groups(original, columns, stratum, generator)
            replaced |= {place: self._averages(original, place, group) for place in columns}
        return original.replaced(replaced)

    def _places(self, records: Records) -> list[int]:
        quasi = [attribute.name for attribute in records.cells.quasi]
        if self.by is not None and self.by not in quasi:
            raise BadInputError(f"by: {self.by!r} is no quasi-identifier; these are {', '.join(quasi)}")
        places = all_places(self.name, records, self.columns)
        for name in self.ordered:
            if records.is_number(records.place(name)):
                raise BadInputError(f"ordered: {name!r} has numbers or dates, which are ordered anyway; leave it out")
        if self.by is not None and self.by in self.columns:
            raise BadInputError(f"by: {self.by!r} stays as it is, so it cannot be averaged; take it out of columns")
        others = [place for place in places if records.names[place] != self.by]
        if not others:
            raise BadInputError(f"{self.name}: beside by={self.by} there is no column to average")
        return others

    def _check_sizes(self, original: Records, stratum: Codes) -> None:
        """Raise where there are fewer than k records, in all or beside a value of `by`."""
        sizes = np.bincount(stratum)
        smallest = int(sizes[sizes > 0].min())
        if smallest < self.k:
            where = "the table has" if self.by is None else f"a value of {self.by} has"
            raise InfeasibleError(
                f"{self.name}: {where} {smallest:,} records, so k is at most {smallest}, not {self.k}"
            )

    def _kind(self, records: Records, place: int) -> int:
        if records.is_number(place):
            return KINDS[self.average]
        return MEDIAN if records.names[place] in self.ordered and self.average != "mode" else MODE

    def _groups(self, original: Records, places: list[int], stratum: Codes, generator: np.random.Generator) -> Counts:
        """Find the group of every record."""
        points = Points.of(np.column_stack([original.codes[:, places], stratum]), np.ones(len(original), np.int64))
        kinds = np.array([self._kind(original, place) for place in places], np.int64)
        space = Space.of(points.codes[:, :-1], points.counts, _numbers(original, places, self.ordered), kinds)
        space = space.weighted(
            [float(original.cells.weights[p]) if p < len(original.cells.quasi) else 1.0 for p in places]
        )
        entries, groups = [], 0
        for value in np.unique(points.codes[:, -1]):
            inside = np.flatnonzero(points.codes[:, -1] == value)
            point, group, count = grouped(space.only(inside), self.k)
            entries.append((inside[point], group + groups, count))
            groups += int(group.max()) + 1
        point, group, count = (np.concatenate(part) for part in zip(*entries, strict=True))
        return _dealt(points.number, point, group, count, generator)

    def _averages(self, original: Records, place: int, group: Counts) -> Codes:
        """Find for every record the leaf that its group shows."""
        codes, hierarchy = original.codes[:, place], original.hierarchies[place]
        kind = self._kind(original, place)
        if kind == MODE:
            return _modes(codes, group)[group]
        numbers = _numbers(original, [place], self.ordered)[0][codes]
        known = ~np.isnan(numbers)
        sizes, present = np.bincount(group), np.bincount(group[known], minlength=int(group.max()) + 1)
        lacking = 2 * present < sizes
        if kind == MEDIAN:
            middle = _medians(codes, group, ~known & ~lacking[group])[group]
        else:
            sums = np.bincount(group[known], numbers[known], len(sizes))
            middle = original.nearest(place, (sums / np.maximum(present, 1))[group])
        return np.where(lacking[group], hierarchy.size - 1, middle).astype(np.int32)


def _numbers(records: Records, places: list[int], ordered: tuple[str, ...]) -> list[Numbers]:
    """Return for every column its leaves as numbers; of ordered categories their ranks; NaN where they are none."""
    columns = []
    for place in places:
        hierarchy = records.hierarchies[place]
        numbers = leaf_numbers(hierarchy)
        if records.names[place] in ordered:
            numbers[: hierarchy.domain_size] = np.arange(hierarchy.domain_size)
        columns.append(numbers)
    return columns


def _dealt(number: Counts, point: Counts, group: Counts, count: Counts, generator: np.random.Generator) -> Counts:
    """Deal the records of every point out to its groups, at random; `number` is the point of every record."""
    order = np.lexsort((generator.random(len(number)), number))
    entries = np.argsort(point, kind="stable")
    dealt = np.empty(len(number), np.int64)
    dealt[order] = np.repeat(group[entries], count[entries])
    return dealt


def _modes(codes: Codes, group: Counts) -> Codes:
    """Find the commonest code of every group; of equally common ones the first."""
    pairs, counts = np.unique(np.column_stack([group, codes]), axis=0, return_counts=True)
    order = np.lexsort((pairs[:, 1], -counts, pairs[:, 0]))
    modes: Codes = pairs[order[_firsts(pairs[order, 0])], 1].astype(np.int32)
    return modes


def _medians(codes: Codes, group: Counts, left_out: Flags) -> Codes:
    """Find the lower median of the codes of every group; some records do not count."""
    order = np.lexsort((codes, left_out, group))
    first = _firsts(group[order])
    sizes = np.bincount(group[~left_out], minlength=len(first))
    medians: Codes = codes[order[first + (sizes - 1) // 2]]
    return medians


def _firsts(groups: Counts) -> Counts:
    """Return where every group begins among sorted ones."""
    return np.flatnonzero(np.diff(groups, prepend=-1))
