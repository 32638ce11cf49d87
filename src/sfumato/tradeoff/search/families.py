"""Candidates that a tuner can propose: families of makers with one parameter, and cut vectors (Dewri et al. 2011).

**Cut vectors.** If the axes are k and a loss, both can be counted without making a release. The evolutionary search
runs a few generations at a time, and new points of its archive are added to the map. For other axes each release must
be made and measured; that is only done if a plan names the cut vectors, their solver or their problem.

**Families.** A family is a maker, a requirement, a form and a suppression limit. Its parameter is the number that
controls strictness: k, l, t, ... of the requirement, or a number of the maker, such as epsilon of a mechanism or k of
microaggregation. A tuner also gets the ends of the map and candidates that answer a question directly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from sfumato.anonymizers import anonymizer
from sfumato.anonymizers.anonymizer import Dial, ReleaseMaker, largest_within, loss_of, size_dial
from sfumato.anonymizers.cut_vector.cut_vector import CutVector
from sfumato.anonymizers.items import DEFAULT_MAKER, TREE_MAKER, candidate_maker
from sfumato.anonymizers.items.items_of_groups import NoMerging, merging
from sfumato.data.cells import Sensitive, find_sensitive
from sfumato.data.dataset import MixedTable
from sfumato.data.declaration import ATTRIBUTES, ITEMS
from sfumato.data.items import Baskets
from sfumato.data.reading import Table
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.release.release import FORMS
from sfumato.requirements import items as item_requirements
from sfumato.requirements import requirement as requirements
from sfumato.runtime.threads import together
from sfumato.tradeoff.limit import best_of_all_partitions
from sfumato.tradeoff.question.best_possible import Decided
from sfumato.tradeoff.question.question import SHARE, Bound
from sfumato.tradeoff.question.recipients import ABOUT_HIDING
from sfumato.tradeoff.search._enumeration import Enumeration, Frontier
from sfumato.tradeoff.search.pareto import NSGA2, Search, search_of
from sfumato.tradeoff.search.problems import MeasuredProblem, Problem2
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import ends
from sfumato.tradeoff.study.presets import bounding_contribution, bundled_presets, of_each
from sfumato.tradeoff.study.search_plan import SearchPlan
from sfumato.tradeoff.study.study import Study

if TYPE_CHECKING:
    from sfumato.tradeoff.search.tuner import Aim

MOST_BITS = 4_000
"""In larger spaces steps and generations are slow, and few cuts are useful."""

FEW_VECTORS = 20_000
"""The largest space that is enumerated."""

GENERATIONS = 10
"""Generations of the evolutionary search between two looks at its archive."""

POPULATION = 60
PATIENCE = 60
"""Steps without gain after which no further one is tried."""

SUPPRESSED = (0.0, 0.05)
"""The limits on suppression if the study has no candidates."""

Gain = Callable[[dict[str, float]], float]
"""The area under the staircase that a release with some measures would remove."""


@dataclass
class CountedCuts:
    """The search over cuts for counted axes: a few generations at a time, or an enumeration of a small space."""

    search: Search | Enumeration
    plan: SearchPlan
    axes: Sequence[str]
    idle: int = 0
    proposed: int = 0
    whole: Frontier | None = None

    def next(self, gain: Gain, known: Iterable[Candidate], most: int) -> list[Candidate]:
        """Continue the search, and return the candidates with the largest exact gain.

        If the problem does not measure the axes, the gain is unknown before a release is made. Then the result is
        evenly spaced on the frontier of the problem.
        """
        if self.idle >= PATIENCE:
            return []
        counted = self.counted()
        tried = set(known)
        new = {
            i: one
            for i, point in enumerate(counted.points)
            if point.publishable is not None and point.values.get("k", 2) >= 2
            if (one := required(point.publishable, self.plan)) not in tried
        }
        if all(set(self.axes) <= set(point.values) for point in counted.points):
            sizes = {i: gain(dict(counted.points[i].values)) for i in new}
            order = sorted((i for i in new if sizes[i] > 0), key=lambda i: (-sizes[i], new[i].id))
        else:
            order = [i for i in counted.spread(self.proposed + most) if i in new]
        self.idle = 0 if order else self.idle + 1
        self.proposed += len(order[:most])
        return [new[i] for i in order[:most]]

    def counted(self) -> Frontier:
        """Continue the search, and return the frontier so far."""
        if isinstance(self.search, Search):
            return self.search.run(generations=GENERATIONS)
        if self.whole is None:
            self.whole = self.search.run()
        return self.whole

    @property
    def decided(self) -> tuple[Decided, ...]:
        """The frontiers of all cuts of the space, once the enumeration is complete."""
        return self.search.decided


def cuts_of(study: Study, table: Table, axes: Sequence[str], workers: int | None) -> CountedCuts | None:
    """Return the proposer of cut vectors for a study on its axes; None if releases may not be generalized."""
    plan = study.search or SearchPlan()
    makers = ((one, one.anonymizer) for one in study.candidates_of(table))
    own = [one for one, maker in makers if not maker.baseline and maker.takes_requirements]
    if not plan.proposes(CutVector.name) or (own and all(one.form == "bucketization" for one in own)):
        return None
    space = plan.space(table.cells)
    if not 0 < space.bits <= MOST_BITS or table.shared:
        return None
    suppress = max((one.suppress for one in own), default=max(SUPPRESSED))
    least = min(
        (part.k for one in own for part in one.requirement.parts if isinstance(part, requirements.KAnonymity)),
        default=2,
    )
    wanted = plan.joined(requirements.KAnonymity(max(least, 2)))
    given = plan.wanted(study.scales)
    named = plan.solver is not None or plan.exact is not None or CutVector.name in plan.makers
    counted = is_counted(axes) and plan.required is None
    if given is None and named and not counted and table.roles.person is None:
        given = MeasuredProblem(", ".join(axes), str(wanted), suppress, study.scales)
    if given is not None:
        return CountedCuts(search_of(table, given, space, plan.nsga2, workers, plan.exact), plan, axes)
    if counted and table.roles.person is None:
        loss = next(name for name in axes if name != "k")
        problem = Problem2(suppress, minimize=loss)  # type: ignore[arg-type]
        if plan.exact or (plan.exact is None and plan.solver is None and space.count <= FEW_VECTORS):
            return CountedCuts(Enumeration(table, problem, space, workers), plan, axes)
        solver = plan.nsga2 or NSGA2(population=POPULATION, generations=1_000_000)
        return CountedCuts(Search(table, problem, space, solver, workers, stages=plan.solver is not None), plan, axes)
    return None


def is_counted(axes: Sequence[str]) -> bool:
    """Return whether measures can be counted without making a release: k and a loss."""
    return "k" in axes and set(axes) <= {"k", "loss", "generalization_loss"}


def required(candidate: Candidate, plan: SearchPlan) -> Candidate:
    """Return a candidate with the additional requirement of a plan."""
    return replace(candidate, requirement=plan.joined(candidate.requirement))


LOOSEST_T = {"js": math.log(2)}
FIRST = (0.5, 0.25, 0.75, 0.125, 0.875, 1.0, 0.0)
"""The first values of a family's parameter, as shares of its range."""


