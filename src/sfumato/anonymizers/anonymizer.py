"""An anonymizer: a frozen configuration with one method that makes a release of a table.

The properties of every anonymizer, of tables or of transactions, exact or noisy: there is no central list of their
names.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Self, get_args

import numpy as np

from sfumato.config.options import Configured, Option, check_choice, check_number, without_seed
from sfumato.data.cells import Assignment, Cells, Histograms, ranges
from sfumato.data.persons import WHOLE, EnginePersons
from sfumato.data.reading import AllowedRanges, Ranges, Table, coarser
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.release.release import FORMS, Form, Grouped, Release, bucketization, generalization
from sfumato.requirements._predicates import SIZE
from sfumato.requirements.requirement import All, KAnonymity, Requirement
from sfumato.runtime.arrays import Counts
from sfumato.texts.catalogue import refusal, t, texts

TRIES = 12
"""How often groups are searched with a bound before nothing is found."""

DIGITS = 4
"""Significant digits of a dial's values: they are read by people."""


@dataclass(frozen=True)
class Dial:
    """The number in which the candidates of a family differ, which a search turns.

    It turns on a logarithmic scale, because that is how people choose: k = 5, 10, 20 are as far apart as 50, 100, 200.
    """

    field: str
    least: float
    most: float
    whole: bool = False

    def at(self, share: float) -> float:
        """Return the value at a share of the way, rounded to what people would type."""
        return self.rounded(self.least * (self.most / self.least) ** share)

    def between(self, low: float, high: float) -> float | None:
        """Return the value half way between two others, or nothing where none is left."""
        middle = self.rounded(math.sqrt(low * high))
        return middle if low < middle < high else None

    def rounded(self, value: float) -> float:
        """Round to a whole number, or to a few significant digits."""
        return round(value) if self.whole else float(f"{value:.{DIGITS}g}")


