"""Ready-made studies: bundled ones, first ones of items, and `sfumato explore STUDY --preset everything`, or `dewri`.

A preset keeps the table, hierarchies and scales of a study, and replaces its candidates and axes. A failing candidate
(such as a differentially private maker of undeclared domains) is on the map as a point with the reason. Without
sensitive columns, candidates about sensitive values are omitted. With several, makers for one sensitive column run once
for each, and makers that count one column are omitted with a notice. `dewri` searches all cuts of the columns for a
problem of Dewri et al. 2011; the rest is as in `[search]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.anonymizers import anonymizer
from sfumato.anonymizers.items import DEFAULT_MAKER, PAPER, TREE_MAKER, candidate_maker
from sfumato.anonymizers.items.items_of_groups import NoMerging, merging
from sfumato.config.documents import bundled_facts
from sfumato.config.options import check_choice
from sfumato.data.bundled import find
from sfumato.data.declaration import BOTH, ITEMS, BasketsDeclaration, DataDeclaration, TableDeclaration
from sfumato.data.items import Baskets
from sfumato.data.reading import Roles
from sfumato.measures.items.queries import ItemQueries, fitting_queries
from sfumato.measures.scales import BasketScales, MixedScales
from sfumato.release.release import FORMS
from sfumato.requirements.items import SuppressionLimit, UtilityConstraints, basket_requirement, mixed_requirement
from sfumato.requirements.requirement import All, Requirement, requirement
from sfumato.texts.catalogue import t
from sfumato.tradeoff.question.recipients import RECIPIENTS
from sfumato.tradeoff.study.grids import Grid, ends
from sfumato.tradeoff.study.search_plan import CUTS, SearchPlan
from sfumato.tradeoff.study.study import Study

SERVE_ONE = frozenset(("exchange", "anatomy", "sabre", "burel"))
"""Makers whose requirement is about one sensitive attribute."""

COUNT_ONE = frozenset(("dp-privtree", "dp-grid", "dp-kd-tree"))
"""Makers of tables with one sensitive attribute."""

CONTRIBUTION = 5
"""With a person column: the most records of one person that a noisy maker of a preset counts. It is the same for every
table, since the number must not depend on the records."""

EVERYTHING = "everything"
"""The preset of all makers, drawn on the worst attack and the error of all pairs of columns."""

DEWRI, PROBLEM = "dewri", "problem-2 eta=0.1 minimize=loss"
"""The preset that searches cuts, and its default problem."""

LONGEST = 80
"""The longest problem in the name of a study."""


def with_preset(study: Study, name: str) -> Study:
    """Return the study of the same table and scales with the candidates and axes of a preset."""
    first, _, problem = name.partition(" ")
    if first == DEWRI:
        return searching_cuts(study, problem.strip())
    check_choice("preset", name, [EVERYTHING, DEWRI])
    sensitive, grids = study.table.roles.sensitive, []
    for grid in _everything():
        makers = tuple(
            bounding_contribution(maker, study.table.roles)
            for maker in grid.anonymizers
            if not _left_out(maker.name, sensitive)
        )
        serve_one = any(maker.name in SERVE_ONE for maker in makers)
        asked = [one for one in grid.requirements if sensitive or not one.about_sensitive]
        wanted = tuple(each for one in asked for each in _asked(one, sensitive, serve_one))
        if makers and wanted and (sensitive or grid.forms == ("generalization",)):
            grids.append(replace(grid, anonymizers=makers, requirements=wanted))
    axes = tuple(bundled_presets()[name]["axes"])
    return replace(study, name=f"{study.name}-{name}", grids=tuple(grids), axes=axes, search=None)


def bundled_presets() -> Mapping[str, Any]:
    """Return the bundled candidates."""
    return bundled_facts("presets", "tradeoff/study")


def _everything() -> list[Grid]:
    return [Grid.read(block, Path()) for block in bundled_presets()[EVERYTHING]["candidates"]]


def searching_cuts(study: Study, problem: str = "") -> Study:
    """Return the study of the same table and scales that searches all cuts of the columns for a problem.

    The ends of the map are its only candidates. `[search]` of the study configures the search.
    """
    from sfumato.tradeoff.search.problems import problem as read_problem  # problems import candidates

    plan = study.search or SearchPlan()
    wanted = read_problem(problem or plan.problem or PROBLEM)
    ending = "" if str(wanted) == PROBLEM else "-" + re.sub(r"[^A-Za-z0-9._]+", "-", str(wanted)).strip("-")
    if len(ending) > LONGEST:
        ending = f"{ending[:LONGEST]}-{sha256(str(wanted).encode()).hexdigest()[:6]}"
    plan = replace(plan, makers=(CUTS,), problem=str(wanted))
    return replace(study, name=f"{study.name}-{DEWRI}{ending}", grids=ends(), axes=wanted.axes, search=plan)


def bounding_contribution(maker: Any, roles: Roles) -> Any:
    """Return a maker that counts a bounded number of records of each person, if there is a person column and noise."""
    return replace(maker, contribution=CONTRIBUTION) if roles.person is not None and maker.noisy else maker


def preset_notices(study: Study, name: str) -> list[str]:
    """Return sentences about the makers of a preset that do not support the table of a study as they are."""
    sensitive, grids = study.table.roles.sensitive, _everything() if name == EVERYTHING else ()
    makers = [maker for grid in grids for maker in grid.anonymizers]
    lacking = list(dict.fromkeys(maker.name for maker in makers if _left_out(maker.name, sensitive)))
    notices = [t("refusal.preset", lacking=lacking, number=len(sensitive), sensitive=sensitive)] if lacking else []
    if study.table.roles.person is not None and any(maker.noisy for maker in makers):
        notices.append(t("refusal.preset_contribution", contribution=CONTRIBUTION))
    return notices


def _left_out(maker: str, sensitive: Sequence[str]) -> bool:
    return maker in COUNT_ONE and len(sensitive) > 1


def _asked(wanted: Requirement, sensitive: Sequence[str], serve_one: bool) -> list[Requirement]:
    """Return a requirement for all sensitive attributes at once, or for each in turn."""
    if serve_one and wanted.about_sensitive and len(sensitive) > 1:
        alike: Any = wanted
        return [replace(alike, on=name) for name in sensitive]
    return [of_each(wanted, sensitive)]


def of_each(wanted: Requirement, sensitive: Sequence[str]) -> Requirement:
    """Return a requirement for every sensitive attribute, if there are several."""
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
"""The suppression limit of a first study."""


def bundled_study(name: str) -> Study:
    """Return figure 2 of Li & Li 2009 on a bundled table, with what recipients require, and the ends of the map."""
    texts = [text.format(value) for text, values in LI_LI_2009.items() for value in values]
    makers = tuple(anonymizer(text) for text in ("without-quasi", "without-sensitive", "original"))
    strict = Grid((anonymizer("mondrian ranges=tight"),), tuple(map(requirement, texts)), FORMS)
    fit = tuple(requirement(each.requirement(find(name).sensitive)) for each in RECIPIENTS.values())
    grids = (strict, Grid(makers), Grid((anonymizer("mondrian"),), fit))
    return Study(name, DataDeclaration(TableDeclaration(name)), grids)


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

    With a tree of items the default anonymizer also uses the tree for its costs, and generalizes within its largest
    nodes.
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

    Items are also published without quasi-identifiers, so that the whole table is one group for sets of items.
    """
    assert declared.items is not None
    asked = tuple(mixed_requirement(f"k-km-anonymity k={k} m={m}") for k in ks)
    makers = tuple(map(candidate_maker, (DEFAULT_MAKER if declared.items.tree is None else TREE_MAKER, "aa")))
    usual = Grid(requirements=asked, item_anonymizers=makers, limits=(ALLOWED,))
    grids = (
        replace(usual, merging=(NoMerging(), merging("rt-merge bound=0.3"))),
        replace(usual, limits=(replace(ALLOWED, share=0.6),), sets=("common",)),  # suppresses items of small support
        replace(usual, anonymizers=(anonymizer("without-quasi"),), item_anonymizers=makers[:1]),
    )
    return Study(name, declared, (*grids, *ends(BOTH)), MixedScales(known=m))
