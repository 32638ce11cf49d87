"""Ready-made studies: bundled ones, first ones of items, and `sfumato explore STUDY --preset everything`, or `dewri`.

A preset keeps the table, its hierarchies and the scales of a study, and takes the place of its candidates and axes.
What a table cannot bear (a differentially private maker of undeclared domains) stands on the map as a point that says
why; what is about sensitive values is left out where there are none. Makers that serve one sensitive attribute are
asked to serve each in turn; those that count the values of one alone are left out where there are several, and that is
said. `dewri` searches all cuts of the columns for a problem of Dewri et al. 2011; the rest is as in `[search]`.

The candidates and scales of a first map: what a table can bear, in about a minute on two cores.

Everything usual is wanted first. What a table cannot satisfy is left out by its records, and by how many values its
sensitive columns have and how unevenly; then, as long as the map would take too long, one thing after the other
is, in the order in which a first look misses it least. Every omission is told in a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any

from sfumato.anonymizers import anonymizer
from sfumato.anonymizers.items import DEFAULT_MAKER, PAPER, TREE_MAKER, candidate_maker
from sfumato.anonymizers.items.items_of_groups import NoMerging, merging
from sfumato.config.documents import bundled_facts
from sfumato.config.options import check_choice
from sfumato.data.cells import Cells
from sfumato.data.declaration import BOTH, ITEMS, BasketsDeclaration, DataDeclaration, TableDeclaration
from sfumato.data.guessing import Guess
from sfumato.data.hierarchies.automatic import STRUCTURES
from sfumato.data.items import Baskets
from sfumato.measures.items.queries import ItemQueries, fitting_queries
from sfumato.measures.queries import Queries
from sfumato.measures.reconstruction import UniformReader
from sfumato.measures.scales import BasketScales, MixedScales, Scales
from sfumato.release.release import FORMS
from sfumato.requirements.items import SuppressionLimit, UtilityConstraints, basket_requirement, mixed_requirement
from sfumato.requirements.requirement import All, Requirement, requirement
from sfumato.texts.catalogue import t
from sfumato.tradeoff.exploration.effort import Effort, Load, populations_about
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import Grid, ends
from sfumato.tradeoff.study.search_plan import CUTS, SearchPlan
from sfumato.tradeoff.study.study import Study

SERVE_ONE = frozenset(("exchange", "anatomy", "sabre", "burel"))
"""Makers whose requirement is about one sensitive attribute."""

COUNT_ONE = frozenset(("dp-privtree", "dp-grid", "dp-kd-tree"))
"""Makers of tables with one sensitive attribute."""


EVERYTHING = "everything"
"""The preset that is a table of candidates, on the worst attack and the error of all pairs of columns."""

DEWRI, PROBLEM = "dewri", "problem-2 eta=0.1 minimize=loss"
"""The preset that is a search, and what it looks for where neither it nor the study says it."""

LONGEST = 80
"""Letters of a problem in the name of a study."""


def with_preset(study: Study, name: str) -> Study:
    """Return the study of the same table and scales with the candidates and axes of a preset."""
    first, _, problem = name.partition(" ")
    if first == DEWRI:
        return searching_cuts(study, problem.strip())
    check_choice("preset", name, [EVERYTHING, DEWRI])
    sensitive, grids = study.table.roles.sensitive, []
    for grid in _everything():
        makers = tuple(maker for maker in grid.anonymizers if not _left_out(maker.name, sensitive))
        serve_one = any(maker.name in SERVE_ONE for maker in makers)
        asked = [one for one in grid.requirements if sensitive or not one.about_sensitive]
        wanted = tuple(each for one in asked for each in _asked(one, sensitive, serve_one))
        if makers and wanted and (sensitive or grid.forms == ("generalization",)):
            grids.append(replace(grid, anonymizers=makers, requirements=wanted))
    axes = tuple(bundled_presets()[name]["axes"])
    return replace(study, name=f"{study.name}-{name}", grids=tuple(grids), axes=axes, search=None)


def bundled_presets() -> Mapping[str, Any]:
    """Return the candidates that come with the package."""
    return bundled_facts("presets", "tradeoff/study")


def _everything() -> list[Grid]:
    return [Grid.read(block, Path()) for block in bundled_presets()[EVERYTHING]["candidates"]]


def searching_cuts(study: Study, problem: str = "") -> Study:
    """Return the study of the same table and scales that searches all cuts of the columns for a problem.

    The ends of the map are its only candidates. How it searches is what the study says in `[search]`.
    """
    from sfumato.tradeoff.search.problems import problem as read_problem  # problems are about candidates

    plan = study.search or SearchPlan()
    wanted = read_problem(problem or plan.problem or PROBLEM)
    ending = "" if str(wanted) == PROBLEM else "-" + re.sub(r"[^A-Za-z0-9._]+", "-", str(wanted)).strip("-")
    if len(ending) > LONGEST:
        ending = f"{ending[:LONGEST]}-{sha256(str(wanted).encode()).hexdigest()[:6]}"
    plan = replace(plan, makers=(CUTS,), problem=str(wanted))
    return replace(study, name=f"{study.name}-{DEWRI}{ending}", grids=ends(), axes=wanted.axes, search=plan)


def left_out(study: Study, name: str) -> str:
    """Say which makers of a preset are not for the table of a study, and why; nothing where all are."""
    sensitive, grids = study.table.roles.sensitive, _everything() if name == EVERYTHING else ()
    makers = [maker.name for grid in grids for maker in grid.anonymizers]
    if not (lacking := [maker for maker in dict.fromkeys(makers) if _left_out(maker, sensitive)]):
        return ""
    return t("refusal.preset", lacking=lacking, number=len(sensitive), sensitive=sensitive)


def _left_out(maker: str, sensitive: Sequence[str]) -> bool:
    return maker in COUNT_ONE and len(sensitive) > 1


def _asked(wanted: Requirement, sensitive: Sequence[str], serve_one: bool) -> list[Requirement]:
    """Ask something of all sensitive attributes at once, or of each in turn."""
    if serve_one and wanted.about_sensitive and len(sensitive) > 1:
        alike: Any = wanted
        return [replace(alike, on=name) for name in sensitive]
    return [of_each(wanted, sensitive)]


def of_each(wanted: Requirement, sensitive: Sequence[str]) -> Requirement:
    """Ask the same of every sensitive attribute, where there are several."""
    if not wanted.about_sensitive or len(sensitive) < 2:
        return wanted
    alike: Any = wanted
    return All(tuple(replace(alike, on=name) for name in sensitive))


# -- studies of bundled data, and first studies of items ---------------------------------------------------


LI_LI_2009 = {
    "k-anonymity k={}": (10, 50, 100, 200, 500, 1000, 2000, 5000),
    "l-diversity l={} variant=frequency": (3, 3.5, 4, 4.25, 4.5, 4.75, 5, 5.5),
    "t-closeness t={} distance=js": (0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4),
    "delta-disclosure delta={} absent=ignore": (1, 1.2, 1.4, 1.5, 1.7, 1.9, 2, 2.1),
}
"""The requirements and parameters of Li & Li 2009, figure 2."""

LOUKIDES_2012 = (2, 3, 5, 7, 10, 15, 25, 50, 75, 100)
"""Values of k between those of Loukides et al. 2012, figures 6 and 7."""

USUAL_KS = (2, 3, 5, 10, 20, 50)
ALLOWED = SuppressionLimit(0.05, "occurrences")
"""What a first study allows to suppress."""


def bundled_study(name: str) -> Study:
    """Return figure 2 of Li & Li 2009 on a bundled table: 64 releases, both trivial ones and the original."""
    texts = [text.format(value) for text, values in LI_LI_2009.items() for value in values]
    makers = tuple(anonymizer(text) for text in ("without-quasi", "without-sensitive", "original"))
    strict = Grid((anonymizer("mondrian ranges=tight"),), tuple(map(requirement, texts)), FORMS)
    return Study(name, DataDeclaration(TableDeclaration(name)), (strict, Grid(makers)))


def usual_baskets(
    name: str,
    declared: BasketsDeclaration,
    ks: Iterable[int] = LOUKIDES_2012,
    m: int = 2,
    queries: ItemQueries | None = None,
) -> Study:
    """Return the R-U maps of Loukides et al. 2012: AA, COAT and PCTA for k^m-anonymity, with both ends of the map."""
    asked = tuple(basket_requirement(f"km-anonymity k={k} m={m}") for k in ks)
    grids = (Grid(tuple(map(candidate_maker, PAPER)), asked), *ends(ITEMS))
    return Study(name, DataDeclaration(items=declared), grids, BasketScales(known=m, queries=queries or ItemQueries()))


def first_baskets(name: str, declared: BasketsDeclaration, baskets: Baskets, ks: Iterable[int], m: int = 2) -> Study:
    """Return a first study of baskets: the usual one with the default anonymizer and a suppression limit.

    With a tree of items the default anonymizer also prices sets by the tree, and generalizes within its largest nodes.
    """
    usual = usual_baskets(name, declared, ks, m, fitting_queries(baskets))
    best, (paper, *others) = candidate_maker(DEFAULT_MAKER), usual.grids
    by_tree = () if baskets.tree is None else (candidate_maker(TREE_MAKER),)
    grids = [replace(paper, anonymizers=(best, *by_tree, *paper.anonymizers), limits=(ALLOWED,))]
    if baskets.tree is not None and baskets.tree.height > 1:
        within = UtilityConstraints(level=baskets.tree.height - 1)
        grids.append(Grid((best,), paper.requirements, utility=(within,), limits=(ALLOWED,)))
    return replace(usual, grids=(*grids, *others))


def first_with_items(name: str, declared: DataDeclaration, ks: Iterable[int], m: int = 2) -> Study:
    """Return a first study: two makers of items over some k, merged or not, both kinds of sets, ends of the map.

    Items are also published without quasi-identifiers: then sets of items have the whole table to themselves.
    """
    assert declared.items is not None
    asked = tuple(mixed_requirement(f"k-km-anonymity k={k} m={m}") for k in ks)
    makers = tuple(map(candidate_maker, (DEFAULT_MAKER if declared.items.tree is None else TREE_MAKER, "aa")))
    usual = Grid(requirements=asked, item_anonymizers=makers, limits=(ALLOWED,))
    grids = (
        replace(usual, merging=(NoMerging(), merging("rt-merge bound=0.3"))),
        replace(usual, limits=(replace(ALLOWED, share=0.6),), sets=("common",)),  # they leave out what has no company
        replace(usual, anonymizers=(anonymizer("without-quasi"),), item_anonymizers=makers[:1]),
    )
    return Study(name, declared, (*grids, *ends(BOTH)), MixedScales(known=m))


SIZES = (5, 10, 20, 50, 100)
"""The group sizes that are tried, as far as the table has several groups of them."""

FEWER_SIZES = (5, 20, 100)
DIVERSE = (2, 3, 5)
CLOSE = (0.5, 0.3, 0.2)
FEWEST_GROUPS = 4
"""A requirement is tried where at least so many groups could satisfy it."""

FEWEST_IN_A_POPULATION = 20
MOST_POPULATIONS = 2_000
SUPPORTS = (0.05, 0.1, 0.2, 0.3, 0.5)
MANY_TRANSFORMATIONS = 50_000
"""Above so many transformations full-domain searches for a limited time instead of to the end."""

MEMORY_FOR_QUERIES = 200_000_000
"""Bytes that the selections of the random queries may take."""

FEWEST_QUERIES = 100
CORES = 2
FIRST_MAP_LONGEST = 60.0
"""Seconds that a first map may take on so many cores: as an estimate, which the machine may need twice."""

MOST_GIGABYTES = 4.0
SEARCHING = "full-domain search=best-first seconds=2"
ENDS = ("without-quasi", "original")


@dataclass(frozen=True)
class FirstMap:
    """The candidates of a first study, the scales they are measured on, what that takes, and what was left out."""

    requirements: tuple[str, ...]
    anonymizers: tuple[str, ...]
    scales: Scales
    suppress: tuple[float, ...] = (0.0, 0.05)
    ends: tuple[str, ...] = ENDS
    """Who makes the ends of the map."""

    effort: Effort | None = None
    """None where the table could not be looked at as a whole."""

    left_out: tuple[str, ...] = ()
    """What a table could not bear, a sentence for each."""

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates."""
        makers, wanted = map(anonymizer, self.anonymizers), map(requirement, self.requirements)
        ends = Grid(tuple(map(anonymizer, self.ends)))
        return [*Grid(tuple(makers), tuple(wanted), suppress=self.suppress).candidates, *ends.candidates]

    def timed(self, cells: Cells) -> FirstMap:
        """Estimate what it takes."""
        return replace(self, effort=Load.of(cells, self.scales).effort(self.candidates, CORES))