def size_dial(field: str, records: int) -> Dial | None:
    """Return the dial of how many records stand together at least; none where there are too few for a choice."""
    return Dial(field, 2, max(records // 2, 2), whole=True) if records >= 4 else None


class ReleaseMaker(Configured):
    """Whoever makes a release. It prints as what one would type."""

    noisy: ClassVar[bool] = False
    """Whether its releases are drawn with noise, differentially privately: measures that count people are then
    undefined."""

    shown_as: ClassVar[str] = ""
    """What it publishes instead of groups, in words: boxes with noisy counts, or synthetic records."""

    takes_requirements: ClassVar[bool] = True
    """Whether it makes its releases satisfy whatever is required of them; otherwise it promises what it promises."""

    has_lattice: ClassVar[bool] = False
    """Whether it decides a lattice of transformations, which `lattice` returns."""

    effort: ClassVar[float] = 1.0
    """The cost of making and measuring a release, in releases of Mondrian: its order of magnitude
    (`benchmarks/effort.py`)."""

    baseline: ClassVar[str] = ""
    """Of an end of the map: what it is, in a sentence. Elsewhere nothing."""

    called: ClassVar[str] = ""
    """For an end of the map: its description beside a neighbouring point."""

    caution: ClassVar[str] = ""
    """What a publisher should know before publishing its releases, whatever their numbers are."""

    is_release: ClassVar[bool] = True
    """Whether it may be published at all; the original is only the other end of the map."""

    is_found: ClassVar[bool] = False
    """Whether its settings are found by looking at the records, so that the settings alone tell something of them."""

    shows_exact: ClassVar[bool] = False
    """Whether exact quasi-identifiers are shown, in whatever form: people's own, or perturbed ones that look so."""

    drawn_as: ClassVar[str] = ""
    """Its symbol on a map, where that does not follow from its requirement."""

    people: ClassVar[bool] = True
    """Whether its rows represent people, so that measures that count people are defined."""

    external: ClassVar[bool] = False
    """Whether it was made elsewhere, so that nothing is promised of it."""

    remakes: ClassVar[bool] = True
    """Whether it makes a release of another table as well: a file that was brought stays what it is."""

    def __init_subclass__(cls) -> None:
        """Take its texts from the catalogue (`anonymizers.toml`, by the name of the class)."""
        for id, text in texts("anonymizers").items():
            owner, part = id.split(".")[1:]
            if owner == cls.__name__:
                setattr(cls, part, text)

    @property
    def described_in_words(self) -> str:
        """Describe it in a sentence, where its settings do not explain it to everybody."""
        return ""

    @property
    def family(self) -> str:
        """The symbol of its releases on a map, where that does not follow from their requirement."""
        return ""

    @property
    def public(self) -> Self:
        """The same as everybody may know it: without a seed, with which its release could be made again."""
        return without_seed(self)

    @property
    def draws_at_random(self) -> bool:
        """Whether anything is drawn at random: where there is a seed, unless a maker knows better."""
        return any(field.name == "seed" for field in fields(self))  # type: ignore[arg-type]

    def dial(self, records: int) -> Dial | None:
        """Name its numeric setting that a search should vary on a table of this many records, if there is one."""
        return None

    def with_seed(self, seed: int) -> Self:
        """Return the same maker with a seed where it draws at random and has none."""
        if not self.draws_at_random or getattr(self, "seed", None) is not None:
            return self
        return replace(self, seed=seed)  # type: ignore[type-var]


RANGES_MEANING = (
    "How ranges are published. `rounded`, the default, rounds the ends of numbers and dates outward to the first "
    "level of the "
    "hierarchy; `node` publishes whole nodes; `tight` publishes the smallest and largest value of the group's "
    "records."
)
RANGES_WORDS = {"node": "whole nodes of the hierarchies", "tight": "ranges with exact ends"}
OfRanges = Annotated[Ranges, Option(RANGES_MEANING, words=RANGES_WORDS)]
"""The option of an anonymizer that publishes the ranges of groups."""


class Anonymizer(ReleaseMaker, ABC):
    """Makes releases. Its fields are its whole configuration: same configuration, same table, same release."""

    why_no_persons: ClassVar[str] = "it may divide equal records among groups, and nobody knows whose records go where"
    """Why persons cannot be counted in its groups, where they cannot."""

    keeps_cells: bool = True
    """Whether records with equal values stay together, also where records are counted."""

    dealing: ClassVar[str] = ""
    """Whether its way of assigning records to groups reveals something to an attacker; the certificate then has a
    caution."""

    ranges: Any = "rounded"
    """How ranges are published: an option of anonymizers that publish the ranges of groups."""

    def anonymize(
        self, table: Table, requirement: Requirement, form: Form = "generalization", suppress: float = 0.0
    ) -> Release:
        """Make a release every group of which satisfies the requirement, and check that it does.

        At most a share `suppress` of the records is left out. Raises `InfeasibleError` with the reason and the
        nearest feasible parameter where there is no such release.
        """
        check_choice("form", form, FORMS)
        check_number("suppress", suppress, least=0, most=1)
        check_persons(table, str(self), self.counts_persons, self.why_no_persons, form)
        requirement.check_counting(table.roles.person)
        if form == "bucketization" and not table.roles.sensitive:
            raise BadInputError("a bucketization deals out sensitive values, and the table has none (--sensitive)")
        if form == "generalization" and table.shared and not self.treats_households_alike:
            raise refusal("splits_households", value=self, table=", ".join(table.shared_names))
        if form == "generalization" and table.ranges and self.ranges not in get_args(AllowedRanges):
            raise refusal("finer_ranges_than_allowed", value=self, ranges=table.ranges, ranges_2=self.ranges)
        make = self._by_fractions if table.cells.persons is not None and table.cells.persons.in_engine else self.release
        release = make(table, requirement, form, int(suppress * table.cells.records + 1e-9))
        checked(release, requirement)
        checked_households(release)
        return release

    def _by_fractions(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Search with a bound where pairs of cells and persons do not fit into memory; count exactly what is found.

        Cells count as their sum F, in place of their records: a group has at least F persons. What is found has its
        persons counted in the engine; cells of groups that fail then count half in the next search.
        """
        if not self.keeps_cells:
            raise refusal("no_search_by_fractions", maker=self.name, table=table)
        cells, persons = table.cells, table.cells.persons
        assert isinstance(persons, EnginePersons)
        check_feasible(requirement, cells)
        roles = replace(table.roles, person=None, one_record_per_person=True)
        weights, share = persons.fractions.copy(), budget / cells.records
        values = tuple(part for part in requirement.parts if part.about_sensitive)
        wanted = All((KAnonymity((requirement.of_persons.k - 1) * WHOLE + 1), *values))
        for tried in range(1, TRIES + 1):
            counted, group = replace(table, roles=roles), np.full(cells.size, -1, np.int64)
            vars(counted)["_counted"] = replace(cells, counts=weights.copy(), persons=None), table.dropped, table.link
            try:
                found = self.release(counted, wanted, form, int(share * weights.sum()))
            except InfeasibleError:
                break
            group[found.assignment.cell], sensitive = found.assignment.group, found.histograms is not None
            ends = found.boxes.lo, found.boxes.hi
            release = generalization(table, cells.assigned(group), *ends, sensitive, ranges=None)
            bad = np.concatenate([groups for _, groups in failing(release, requirement)[1]])
            if not len(bad) and release.suppressed <= budget:
                details = {**found.details, "persons_in_engine": t("release.by_fractions", tried=tried)}
                return replace(release, levels=found.levels, details=details)
            fails = release.assignment.cell[np.isin(release.assignment.group, bad)]
            weights[fails] = np.maximum(weights[fails] // 2, 1)
            share *= min(1, 0.9 * budget / max(release.suppressed, 1)) if release.suppressed > budget else 1
        raise InfeasibleError(t("refusal.not_found_by_fractions", requirement=requirement))

    def ranges_of(self, table: Table) -> Ranges:
        """Return how ranges of this table's numbers and dates are published: no finer than the table allows."""
        return coarser(self.ranges if self.ranges in get_args(Ranges) else "tight", table.ranges)

    @property
    def counts_persons(self) -> bool:
        """Whether it can count different persons in its groups: it never divides equal records among groups."""
        return False

    @property
    def treats_households_alike(self) -> bool:
        """Whether records that agree in what households share always show the same values of it, if generalized."""
        return False

    @property
    def decided_by(self) -> str | None:
        """The column that decided who is in which group because somebody wants to predict it, if there is one."""
        return None

    @property
    def stops_at(self) -> str | None:
        """A rule beyond which groups are not divided and which is no promise, if there is one."""
        return None

    def account(self, release: Release) -> list[str]:
        """List facts that only this anonymizer knows about a release that it made, as sentences; usually none."""
        return []

    def lattice(self, table: Table, requirement: Requirement, suppress: float = 0.0) -> Any:
        """Decide every transformation, where it searches a lattice of them."""
        raise BadInputError(f"{self.name} searches no lattice; full-domain does")

    @abstractmethod
    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Make the release, leaving out at most `budget` records."""


def check_persons(table: Table, maker: str, counts: bool, why_not: str, form: Form = "generalization") -> None:
    """Raise where a table's records are not persons and nobody declared it, or where a maker cannot count persons."""
    if table.why_no_persons is not None:
        raise BadInputError(table.why_no_persons)
    if table.roles.person is None or (counts and form == "generalization"):
        return
    if form == "bucketization":
        maker, why_not = "a bucketization", "it deals out records, and two of a group may belong to one person"
    raise refusal("cannot_count_persons", maker=maker, person=table.roles.person, why_not=why_not)


def checked(release: Grouped, requirement: Requirement) -> None:
    """Raise unless every group satisfies the requirement, as counted from the assignment when the release was built."""
    histograms, failures = failing(release, requirement)
    for part, bad in failures:
        if len(bad):
            raise InfeasibleError(
                f"{len(bad):,} of {len(histograms):,} groups fail: {part.explain_failure(histograms, int(bad[0]))}"
            )


def failing(release: Grouped, requirement: Requirement) -> tuple[Histograms, list[tuple[Requirement, Counts]]]:
    """Return the groups that fail each part of a requirement.

    Where no sensitive attribute is published, a requirement about sensitive values is met trivially.
    """
    histograms = release.histograms
    parts: Sequence[Requirement] = requirement.parts
    if histograms is None:  # nothing sensitive is published: what is said of sizes remains
        requirement.compile(release.cells.sensitive)
        histograms = Histograms((), release.quasi_counts, release.quasi_counts[:, None][:, :0], release.group_persons)
        parts = sizes_required(requirement)
    return histograms, [(part, np.flatnonzero(~part.admits(histograms))) for part in parts]


def sizes_required(requirement: Requirement) -> tuple[KAnonymity, ...]:
    """List what a requirement guarantees about the sizes of groups, and about their persons."""
    return tuple(
        part if isinstance(part, KAnonymity) else KAnonymity(int(k))
        for part in requirement.parts
        for kind, k, _ in part.rules()
        if kind == SIZE
    )


def checked_households(release: Release) -> None:
    """Raise unless all published members of every household show the same value of what households share.

    Otherwise an attacker who knows two members could intersect two boxes of one value, and learn more than either box
    shows. Exact values are the same of themselves. A member that lacks a value may be published as missing, which
    reveals nothing about the value.
    """
    table, shared = release.table, list(release.table.shared)
    if table.memberships is None or not shared or release.form == "bucketization":
        return
    assigned, memberships = release.assignment, table.memberships
    ends = np.concatenate([release.boxes.lo[:, shared], release.boxes.hi[:, shared]], axis=1)[assigned.group]
    place = np.full(release.cells.size, -1, np.int64)
    published = np.unique(assigned.cell)
    place[published] = np.arange(len(published))
    low, high = ranges(assigned.cell, ends, ends)  # a divided cell shows several boxes
    there = place[memberships.combination] >= 0
    member = place[memberships.combination[there]]
    low, high = low[member], high[member]
    missing = np.tile(release.cells.missing[shared], 2)
    alone = (low == missing) & (high == missing)
    alone = np.tile(alone[:, : len(shared)] & alone[:, len(shared) :], 2)  # both ends: missing is all that is shown
    beyond = np.iinfo(np.int32).max
    low, high = ranges(memberships.household[there], np.where(alone, beyond, low), np.where(alone, -1, high))
    differ = (low < high).any(axis=1)
    if differ.any():
        raise InfeasibleError(
            f"members of {int(differ.sum()):,} households would show different values of "
            f"{', '.join(table.shared_names)}, which they share"
        )


def infeasible(requirement: Requirement, histograms: Histograms, what: str) -> InfeasibleError:
    """Report that one single group fails, which part, and what would be feasible. This is no proof for parts that need
    not survive merging."""
    proving = (part for part in requirement.parts if part.survives_merging(histograms.persons is not None))
    if all(part.admits(histograms)[0] for part in proving):
        what = f"no release was found that satisfies {requirement}; all records in one group do not"
    return InfeasibleError(f"{what}: {requirement.explain_failure(histograms, 0)}")


def check_feasible(requirement: Requirement, cells: Cells, together: str = "group") -> None:
    """Raise where the requirement does not even hold of all records together."""
    if not requirement.admits(cells.baseline)[0]:
        raise infeasible(requirement, cells.baseline, f"even all records in one {together} are not enough")


def loss_of(release: Release) -> float:
    """Return the loss of a release: that of its boxes, and 1 for every suppressed record."""
    boxes, quasi = release.boxes, release.cells.quasi
    each = [
        release.cells.weights[a] * (attribute.hierarchy.losses(boxes.lo[:, a], boxes.hi[:, a]) @ boxes.mass)
        for a, attribute in enumerate(quasi)
    ]
    return float(np.mean(each)) + release.suppressed


def check_nothing_suppressed(maker: Anonymizer, budget: int) -> None:
    """Raise where records may be left out, of a maker that places every record."""
    if budget:
        raise BadInputError(f"{maker.name} leaves no record out; leave out --suppress, or use mondrian or full-domain")


def check_budget(release: Release, requirement: Requirement, budget: int, given: str, remedy: str) -> None:
    """Raise where a recoding that is given suppresses more records than it may, or all."""
    records = release.cells.records
    if release.suppressed <= budget and release.assignment.records > 0:
        return
    share = math.ceil(release.suppressed / records * 1e4) / 1e4
    allowed = f"allow --suppress {share:g}, or " if share < 1 else ""
    raise InfeasibleError(
        f"{given} {release.suppressed:,} of {records:,} records are in groups that fail {requirement}, and at most "
        f"{budget:,} may be suppressed: {allowed}{remedy}"
    )


def published(table: Table, assignment: Assignment, groups: int, form: Form, ends: Ranges = "rounded") -> Release:
    """Publish groups as buckets, or by the ranges of their records."""
    if form == "bucketization":
        return bucketization(table, assignment, groups)
    codes = table.cells.codes[assignment.cell]
    return generalization(table, assignment, *ranges(assignment.group, codes, codes), ranges=ends)


FASTER = 4
"""The factor between tries of k before one loses too much."""

ROUNDING = 1e-12
"""The allowance for rounding of a loss."""


def largest_within(loss: Callable[[int], float], allowed: float, most: int, start: int = 2) -> int | None:
    """Return the largest k from `start` to `most` with a loss of at most `allowed`, if losses rise with k.

    Return None if the loss at `start` is larger. Each k tried is where the line between two known losses, over log k,
    meets the allowed one; every third one is half way.
    """
    good, bad, known, k = start - 1, most + 1, dict[int, float](), start
    while bad - good > 1:
        known[k] = loss(k)
        good, bad = (k, bad) if known[k] <= allowed + ROUNDING else (good, k)
        if good < start:
            return None
        k = FASTER * good if bad > most else round(math.sqrt(good * bad))
        if known.get(bad, math.inf) < math.inf and len(known) % 3:
            share = (allowed - known[good]) / max(known[bad] - known[good], ROUNDING)
            k = round(good * (bad / good) ** share)
        k = min(max(k, good + 1), bad - 1)
    return good if good >= start else None
