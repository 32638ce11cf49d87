"""Mondrian (LeFevre, DeWitt & Ramakrishnan 2006): cut the records in two, again and again, while both halves hold.

    partition(records):
        for attribute in all attributes, the widest spread among these records first:
            left, right = the records on either side of the attribute's median
            if the requirement admits left and right:
                return partition(left) + partition(right)
        return one group

It runs on cells: a cell with a count represents that many records. The spread is the width of the records' range
over the width of the domain (with `spread=width` that width itself). A *strict* cut keeps records of equal value
together, at the boundary between two values that halves best. A *relaxed* cut halves exactly and may send equal
records, even of one cell, to both sides. They are chosen at random: a choice by their order would reveal their
sensitive values. Categories are cut along the leaf order of their hierarchy. With a budget for suppression, records
are left out only after all cutting, and only where that saves more loss than it costs (`_suppression`).

The same treatment for the members of a household: what they share is cut first, alone, and then no more.

    Parts = cut along the shared attributes only.
    Groups = cut every part along the other attributes only.
    Publish of the shared attributes the ends of the part, of the others those of the group.

Members agree in what they share, so strict cuts of it keep a household in one part. An attacker who knows two members
sees one box of the shared attributes, not two to intersect. A part cut down to the last admitted one leaves no cuts
for the other attributes. So parts are also kept larger, at halves, quarters, ... of the table, and the best loss
decides.

A trim of a shared attribute leaves out whole households of a part; a trim of another one may leave out one member.

A member that lacks a shared value of the others is cut with them (`Table.cells_together`). A part shows the recorded
values of its records, so the missing value is then in the box of the whole part.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.anonymizer import RANGES_MEANING, RANGES_WORDS, Anonymizer, infeasible, loss_of, published
from sfumato.anonymizers.mondrian._cuts import (
    CutProblem,
    Groups,
    divide,
    find_cut,
    find_ranges,
    may_go_on,
    problem_of,
)
from sfumato.anonymizers.mondrian._scored_cuts import scored_cut
from sfumato.anonymizers.mondrian._scores import Scoring, scoring_of, without_number
from sfumato.anonymizers.mondrian._suppression import joined, trim
from sfumato.config.options import Option, seed_option
from sfumato.data.cells import Assignment, Cells, distinct_rows, ranges
from sfumato.data.reading import Table
from sfumato.errors import InfeasibleError
from sfumato.release.release import Form, Release, bucketization, generalization
from sfumato.requirements.requirement import KAnonymity, Requirement
from sfumato.requirements.requirement import requirement as read_requirement
from sfumato.runtime._kernel_helpers import drawing_state, put, room
from sfumato.runtime.arrays import Codes, Counts, Flags
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import counted, refusal, t

Cut = Callable[[CutProblem, Counts, Counts, Codes, Codes], Groups]
"""Cuts the records of these entries, in this region, as long as the halves are admitted."""


def shared_first(
    table: Table, cells: Cells, requirement: Requirement, whole: Groups, admitted: bool, budget: int, cut: Cut
) -> Iterator[Groups]:
    """Make the groups of all sizes of parts that are tried; `whole` is the one group of all records.

    `cells` have the codes that are cut: members of a household have the same of what they share.
    """
    shared = _shared(table)
    for least in (1, *_part_sizes(cells, shared, requirement, whole, cut)) if admitted else (1,):
        parts = _parts(cells, shared, requirement, whole, admitted, budget, cut, least)
        if parts.size:
            left = budget - (cells.records - int(parts.counts.sum()))
            yield _with_ends_of_parts(_groups(cells, shared, requirement, parts, left, cut), table)


def _shared(table: Table) -> Flags:
    flags = np.zeros(len(table.cells.quasi), np.bool_)
    flags[list(table.shared)] = True
    return flags


def _part_sizes(cells: Cells, shared: Flags, requirement: Requirement, whole: Groups, cut: Cut) -> list[int]:
    """Halve the table again and again, as long as that is more than the smallest part without such a limit."""
    parts = _parts(cells, shared, requirement, whole, True, 0, cut, 1)
    smallest = int(np.add.reduceat(parts.counts, parts.offsets[:-1]).min())
    records = cells.records
    return [records >> halved for halved in range(records.bit_length()) if records >> halved > smallest]


def _parts(
    cells: Cells,
    shared: Flags,
    requirement: Requirement,
    whole: Groups,
    admitted: bool,
    budget: int,
    cut: Cut,
    least: int,
) -> Groups:
    """Cut along shared attributes into parts of at least so many records, and trim these."""
    larger = problem_of(cells, requirement & KAnonymity(least))._replace(may_cut=shared)

    def cut_shared(cells: Counts, counts: Counts, region_lo: Codes, region_hi: Codes) -> Groups:
        return cut(larger, cells, counts, region_lo, region_hi)

    parts = _cut_each(whole, cut_shared) if admitted else whole
    if not budget:
        return parts
    problem = problem_of(cells, requirement)._replace(may_cut=shared)
    return trim(problem, parts, admitted, budget, True, cut_shared)


def _groups(cells: Cells, shared: Flags, requirement: Requirement, parts: Groups, budget: int, cut: Cut) -> Groups:
    """Cut every part along the attributes that are not shared, and trim the groups."""
    problem = problem_of(cells, requirement)._replace(may_cut=~shared)

    def cut_others(cells: Counts, counts: Counts, region_lo: Codes, region_hi: Codes) -> Groups:
        return cut(problem, cells, counts, region_lo, region_hi)

    groups = _cut_each(parts, cut_others)
    return trim(problem, groups, True, budget, True, cut_others) if budget else groups


def _cut_each(groups: Groups, cut: Callable[[Counts, Counts, Codes, Codes], Groups]) -> Groups:
    """Cut every group by itself."""
    pieces = []
    for g in range(groups.size):
        members = slice(groups.offsets[g], groups.offsets[g + 1])
        _, _, region_lo, region_hi = np.split(groups.boxes[g], 4)
        pieces.append(cut(groups.cells[members], groups.counts[members], region_lo, region_hi))
    return joined(groups, pieces)


def _with_ends_of_parts(groups: Groups, table: Table) -> Groups:
    """Widen the boxes to what all published records of their part have of the shared attributes.

    Groups of one part have the same region of these, for only parts were cut there.
    """
    shared = _shared(table)
    lo, hi, region_lo, region_hi = np.split(groups.boxes, 4, axis=1)
    _, part = distinct_rows(np.concatenate([region_lo[:, shared], region_hi[:, shared]], axis=1))
    codes = table.cells.codes[groups.cells][:, shared]
    low, high = ranges(np.repeat(part, np.diff(groups.offsets)), codes, codes)
    lo[:, shared], hi[:, shared] = low[part], high[part]
    region_lo[:, shared] = np.minimum(region_lo[:, shared], low[part])
    region_hi[:, shared] = np.maximum(region_hi[:, shared], high[part])
    return groups._replace(boxes=np.concatenate([lo, hi, region_lo, region_hi], axis=1))


@dataclass(frozen=True)
class Mondrian(Anonymizer):
    """Cut at the median of the widest attribute as long as both halves satisfy the requirement."""

    mode: Annotated[Literal["strict", "relaxed"], Option(words={"relaxed": "equal records may be parted"})] = "strict"
    """Whether equal records stay together, or may be split between two groups."""

    ranges: Annotated[
        Literal["tight", "rounded", "node", "region"],
        Option(
            f"{RANGES_MEANING} `region` publishes the whole part of the domain that the group was cut to.",
            words={**RANGES_WORDS, "region": "whole regions"},
        ),
    ] = "rounded"
    seed: Annotated[
        int | None, seed_option("Which of several equal records go where in relaxed cuts.", when=("mode", "relaxed"))
    ] = None
    cut: Annotated[
        Literal["median", "range", "variance", "loss", "information-gain"],
        Option(
            words={
                "range": "cut in the middle of ranges",
                "variance": "cut where values vary most",
                "loss": "cut where the loss falls most",
                "information-gain": "cut where most is learnt",
            }
        ),
    ] = "median"
    """The choice of cuts: the median of the widest attribute; otherwise the admitted cut that is best by a score: the
    middle of the range, the variance, the loss, or the information about a target."""

    target: Annotated[str | None, Option(takes="column", words={"": " of {}"})] = None
    """The column that somebody wants to predict: cut by its information gain, or by its variance."""

    stop: Annotated[
        str | None, Option(takes="requirement", words={"": "not cut further where beyond {}, which is no promise"})
    ] = None
    """A requirement beyond which a group is not cut any further, as Cormode et al. 2013 use t-closeness. No promise: a
    group is cut as long as it satisfies this, so its parts may not."""

    spread: Annotated[Literal["share", "width"], Option(words={"width": "attributes of many values are cut first"})] = (
        "share"
    )
    """Which attribute is the widest: by its share of the domain, or by its bare width (then an attribute of many leaves
    is cut before one of few)."""

    height: Annotated[int | None, Option(least=1)] = None
    """How many cuts lie between the table and a group at most; no limit where none is given."""

    name: ClassVar[str] = "mondrian"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_cut(self.cut, self.target, self.mode)
        if self.stop is not None:
            read_requirement(self.stop)

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Partition the cells, spend the budget, and publish the groups in the form asked for."""
        may_merge = {"mode=relaxed": self.mode == "relaxed", "ranges=node": self.ranges_of(table) == "node"}
        survives = requirement.survives_merging(table.cells.persons is not None)
        if any(may_merge.values()) and form == "generalization" and not survives:
            options = " ".join(option for option, chosen in may_merge.items() if chosen)
            raise refusal("mondrian_may_make_groups", options=options, requirement=requirement)
        if self.height is not None and (budget or table.shared):
            raise refusal("mondrian_height_counts_cuts")
        if table.shared and form == "generalization":
            return self._alike_in_households(table, requirement, budget)
        cells = table.cells
        scoring, rounded = self._scoring(table), self.ranges_of(table) == "rounded"
        problem = problem_of(cells, requirement, self._stop, self.height, self.spread, rounded)
        if rounded and cells.persons is not None:
            problem = problem._replace(codes=_band_starts(cells, range(len(cells.quasi))))
        relaxed = self.mode == "relaxed"
        state = drawing_state(self.seed) if relaxed else np.zeros(1, np.uint64)
        everything = np.arange(cells.size)
        admitted = bool(requirement.admits(cells.baseline)[0])
        if admitted or not survives:  # halves may be admitted where the whole is not

            def cut_all() -> Groups:
                return partition(problem, everything, cells.counts, *cells.whole, relaxed, state, scoring)

            # strict cuts are the same in every form
            groups = cut_all() if relaxed else cells.once.result((self, requirement), cut_all)
            admitted = admitted or groups.size > 1
        else:
            groups = one_group(problem, everything, cells.counts, *cells.whole)
        if budget:

            def cut_again(cells: Counts, counts: Counts, region_lo: Codes, region_hi: Codes) -> Groups:
                return partition(problem, cells, counts, region_lo, region_hi, relaxed, state, scoring)

            groups = trim(problem, groups, admitted, budget, form == "generalization", cut_again)
        if not groups.size or not (admitted or budget):
            raise _not_even_together(requirement, table, budget)
        return self._told(self._published(table, groups, form), scoring)

    @property
    def _stop(self) -> Requirement | None:
        return None if self.stop is None else read_requirement(self.stop)

    def _scoring(self, table: Table) -> Scoring | None:
        return None if self.cut == "median" else scoring_of(table, self.cut, self.target)

    @staticmethod
    def _told(release: Release, scoring: Scoring | None) -> Release:
        """Add the score's facts about a release."""
        if scoring is None:
            return release
        return replace(release, details=without_number(scoring, release.cells.records))

    def account(self, release: Release) -> list[str]:
        """Return how many records had no influence on the choice of cuts."""
        missing = release.details.get("target_missing", 0)
        records = counted(missing, "record")
        return [t("notice.target_missing", records=records)] if missing else []

    @property
    def treats_households_alike(self) -> bool:
        """Whether equal values stay together: strict cuts keep them so."""
        return self.mode == "strict"

    @property
    def counts_persons(self) -> bool:
        """Whether equal records stay together, and nothing but the requirement ends cutting."""
        return self.mode == "strict" and self.stop is None

    @property
    def why_no_persons(self) -> str:  # type: ignore[override]
        """Say why it cannot count persons: where `stop` counts records, or relaxed cuts divide equal ones."""
        return "stop counts records" if self.mode == "strict" else super().why_no_persons

    @property
    def decided_by(self) -> str | None:
        """The target of the cuts."""
        return self.target

    @property
    def stops_at(self) -> str | None:
        """The rule to stop cutting."""
        return self.stop

    @property
    def draws_at_random(self) -> bool:
        """Whether anything is drawn at random: in relaxed cuts."""
        return self.mode == "relaxed"

    def _alike_in_households(self, table: Table, requirement: Requirement, budget: int) -> Release:
        """Cut what the members of a household share first (`shared_first`), and take the release that loses least."""
        cells, state = table.cells_together, np.zeros(1, np.uint64)
        scoring, rounded = self._scoring(table), self.ranges_of(table) == "rounded"
        if rounded:
            cells = replace(cells, codes=_band_starts(cells, table.shared))
        first = problem_of(cells, requirement, self._stop, spread=self.spread, rounded=rounded)
        whole = one_group(first, np.arange(cells.size), cells.counts, *cells.whole)
        admitted = bool(requirement.admits(cells.baseline)[0])

        def cut(problem: CutProblem, cells: Counts, counts: Counts, region_lo: Codes, region_hi: Codes) -> Groups:
            problem = problem._replace(stop=first.stop, units=first.units, begins=first.begins, ends=first.ends)
            return partition(problem, cells, counts, region_lo, region_hi, False, state, scoring)

        if not (admitted or budget):
            raise _not_even_together(requirement, table, budget)
        groupings = shared_first(table, cells, requirement, whole, admitted, budget, cut)
        releases = [self._published(table, groups, "generalization") for groups in groupings]
        if not releases:
            raise _not_even_together(requirement, table, budget)
        return self._told(min(releases, key=loss_of), scoring)

    def _published(self, table: Table, groups: Groups, form: Form) -> Release:
        number = np.repeat(np.arange(groups.size), np.diff(groups.offsets))
        assignment = Assignment(groups.cells, number, groups.counts)
        if form == "bucketization":
            return bucketization(table, assignment, groups.size)
        lo, hi, region_lo, region_hi = np.split(groups.boxes, 4, axis=1)
        if self.ranges_of(table) == "rounded" and table.cells.persons is not None:
            return published(table, assignment, groups.size, form, "rounded")
        if self.ranges == "region":
            return generalization(table, assignment, region_lo, region_hi, ranges="tight")
        return generalization(table, assignment, lo, hi, ranges=self.ranges_of(table))