@dataclass(frozen=True)
class Family:
    """Candidates that differ in the value of one parameter."""

    example: Any
    """A candidate of a table or of baskets; its requirement has `parts`."""

    dial: Dial
    places: tuple[int, ...]
    """The parts of the requirement that have the parameter, all with the same value; empty if the maker has it."""

    def value_of(self, candidate: Any) -> float | None:
        """Return the parameter of a member; None for other candidates."""
        parts = candidate.requirement.parts
        if any(place >= len(parts) for place in self.places):
            return None
        owner = parts[self.places[0]] if self.places else candidate.anonymizer
        value: float | None = getattr(owner, self.dial.field, None)
        if value is None or (self.dial.whole and not float(value).is_integer()):
            return None
        return value if self.at(value) == candidate else None

    def at(self, value: float) -> Any:
        """Return the member of the family with a value of the parameter."""
        example = self.example
        if not self.places:
            maker: Any = example.anonymizer
            return replace(example, anonymizer=replace(maker, **{self.dial.field: value}))
        parts = list(example.requirement.parts)
        for place in self.places:
            part: Any = parts[place]
            parts[place] = replace(part, **{self.dial.field: value})
        return replace(example, requirement=example.requirement.of_parts(parts))

    def requiring(self, plan: SearchPlan) -> Family:
        """Return the family with the additional requirement of a plan."""
        wanted = plan.joined(self.example.requirement)
        more = len(wanted.parts) - len(self.example.requirement.parts)
        return replace(
            self, example=replace(self.example, requirement=wanted), places=tuple(place + more for place in self.places)
        )

    def races(self, table: Table, plan: SearchPlan) -> bool:
        """Return whether it promises k alone besides what a plan requires, and makes a release in a short time."""
        maker, example = self.example.anonymizer, self.example
        lattice = math.prod(quasi.hierarchy.height + 1 for quasi in table.cells.quasi) if maker.has_lattice else 0
        timed = getattr(maker, "seconds", None) is not None
        *others, last = example.requirement.parts
        is_k = isinstance(last, requirements.KAnonymity) and set(others) <= set(plan.joined(last).parts)
        return is_k and bool(self.places) and example.form == FORMS[0] and lattice <= RACED_LATTICE and not timed

    def largest_within(self, table: Table, allowed: float, start: int = 2) -> int | None:
        """Return the largest k of a member that loses at most a share; None if the one at `start` does not."""

        def loss(k: int) -> float:
            try:
                return loss_of(self.at(k).repeatable().make(table)) / table.cells.records
            except (InfeasibleError, BadInputError):
                return math.inf

        return largest_within(loss, allowed, int(self.dial.most), start)

    @property
    def key(self) -> str:
        """The name of the family, equal for all members."""
        return str(self.at(self.dial.rounded(self.dial.most)))

    @property
    def without_suppression(self) -> Family:
        """The family without suppression."""
        return replace(self, example=replace(self.example, suppress=0.0)) if self.suppress else self

    @property
    def kin(self) -> str:
        """The name that it shares with families that differ only in form or suppression limit."""
        plain = self.without_suppression
        changed = plain.example.form != FORMS[0]
        return (replace(plain, example=replace(plain.example, form=FORMS[0])) if changed else plain).key

    @property
    def is_exact(self) -> bool:
        """Whether its releases show exact quasi-identifiers, as buckets do."""
        form: str = self.example.form
        return form == "bucketization"

    @property
    def suppress(self) -> float:
        """The maximum share of suppressed records; 0 for baskets."""
        share: float = getattr(self.example, "suppress", 0.0)
        return share

    @property
    def effort(self) -> float:
        """The cost of a release of the family, in releases of Mondrian."""
        effort: float = self.example.anonymizer.effort
        return effort

    @property
    def is_about_values(self) -> bool:
        """Whether it restricts sensitive values and not identities."""
        parts = self.example.requirement.parts
        return bool(self.places) and all(getattr(part, "about_sensitive", False) for part in parts)

    @property
    def first(self) -> Iterator[tuple[Any, int]]:
        """The members to try first, each with its side of the middle."""
        return ((self.at(self.dial.at(share)), (share > FIRST[0]) - (share < FIRST[0])) for share in FIRST)

    def first_within(self, bounds: Sequence[Bound]) -> dict[Any, int]:
        """Return the members to try first within bounds.

        If a bound is on a measure that the parameter promises (k, l, t, ...), the member with exactly this promise
        replaces the middle: no stricter member loses less.
        """
        first = dict(self.first)
        promised = promises(self.example.requirement.parts[self.places[0]]) if self.places else ()
        value = next((self._at_bound(one) for one in bounds if one.measure in promised and one.is_natural), None)
        if value is None:
            return first
        member = self.at(value)
        return {member: 0} | {one: side for one, side in first.items() if side and one != member}

    def _at_bound(self, bound: Bound) -> float:
        """Return the value of the parameter that promises a bound, or the nearest possible one."""
        value = min(max(bound.value, self.dial.least), self.dial.most)
        if self.dial.whole:
            return math.ceil(value - 1e-9) if bound.side == "min" else math.floor(value + 1e-9)
        return float(f"{value:.6g}")


