"""The candidates and scales of a first map: feasible ones, for about a minute on two cores.

All usual candidates are included first. Then infeasible ones are removed, by the number of records and the values of
sensitive columns. While the map would take too long, further parts are removed, the least important first. Each
removal is reported in a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from sfumato.anonymizers import anonymizer
from sfumato.data.cells import Cells
from sfumato.data.guessing import Guess
from sfumato.data.hierarchies.automatic import STRUCTURES
from sfumato.measures.queries import Queries
from sfumato.measures.reconstruction import UniformReader
from sfumato.measures.scales import Scales
from sfumato.requirements.requirement import requirement
from sfumato.texts.catalogue import t
from sfumato.tradeoff.exploration.effort import Effort, Load, populations_about
from sfumato.tradeoff.question.recipients import RECIPIENTS
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import Grid

SIZES = (5, 10, 20, 50, 100)
"""The group sizes, if the table has several groups of them."""

FEWER_SIZES = (5, 20, 100)
DIVERSE = (2, 3, 5)
CLOSE = (0.5, 0.3, 0.2)
FEWEST_GROUPS = 4
"""The fewest possible groups of a requirement that is tried."""

FEWEST_IN_A_POPULATION = 20
MOST_POPULATIONS = 2_000
SUPPORTS = (0.05, 0.1, 0.2, 0.3, 0.5)
MANY_TRANSFORMATIONS = 50_000
"""The largest lattice that full-domain searches without a time limit."""

MEMORY_FOR_QUERIES = 200_000_000
"""The memory in bytes for the selections of the random queries."""

FEWEST_QUERIES = 100
CORES = 2
FIRST_MAP_LONGEST = 60.0
"""The estimated seconds of a first map; a slow machine may need twice as long."""

MOST_GIGABYTES = 4.0
SEARCHING = "full-domain search=best-first seconds=2"
ENDS = ("without-quasi", "original")


@dataclass(frozen=True)
class FirstMap:
    """The candidates of a first study with their scales, cost and omissions."""

    requirements: tuple[str, ...]
    anonymizers: tuple[str, ...]
    scales: Scales
    suppress: tuple[float, ...] = (0.0, 0.05)
    ends: tuple[str, ...] = ENDS
    """The makers of the ends of the map."""

    effort: Effort | None = None
    """None if the whole table could not be read."""

    left_out: tuple[str, ...] = ()
    """The omissions, a sentence for each."""

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates."""
        makers, wanted = map(anonymizer, self.anonymizers), map(requirement, self.requirements)
        ends = Grid(tuple(map(anonymizer, self.ends)))
        return [*Grid(tuple(makers), tuple(wanted), suppress=self.suppress).candidates, *ends.candidates]

    def timed(self, cells: Cells) -> FirstMap:
        """Return the plan with an estimate of its cost."""
        return replace(self, effort=Load.of(cells, self.scales).effort(self.candidates, CORES))


def first_map(records: int, quasi: Sequence[Guess], sensitive: Sequence[Guess], cells: Cells | None) -> FirstMap:
    """Choose the candidates and scales for a table; without its cells, only by the guesses about its columns."""
    records = records if cells is None or cells.persons is None else cells.persons.number
    wanted = Requirements(records, tuple(sensitive), cells is not None and cells.persons is not None)
    scales = Scales(_min_support(records, len(quasi), cells), _queries(quasi))
    usual = FirstMap(
        wanted.with_fit(wanted.all(SIZES)), ("mondrian", full_domain(quasi)), scales, left_out=tuple(wanted.explained())
    )
    if cells is None:
        return usual
    plan = usual.timed(cells)
    if plan.effort is not None and plan.effort.gigabytes > MOST_GIGABYTES:
        left_out = (
            *plan.left_out,
            "the original at one end of the map, because reading it takes too much memory",
        )
        plan = replace(plan, ends=ENDS[:1], left_out=left_out).timed(cells)
    for thinner in _thinner(plan, wanted):
        if plan.effort is None or plan.effort.seconds <= FIRST_MAP_LONGEST:
            break
        plan = replace(thinner, left_out=(*plan.left_out, *thinner.left_out)).timed(cells)
    return plan


def _thinner(plan: FirstMap, wanted: Requirements) -> Iterator[FirstMap]:
    """Yield ever smaller plans, each with its omissions from the one before."""
    scales = replace(plan.scales, queries=replace(plan.scales.queries, number=FEWEST_QUERIES))
    if scales != plan.scales:
        plan = replace(plan, scales=scales, left_out=(f"all but {FEWEST_QUERIES} of the random queries",))
        yield plan
    plan = replace(
        plan,
        scales=replace(plan.scales, reader=UniformReader()),
        left_out=("the estimator that learns across groups (u_loss_em, query_error_em, the deFinetti attack)",),
    )
    yield plan
    fewer = wanted.all(FEWER_SIZES, DIVERSE[:2], CLOSE[1:2])
    plan = replace(plan, requirements=wanted.with_fit(fewer), left_out=("some group sizes, l and t",))
    yield plan
    plan = replace(plan, suppress=(0.05,), left_out=("releases without suppression",))
    yield plan
    sizes = wanted.with_fit(wanted.all(FEWER_SIZES[1:], (), ()))
    plan = replace(plan, requirements=sizes, left_out=("all requirements but two group sizes and those of recipients",))
    yield plan
    yield replace(plan, anonymizers=("mondrian",), left_out=("full-domain recoding",))