def _band_starts(cells: Cells, attributes: Iterable[int]) -> Codes:
    """Return the codes of cells with each number and date of these attributes replaced by the first leaf of its band.

    Cuts of these lie between bands, so rounded ranges do not overlap. An audit can then tell to which group each record
    of the original belongs, or which values the members of a household show.
    """
    codes = cells.codes.copy()
    for a in attributes:
        codes[:, a] = cells.quasi[a].hierarchy.bands[0][codes[:, a]]
    return codes


def _not_even_together(requirement: Requirement, table: Table, budget: int) -> InfeasibleError:
    tried = t("notice.no_trim_within_budget") if budget else ""
    return infeasible(requirement, table.cells.baseline, t("notice.even_all_records_group", tried=tried))


@kernel
def partition(
    problem: CutProblem,
    cells: Counts,
    counts: Counts,
    region_lo: Codes,
    region_hi: Codes,
    relaxed: bool,
    state: NDArray[np.uint64],
    scoring: Scoring | None = None,
) -> Groups:
    """Partition the records of these entries, which are admitted as one group; without scoring, at medians.

    Pending nodes lie one above the other in an arena, the topmost is cut next, so memory stays linear. Time is
    O(entries x attributes) per level of cuts, with as many levels as the logarithm of the number of groups.
    """
    d = len(region_lo)
    arena, arena_counts = cells.copy(), counts.copy()
    starts, ends, depths = np.zeros(16, np.int64), np.zeros(16, np.int64), np.zeros(16, np.int64)
    regions = np.empty((16, 2 * d), np.int32)
    for a in range(d):
        regions[0, a], regions[0, d + a] = region_lo[a], region_hi[a]
    ends[0] = len(cells)
    pending = 1

    out, out_counts = np.empty(len(cells), np.int64), np.empty(len(cells), np.int64)
    offsets = np.zeros(17, np.int64)
    boxes = np.empty((16, 4 * d), np.int32)
    groups = 0

    histogram = np.empty(len(problem.rules.q), np.int64)
    left_histogram = np.empty(len(problem.rules.q), np.int64)
    lo, hi = np.empty(d, np.int32), np.empty(d, np.int32)

    while pending > 0:
        pending -= 1
        start, end, depth = starts[pending], ends[pending], depths[pending]
        node, node_counts = arena[start:end], arena_counts[start:end]
        find_ranges(problem, node, lo, hi)
        attribute, code, whole, taken = -1, 0, True, counts[:0]
        deep = problem.height > 0 and depth >= problem.height
        if not deep and may_go_on(problem, node, node_counts, histogram):
            attribute, code, whole, taken = choose_cut(
                problem, scoring, node, node_counts, lo, hi, histogram, left_histogram, relaxed, state
            )
        if attribute < 0:  # no cut is admitted: the node is a group
            used = offsets[groups]
            out, out_counts = room(out, used + end - start), room(out_counts, used + end - start)
            put(out, used, node)
            put(out_counts, used, node_counts)
            boxes, offsets = room(boxes, groups + 1), room(offsets, groups + 2)
            for a in range(d):
                boxes[groups, a], boxes[groups, d + a] = lo[a], hi[a]
                boxes[groups, 2 * d + a], boxes[groups, 3 * d + a] = (
                    regions[pending, a],
                    regions[pending, d + a],
                )
            groups += 1
            offsets[groups] = used + end - start
            continue
        left, left_counts, right, right_counts = divide(node, node_counts, taken)
        middle, end = start + len(right), start + len(right) + len(left)
        arena, arena_counts = room(arena, end), room(arena_counts, end)
        put(arena, start, right)
        put(arena_counts, start, right_counts)
        put(arena, middle, left)
        put(arena_counts, middle, left_counts)
        starts, ends, depths = room(starts, pending + 2), room(ends, pending + 2), room(depths, pending + 2)
        starts[pending], ends[pending] = start, middle
        starts[pending + 1], ends[pending + 1] = middle, end
        depths[pending] = depths[pending + 1] = depth + 1
        regions = room(regions, pending + 2)
        for a in range(2 * d):
            regions[pending + 1, a] = regions[pending, a]
        regions[pending, attribute] = code + 1 if whole else code
        regions[pending + 1, d + attribute] = code
        pending += 2

    used = offsets[groups]
    return Groups(out[:used], out_counts[:used], offsets[: groups + 1], boxes[:groups])