def promises(part: Any) -> tuple[str, ...]:
    """Return the measures whose worst value a requirement promises."""
    if isinstance(part, requirements.KAnonymity | requirements.AlphaK):
        return ("k", "smallest_group")
    if isinstance(part, requirements.LDiversity):
        return (f"l_{part.variant}",)
    if isinstance(part, requirements.TCloseness):
        return ("t_js", "p_loss") if part.distance == "js" else (f"t_{part.distance}",)
    if isinstance(part, requirements.DeltaDisclosure | requirements.BetaLikeness):
        return ("delta" if isinstance(part, requirements.DeltaDisclosure) else "beta",)
    return ()


LOSSES = ("loss", "generalization_loss")


def no_cuts() -> None:
    """Propose no cut vectors, and know no bound."""


@dataclass(frozen=True)
class Proposals:
    """The possible candidates besides those of the study."""

    ends: tuple[Any, ...]
    """The trivial release and the original, the corners of the map's frame."""

    families: tuple[Family, ...]
    straight: tuple[Any, ...] = ()
    """Candidates that answer a question directly."""

    cuts: Callable[[], CountedCuts | None] = no_cuts
    """Returns the search over cut vectors, which takes a while to start."""

    most_cuts: int | None = None
    """The maximum number of cut vectors."""

    bound: Callable[[], Decided | None] = no_cuts
    """Returns a bound on what any release can have, whoever makes it, if one is known for the question."""


