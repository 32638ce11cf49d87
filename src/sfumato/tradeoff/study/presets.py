"""Ready-made candidates and axes for the table of any study: `sfumato explore STUDY --preset everything`, or `dewri`.

A preset keeps the table, its hierarchies and the scales of a study, and takes the place of its candidates and axes.
What a table cannot bear (a differentially private maker of undeclared domains) stands on the map as a point that says
why; what is about sensitive values is left out where there are none. Makers that serve one sensitive attribute are
asked to serve each in turn; those that count the values of one alone are left out where there are several, and that is
said. `dewri` searches all cuts of the columns for a problem of Dewri et al. 2011; the rest is as in `[search]`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from sfumato.anonymizers import anonymizer
from sfumato.configuration import check_choice
from sfumato.phrases import listed
from sfumato.release import Form
from sfumato.requirements import Requirement, requirement
from sfumato.requirements.requirement import All
from sfumato.tradeoff.study.plan import CUTS, SearchPlan
from sfumato.tradeoff.study.study import NOTHING, Grid, Study, baselines

Row = tuple[Sequence[str], Sequence[str], Sequence[Form], Sequence[float]]
"""Makers, requirements, forms and shares that may be left out."""

RANGES: Sequence[Form] = ("generalization",)
BUCKETS: Sequence[Form] = ("bucketization",)


SERVE_ONE = frozenset(("exchange", "anatomy", "sabre", "burel"))
"""Makers whose requirement is about one sensitive attribute."""

COUNT_ONE = frozenset(("dp-privtree", "dp-grid", "dp-kd-tree"))
"""Makers of tables with one sensitive attribute."""


@dataclass(frozen=True)
class Preset:
    """A set of candidates, and the measures that they are compared on."""

    meaning: str
    axes: tuple[str, str]
    rows: Sequence[Row]


EVERYTHING = Preset(
    "every family of makers, from k-anonymity over perturbation and synthesis to differential privacy, on the worst "
    "attack and the error of all pairs of columns",
    ("attack_worst", "marginal_error_2"),
    (
        (("without-quasi", "without-sensitive", "original"), ("",), RANGES, (0.0,)),
        (("mondrian", "hilbert", "local-recoding"), ("k-anonymity k=5", "k-anonymity k=50"), RANGES, (0.0,)),
        (("full-domain",), ("k-anonymity k=5", "k-anonymity k=50"), RANGES, (0.05,)),
        (("mondrian",), ("t-closeness t=0.2 distance=js", "l-diversity l=3 variant=frequency"), RANGES, (0.0,)),
        (("exchange",), ("t-closeness t=0.1 distance=js",), BUCKETS, (0.0,)),
        (("anatomy",), ("l-diversity l=3 variant=frequency",), BUCKETS, (0.0,)),
        (("sabre",), ("t-closeness t=0.2 distance=equal",), RANGES, (0.0,)),
        (("burel",), ("beta-likeness beta=1 variant=enhanced",), RANGES, (0.0,)),
        (("local-suppression",), ("k-anonymity k=5",), RANGES, (0.0,)),
        (("top-coding share=0.01",), ("",), RANGES, (0.0,)),
        (("microaggregation k=5", "microaggregation k=20"), ("",), RANGES, (0.0,)),
        (("pram keep=0.9", "pram keep=0.6"), ("",), RANGES, (0.0,)),
        (("rank-swapping distance=0.05", "record-swapping share=0.2"), ("",), RANGES, (0.0,)),
        (("noise scale=0.2", "rounding base=5"), ("",), RANGES, (0.0,)),
        (("cart",), ("",), RANGES, (0.0,)),
        (tuple(f"mst epsilon={epsilon}" for epsilon in (0.1, 1, 10)), ("",), RANGES, (0.0,)),
        (("aim epsilon=1 delta=1e-6",), ("",), RANGES, (0.0,)),
        (("dp-privtree epsilon=1", "dp-grid epsilon=1", "dp-kd-tree epsilon=1 height=8"), ("",), RANGES, (0.0,)),
    ),
)
PRESETS = {"everything": EVERYTHING}
DEWRI, PROBLEM = "dewri", "problem-2 eta=0.1 minimize=loss"
"""The preset that is a search, and what it looks for where neither it nor the study says it."""

LONGEST = 80
"""Letters of a problem in the name of a study."""


def with_preset(study: Study, name: str) -> Study:
    """Return the study of the same table and scales with the candidates and axes of a preset."""
    first, _, problem = name.partition(" ")
    if first == DEWRI:
        return searching_cuts(study, problem.strip())
    check_choice("preset", name, [*PRESETS, DEWRI])
    preset, sensitive = PRESETS[name], study.table.roles.sensitive
    grids = []
    for texts, required, forms, suppress in preset.rows:
        makers = tuple(maker for maker in map(anonymizer, texts) if not _left_out(maker.name, sensitive))
        wanted = [NOTHING if text == "" else requirement(text) for text in required]
        wanted = [
            each
            for one in wanted
            if sensitive or not one.about_sensitive
            for each in _asked(one, sensitive, serve_one=any(maker.name in SERVE_ONE for maker in makers))
        ]
        if makers and wanted and (sensitive or forms == RANGES):
            grids.append(Grid(makers, tuple(wanted), tuple(forms), tuple(suppress)))
    return replace(study, name=f"{study.name}-{name}", grids=tuple(grids), axes=preset.axes, search=None)


def searching_cuts(study: Study, problem: str = "") -> Study:
    """Return the study of the same table and scales that searches all cuts of the columns for a problem.

    The ends of the map are its only candidates. How it searches is what the study says in `[search]`.
    """
    from sfumato.tradeoff.search.measured_problem import problem as read_problem  # problems are about candidates

    plan = study.search or SearchPlan()
    wanted = read_problem(problem or plan.problem or PROBLEM)
    ending = "" if str(wanted) == PROBLEM else "-" + re.sub(r"[^A-Za-z0-9._]+", "-", str(wanted)).strip("-")
    if len(ending) > LONGEST:
        ending = f"{ending[:LONGEST]}-{sha256(str(wanted).encode()).hexdigest()[:6]}"
    plan = replace(plan, makers=(CUTS,), problem=str(wanted))
    return replace(study, name=f"{study.name}-{DEWRI}{ending}", grids=(baselines(),), axes=wanted.axes, search=plan)


def left_out(study: Study, name: str) -> str:
    """Say which makers of a preset are not for the table of a study, and why; nothing where all are."""
    sensitive, rows = study.table.roles.sensitive, PRESETS[name].rows if name in PRESETS else ()
    makers = [maker for texts, *_ in rows for maker in (anonymizer(text).name for text in texts)]
    if not (lacking := [maker for maker in dict.fromkeys(makers) if _left_out(maker, sensitive)]):
        return ""
    return (
        f"left out of the preset: {listed(lacking)}, which count the values of one sensitive column, and there are "
        f"{len(sensitive)} ({listed(sensitive)}); mst and aim take any number"
    )


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