@kernel
def choose_cut(
    problem: CutProblem,
    scoring: Scoring | None,
    cells: Counts,
    counts: Counts,
    lo: Codes,
    hi: Codes,
    histogram: Counts,
    left_histogram: Counts,
    relaxed: bool,
    state: NDArray[np.uint64],
) -> tuple[int, int, bool, Counts]:
    """Find the cut by a score, or at the median where there is none; only the one that is asked for is compiled."""
    if scoring is None:
        return find_cut(problem, cells, counts, lo, hi, histogram, left_histogram, relaxed, state)
    return scored_cut(problem, scoring, cells, counts, lo, hi, histogram, left_histogram)


def one_group(problem: CutProblem, cells: Counts, counts: Counts, region_lo: Codes, region_hi: Codes) -> Groups:
    """Keep these entries together as one group."""
    lo, hi = np.empty_like(region_lo), np.empty_like(region_hi)
    find_ranges(problem, cells, lo, hi)
    boxes = np.concatenate([lo, hi, region_lo, region_hi])[None]
    return Groups(cells, counts, np.array([0, len(cells)]), boxes)


def _check_cut(cut: str, target: str | None, mode: str) -> None:
    """Raise unless the options of a cut go together."""
    if cut == "information-gain" and not target:
        raise refusal("mondrian_cut_information_gain")
    if target is not None and cut not in ("information-gain", "variance"):
        raise refusal("mondrian_cut_looks_quasi", cut=cut, target=target)
    if mode == "relaxed" and cut != "median":
        raise refusal("mondrian_mode_relaxed_parts", cut=cut)