def proposals(study: Study, data: Any, aim: Aim, workers: int | None) -> Proposals:
    """Return the possible candidates besides those of the study."""
    if study.parts == ATTRIBUTES:
        return table_proposals(study, data, aim, workers)
    return basket_proposals(study, data) if study.parts == ITEMS else mixed_proposals(study, data)


def table_proposals(study: Study, table: Table, aim: Aim, workers: int | None) -> Proposals:
    """Return the possible candidates for a table within the plan of the study.

    If the aim includes epsilon, these are mechanisms only.
    """
    plan, private, persons = study.search or SearchPlan(), "epsilon" in aim.names, table.roles.person is not None
    exact = () if ABOUT_HIDING.isdisjoint(aim.names) else ("bucketization",)
    shares = [bound.value for bound in aim.bounds if (bound.measure, bound.side) == (SHARE, "max")]
    families = tuple(
        family
        for family in families_of(study, table, private, (0.0, *shares) if shares else SUPPRESSED)
        if family.example.form not in exact
        and (family.example.anonymizer.noisy or not private)
        and not (persons and _counts_records(family.example))
    )
    return Proposals(
        ends_of(study),
        families,
        tuple(straight(aim, table, families, plan)),
        no_cuts if private else lambda: cuts_of(study, table, aim.names, workers),
        plan.points,
        lambda: _bound(aim, table),
    )


def _bound(aim: Aim, table: Table) -> Decided | None:
    """Return the bound on k within the allowed loss, if that is asked for."""
    losses = [bound.value for bound in aim.bounds if (bound.measure, bound.side) == ("loss", "max")]
    return best_of_all_partitions(table.cells, losses[0]) if aim.asked and "k" in aim.axes and losses else None