def first_map(records: int, quasi: Sequence[Guess], sensitive: Sequence[Guess], cells: Cells | None) -> FirstMap:
    """Choose the candidates and scales for a table; without its cells, by the guesses about its columns alone."""
    records = records if cells is None or cells.persons is None else cells.persons.number
    wanted = Requirements(records, tuple(sensitive))
    scales = Scales(_min_support(records, len(quasi), cells), _queries(quasi))
    usual = FirstMap(tuple(wanted.all(SIZES)), ("mondrian", full_domain(quasi)), scales, left_out=tuple(wanted.told()))
    if cells is None:
        return usual
    plan = usual.timed(cells)
    if plan.effort is not None and plan.effort.gigabytes > MOST_GIGABYTES:
        left_out = (
            *plan.left_out,
            "the table as it is, at one end of the map, for it takes too much memory to be read",
        )
        plan = replace(plan, ends=ENDS[:1], left_out=left_out).timed(cells)
    for thinner in _thinner(plan, wanted):
        if plan.effort is None or plan.effort.seconds <= FIRST_MAP_LONGEST:
            break
        plan = replace(thinner, left_out=(*plan.left_out, *thinner.left_out)).timed(cells)
    return plan


def _thinner(plan: FirstMap, wanted: Requirements) -> Iterator[FirstMap]:
    """Yield ever thinner maps, each with what it leaves out of the one before."""
    scales = replace(plan.scales, queries=replace(plan.scales.queries, number=FEWEST_QUERIES))
    if scales != plan.scales:
        plan = replace(plan, scales=scales, left_out=(f"all but {FEWEST_QUERIES} of the random queries",))
        yield plan
    plan = replace(
        plan,
        scales=replace(plan.scales, reader=UniformReader()),
        left_out=("the reader that learns across groups (u_loss_em, query_error_em, the deFinetti attack)",),
    )
    yield plan
    fewer = wanted.all(FEWER_SIZES, DIVERSE[:2], CLOSE[1:2])
    plan = replace(plan, requirements=tuple(fewer), left_out=("some of the sizes of groups, and of l and t",))
    yield plan
    plan = replace(plan, suppress=(0.05,), left_out=("releases that leave out no record",))
    yield plan
    sizes = tuple(wanted.all(FEWER_SIZES[1:], (), ()))
    plan = replace(plan, requirements=sizes, left_out=("all requirements but two sizes of groups",))
    yield plan
    yield replace(plan, anonymizers=("mondrian",), left_out=("full-domain recoding",))