@dataclass(frozen=True)
class Requirements:
    """The usual requirements that a table can satisfy."""

    records: int
    """The number of records, or of persons if these are counted."""

    sensitive: tuple[Guess, ...]
    persons: bool = False

    def all(self, sizes: Sequence[int], diverse: Sequence[int] = DIVERSE, close: Sequence[float] = CLOSE) -> list[str]:
        """List them as texts."""
        fitting = [k for k in sizes if k <= self.records / FEWEST_GROUPS] or [2]
        texts = [f"k-anonymity k={k}" for k in fitting]
        if self.sensitive:
            least = min(fitting)
            numbers = [number for number in diverse if number <= self.most_diverse]
            texts += [self._joined(least, [_diverse(each, number) for each in self.sensitive]) for number in numbers]
            texts += [self._joined(least, [_close(each, t) for each in self.sensitive]) for t in close]
        return list(dict.fromkeys(texts))

    def with_fit(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Put what recipients require before other requirements, so that a map has a release for each of them."""
        careful = self.fit_for(["public", "partner"])
        return tuple(dict.fromkeys([*(careful or self.fit_for(["internal"])), *texts]))

    def fit_for(self, recipients: Iterable[str]) -> list[str]:
        """List what recipients require, if the table can satisfy it."""
        commonest = max((each.commonest for each in self.sensitive), default=0.0)
        able = [
            own
            for own in map(RECIPIENTS.__getitem__, recipients)
            if self.records >= own.bounds[0].value * FEWEST_GROUPS
            and all(
                commonest <= 1 / bound.value if bound.measure == "l_frequency" else self.most_diverse >= bound.value
                for bound in own.bounds
                if bound.measure.startswith("l_")
            )
        ]
        return [own.requirement([each.column for each in self.sensitive], self.persons) for own in able]

    @property
    def most_diverse(self) -> float:
        """The largest l that several groups can have: each needs l - 1 records of the rarer values."""
        rarer = min((self.records * (1 - each.commonest) for each in self.sensitive), default=0.0)
        return 1 + rarer / FEWEST_GROUPS

    def explained(self) -> Iterator[str]:
        """Yield sentences about omissions with their reasons."""
        lacking = [str(number) for number in DIVERSE if self.sensitive and number > self.most_diverse]
        if lacking:
            most = max(self.sensitive, key=lambda each: each.commonest)
            yield (t("refusal.too_diverse", lacking=", ".join(lacking), most=most, fewest_groups=FEWEST_GROUPS))

    def _joined(self, size: int, parts: Sequence[str]) -> str:
        """Join the requirements of each sensitive column, with column names if there are several."""
        named = [
            f'{part} on="{each.column.replace(chr(34), chr(34) * 2)}"'
            for part, each in zip(parts, self.sensitive, strict=True)
        ]
        return " & ".join([f"k-anonymity k={size}", *(named if len(self.sensitive) > 1 else parts)])


def full_domain(quasi: Sequence[Guess]) -> str:
    """Return the full-domain search, with a time limit for a large lattice."""
    return "full-domain" if prod(map(_height, quasi)) <= MANY_TRANSFORMATIONS else SEARCHING


def _min_support(records: int, width: int, cells: Cells | None) -> float:
    """Choose a minimum support with not too many large populations, none of which is of a few records."""
    least = round(FEWEST_IN_A_POPULATION / max(records, 1), 3)
    shares = [share for share in SUPPORTS if share >= least] or [min(1.0, least)]
    if cells is None:
        return shares[min(len(shares) - 1, 0 if width <= 5 else 1 if width <= 7 else 2)]
    chosen = shares[-1]
    for share in reversed(shares[:-1]):  # in increasing number of populations
        if populations_about(cells, share) > MOST_POPULATIONS:
            break
        chosen = share
    return chosen


def _queries(quasi: Sequence[Guess]) -> Queries:
    """Return the usual number of random queries, or fewer if a large domain would fill the memory."""
    widest = max(map(_leaves, quasi), default=1)
    usual = Queries()
    affordable = MEMORY_FOR_QUERIES // (8 * usual.dimensions * widest)
    return replace(usual, number=max(FEWEST_QUERIES, min(usual.number, affordable // 100 * 100)))


def _height(guess_: Guess) -> int:
    """The number of levels for full-domain."""
    entry = guess_.hierarchy or {}
    listed = next((entry[key] for key in ("intervals", "cuts", "levels", "keep") if key in entry), ())
    if entry.get("type") in STRUCTURES:
        return 4
    return 2 + (1 if "groups" in entry else len(listed))  # type: ignore[arg-type]


def _leaves(guess_: Guess) -> int:
    """The approximate number of leaves of a hierarchy."""
    entry = dict(guess_.hierarchy or {})
    if entry.get("type") == "dates":
        return (entry["last"] - entry["first"]).days + 1  # type: ignore[operator, no-any-return]
    if entry.get("type") == "numeric":
        return int((entry["upper"] - entry["lower"]) / entry.get("resolution", 1)) + 1  # type: ignore[operator]
    return guess_.distinct


def _diverse(guess_: Guess, number: int) -> str:
    return f"l-diversity l={min(number, guess_.distinct)} variant=distinct"


def _close(guess_: Guess, t: float) -> str:
    ordered = guess_.hierarchy is not None and guess_.hierarchy["type"] == "numeric"
    return f"t-closeness t={t} distance={'ordered' if ordered else 'equal'}"