def _counts_records(candidate: Candidate) -> bool:
    """Whether a candidate cannot count persons; rules about values rarely fail this."""
    counts = getattr(candidate.anonymizer, "counts_persons", False) and candidate.form == "generalization"
    return not counts or any(part.about_sensitive for part in candidate.requirement.parts)


SLOW, SLOWEST = 5.0, 300_000.0
"""The effort of makers that only try to beat the others' largest k; times records, of those that try one release."""

RACED_LATTICE = 50_000
"""The largest lattice that a race searches in full."""


def straight(aim: Aim, table: Table, families: Sequence[Family], plan: SearchPlan) -> list[Candidate]:
    """List what answers a question directly: of each family of k-anonymity the member that promises its bounds.

    If it asks for the largest k within a loss, that is the member with the largest k, and the largest k comes first.
    Only losses are computed, not measures. A slow maker only has a member with a larger k than the others reach; it
    shows whether that maker can have more.
    """
    if not aim.asked or table.cells.records < 4:
        return []
    parts = [*(plan.required.parts if plan.required else ()), *promising(aim.bounds, table)]
    wanted = replace(plan, require=" & ".join(map(str, parts)) or None)
    racing = [family.requiring(wanted) for family in families if family.races(table, plan)]
    losses = [bound.value for bound in aim.bounds if bound.measure in LOSSES and bound.side == "max"]
    least = max([2, *(math.ceil(bound.value) for bound in aim.bounds if (bound.measure, bound.side) == ("k", "min"))])
    if aim.axes[:1] != ("k",) or not losses:
        return [family.at(least) for family in racing if least <= family.dial.most]
    quick = [family for family in racing if family.effort < SLOW]
    reached = together(lambda family: family.largest_within(table, min(losses)) or 1, quick)
    found, most = [(k, family) for k, family in zip(reached, quick, strict=True) if k > 1], max(reached, default=1)
    beaten: list[tuple[int, Family]] = []
    for family in sorted((each for each in racing if each.effort >= SLOW), key=lambda each: each.effort):
        next_k, work = min(most + 1, int(family.dial.most)), family.effort * table.cells.records
        more = family.largest_within(table, min(losses), next_k) if work < SLOWEST else None
        (found if more else beaten).append((more or next_k, family))
        most = max(most, more or 1)
    return [family.at(k) for k, family in (*sorted(found, key=lambda each: -each[0]), *beaten)]


def promising(bounds: Iterable[Bound], table: Table) -> Iterator[requirements.Requirement]:
    """Yield requirements that promise the bounds of a question on l and on p_loss, and on the share of a person."""
    sensitive = [attribute.name for attribute in table.cells.sensitive]
    for bound in bounds if sensitive else ():
        if table.cells.persons is not None and (bound.measure, bound.side) == ("prosecutor", "max"):
            yield requirements.KAnonymity(2, bound.value)
        family, _, variant = bound.measure.partition("_")
        if family == "l" and bound.side == "min" and bound.value > 1:
            least = math.ceil(bound.value) if variant == "distinct" else bound.value
            yield from of_each(requirements.LDiversity(least, variant), sensitive).parts  # type: ignore[arg-type]
        elif (bound.measure, bound.side) == ("p_loss", "max") and bound.value > 0:
            yield from of_each(requirements.TCloseness(bound.value, "js"), sensitive).parts


PRIVATE = "mst epsilon=1"
"""The mechanism for questions about epsilon."""