@dataclass(frozen=True)
class Requirements:
    """The usual requirements, as far as a table could satisfy them."""

    records: int
    """Of the table, or its persons where persons are counted."""

    sensitive: tuple[Guess, ...]

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

    @property
    def most_diverse(self) -> float:
        """The largest l of which several groups can have so many values: each needs l - 1 records of the rarer ones."""
        rarer = min((self.records * (1 - each.commonest) for each in self.sensitive), default=0.0)
        return 1 + rarer / FEWEST_GROUPS

    def told(self) -> Iterator[str]:
        """Say what was left out, and why."""
        lacking = [str(number) for number in DIVERSE if self.sensitive and number > self.most_diverse]
        if lacking:
            most = max(self.sensitive, key=lambda each: each.commonest)
            yield (t("refusal.too_diverse", lacking=", ".join(lacking), most=most, fewest_groups=FEWEST_GROUPS))

    def _joined(self, size: int, parts: Sequence[str]) -> str:
        """Join what is required of every sensitive column, naming the columns where there are several."""
        named = [
            f'{part} on="{each.column.replace(chr(34), chr(34) * 2)}"'
            for part, each in zip(parts, self.sensitive, strict=True)
        ]
        return " & ".join([f"k-anonymity k={size}", *(named if len(self.sensitive) > 1 else parts)])