def families_of(
    study: Study, table: Table, private: bool = False, shares: Sequence[float] = SUPPRESSED
) -> list[Family]:
    """List the families of a study's own candidates, then the offered ones in the forms and limits of the study.

    With `private`, a mechanism is first. Makers that the plan excludes are omitted. If the plan has a requirement,
    noisy, perturbed and synthetic releases are omitted too, since they cannot satisfy it.
    """
    plan = study.search or SearchPlan()
    own = [candidate for candidate in study.candidates_of(table) if _varies(candidate.anonymizer)]
    forms = tuple(dict.fromkeys(candidate.form for candidate in own)) or FORMS
    suppress = tuple(dict.fromkeys([*(candidate.suppress for candidate in own), *shares]))
    sensitive = [attribute.name for attribute in table.cells.sensitive]
    offered = (
        Candidate(maker, wanted, form, share)
        for maker, wanted in (
            (anonymizer(a), of_each(requirements.requirement(b), sensitive)) for a, b in bundled_presets()["offered"]
        )
        for form in forms
        for share in suppress
    )
    if table.roles.person is not None:
        offered = (replace(one, requirement=one.requirement.by_persons) for one in offered)
    found: dict[str, Family] = {}
    maker = bounding_contribution(anonymizer(PRIVATE), table.roles)
    mechanism = [Candidate(maker, requirements.KAnonymity(1))] if private else []
    for family in _families([*own, *mechanism, *offered], table):
        maker = family.example.anonymizer
        if plan.proposes(maker.name) and (maker.takes_requirements or plan.required is None):
            found.setdefault(family.requiring(plan).key, family.requiring(plan))
    return list(found.values())


def _varies(maker: ReleaseMaker) -> bool:
    """Whether a maker belongs to a family; baselines and fixed recodings do not."""
    return not (maker.baseline or maker.external or maker.name == "cut-vector" or getattr(maker, "levels", None))


def _families(candidates: Iterable[Candidate], table: Table) -> Iterator[Family]:
    for candidate in candidates:
        own = candidate.anonymizer.dial(table.cells.records)
        if own is not None:
            yield Family(candidate, own, ())
        if own is not None or not candidate.anonymizer.takes_requirements:
            continue
        parts = candidate.requirement.parts
        if not table.cells.sensitive and any(part.about_sensitive for part in parts):
            continue
        dials = {place: dial for place, part in enumerate(parts) if (dial := dial_of(part, table)) is not None}
        if dials:  # users usually vary the last part, with equal parts for other attributes
            last = parts[max(dials)]
            places = tuple(place for place in dials if _same_but_on(parts[place], last))
            yield Family(candidate, _common([dials[place] for place in places]), places)


def _same_but_on(one: requirements.Requirement, other: requirements.Requirement) -> bool:
    """Whether two parts are equal except for the attribute."""
    own: Any = one
    return type(one) is type(other) and (one == other or replace(own, on=other.on) == other)


def _common(dials: Sequence[Dial]) -> Dial:
    """Return the parameter with the common range of several of the same field."""
    most = min(dial.most for dial in dials) if dials[0].field == "l" else max(dial.most for dial in dials)
    return replace(dials[0], most=most)


def dial_of(part: requirements.Requirement, table: Table) -> Dial | None:
    """Return the parameter of a requirement on a table; None if it has none."""
    records = table.cells.records
    if isinstance(part, requirements.KAnonymity | requirements.AlphaK):
        return size_dial("k", records)
    attribute: Sensitive = table.cells.sensitive[find_sensitive(table.cells.sensitive, part.on)]
    rarest, commonest = float(attribute.shares.min()), float(attribute.shares.max())
    if isinstance(part, requirements.LDiversity):
        whole = part.variant in ("distinct", "recursive")
        most = float(attribute.size) if part.variant != "frequency" else 1 / commonest
        return Dial("l", 2 if whole else 1.01, most, whole) if most > 2 else None
    if isinstance(part, requirements.TCloseness):
        return Dial("t", 0.001, LOOSEST_T.get(part.distance, 1.0))
    if isinstance(part, requirements.DeltaDisclosure):
        return Dial("delta", 0.05, max(-math.log(rarest), 0.1))
    if isinstance(part, requirements.BetaLikeness):
        return Dial("beta", 0.02, max(1 / rarest - 1, 0.1))
    return None


def ends_of(study: Study) -> tuple[Candidate, ...]:
    """List the two ends of a map."""
    return tuple(candidate for grid in ends(study.parts) for candidate in grid.candidates)


# -- items ------------------------------------------------------------------------------------------------

SHARES = ("rho", "h", "c")
"""The fields of requirements that bound a share of records."""

LEAST_SHARE = 0.01


def basket_proposals(study: Study, baskets: Baskets) -> Proposals:
    """Return the possible candidates for baskets: families of the study's own candidates first."""
    candidates = [one for one in study.candidates if not one.anonymizer.baseline]
    families = [
        Family(one, dial, (0,))
        for one in (*candidates, *_offered_for_sets(study, candidates, baskets))
        for dial in _dials(one.requirement, baskets)
    ]
    return Proposals(ends_of(study), tuple({family.key: family for family in families}.values()))


def _dials(requirement: item_requirements.BasketRequirement, baskets: Baskets) -> list[Dial]:
    """List the parameters of a requirement: numbers of matching records, and shares of them."""
    names = {field.name for field in fields(requirement)}  # type: ignore[arg-type]
    sizes = size_dial("k", baskets.filled) if "k" in names else None
    shares = [Dial(name, LEAST_SHARE, 1.0) for name in SHARES if name in names]
    return [*([] if sizes is None else [sizes]), *shares]


def _offered_for_sets(study: Study, candidates: list[Candidate], baskets: Baskets) -> Iterator[Candidate]:
    """List an example of each maker with its requirements, in the utility constraints and limits of the study."""
    policies: Any = dict.fromkeys((one.utility, one.limit) for one in candidates) or [
        (None, item_requirements.SuppressionLimit())
    ]
    asked = {one.requirement.m for one in candidates if isinstance(one.requirement, item_requirements.KMAnonymity)}
    known = sorted({1, study.scales.known, *asked}, reverse=True)
    promises = [*(item_requirements.KMAnonymity(2, m) for m in known), item_requirements.CompleteKAnonymity(2)]
    promises = [promise.counting(baskets.persons is not None) for promise in promises]
    named = dict.fromkeys(one.requirement for one in candidates if one.requirement.names_items)
    by_tree = [] if baskets.tree is None else [TREE_MAKER]
    for maker in map(candidate_maker, [DEFAULT_MAKER, *bundled_presets()["offered_for_items"], *by_tree]):
        for utility, limit in policies:
            if maker.name == "upcta" if utility is None else not maker.keeps_utility_constraints:
                continue  # without utility constraints upcta equals pcta
            for promise in (*promises, *named):
                if isinstance(promise, maker.requirements):
                    yield Candidate(maker, promise, utility=utility, limit=limit)


OFFERED_FOR_GROUPS = (DEFAULT_MAKER, "coat", "pcta", "aa")
MERGED = ("none", "rt-merge bound=0.3")


def mixed_proposals(study: Study, data: MixedTable) -> Proposals:
    """Return the possible candidates: families of the study's own candidates first."""
    dial = size_dial("k", data.records)
    own = [one for one in study.candidates if not one.anonymizer.baseline]
    offered = [*own, *_offered_for_groups(study, own)]
    families = [Family(one, dial, (0,)) for one in offered] if dial is not None else []
    return Proposals(ends_of(study), tuple({family.key: family for family in families}.values()))


def _offered_for_groups(study: Study, own: list[Candidate]) -> Iterator[Candidate]:
    """List an example of each maker of items, with the requirements and limits of the study."""
    usual = item_requirements.MixedRequirement(item_requirements.KKMAnonymity(2, study.scales.known))
    for one in own[:1] or ends_of(study)[:1]:
        wanted = one.requirement if own else usual
        for maker in map(candidate_maker, OFFERED_FOR_GROUPS):
            if one.utility is not None and not maker.keeps_utility_constraints:
                continue
            for method in map(merging, MERGED):
                if own or isinstance(method, NoMerging):
                    yield replace(one, item_anonymizer=maker, merging=method, requirement=wanted)