def full_domain(quasi: Sequence[Guess]) -> str:
    """Search the lattice to the end where it is small enough."""
    return "full-domain" if prod(map(_height, quasi)) <= MANY_TRANSFORMATIONS else SEARCHING


def _min_support(records: int, width: int, cells: Cells | None) -> float:
    """Choose a share of the records of which there are not too many large populations, nor such of a few records."""
    least = round(FEWEST_IN_A_POPULATION / max(records, 1), 3)
    shares = [share for share in SUPPORTS if share >= least] or [min(1.0, least)]
    if cells is None:
        return shares[min(len(shares) - 1, 0 if width <= 5 else 1 if width <= 7 else 2)]
    chosen = shares[-1]
    for share in reversed(shares[:-1]):  # there are ever more of them
        if populations_about(cells, share) > MOST_POPULATIONS:
            break
        chosen = share
    return chosen


def _queries(quasi: Sequence[Guess]) -> Queries:
    """Ask as many random queries as usual, or fewer where a domain is so large that they would fill the memory."""
    widest = max(map(_leaves, quasi), default=1)
    usual = Queries()
    affordable = MEMORY_FOR_QUERIES // (8 * usual.dimensions * widest)
    return replace(usual, number=max(FEWEST_QUERIES, min(usual.number, affordable // 100 * 100)))


def _height(guess_: Guess) -> int:
    """The number of levels that full-domain can choose from."""
    entry = guess_.hierarchy or {}
    listed = next((entry[key] for key in ("intervals", "cuts", "levels", "keep") if key in entry), ())
    if entry.get("type") in STRUCTURES:
        return 4
    return 2 + (1 if "groups" in entry else len(listed))  # type: ignore[arg-type]


def _leaves(guess_: Guess) -> int:
    """The number of leaves of a hierarchy, about."""
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
