"""Wishes: plain choices that determine candidates, axes and scales of a study.

The recipient determines the group sizes (the bounds of `RECIPIENTS`). The protected facts determine further
requirements. The purpose determines the makers and the measures.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Annotated, Any, Literal, get_args

import tomlkit
from starlette.responses import Response

from sfumato.config.options import Option
from sfumato.data.declaration import DataDeclaration, TableDeclaration
from sfumato.data.guessing import Guess
from sfumato.data.items import Baskets
from sfumato.data.reading import Table
from sfumato.errors import SfumatoError
from sfumato.measures.all_measures import MEASURES
from sfumato.measures.classification.classification import Classification
from sfumato.requirements.requirement import KAnonymity, requirement
from sfumato.texts.catalogue import t
from sfumato.tradeoff._check_items import check_items
from sfumato.tradeoff.catalogue import measure_values
from sfumato.tradeoff.check import problems
from sfumato.tradeoff.question.recipients import RECIPIENTS
from sfumato.tradeoff.search.tuner import read_budget
from sfumato.tradeoff.study import first_map, presets
from sfumato.tradeoff.study.draft import ENOUGH_FOR_POPULATIONS
from sfumato.tradeoff.study.study import Study
from sfumato.workbench.endpoints import Call, endpoint
from sfumato.workbench.errors import FieldError, blamed
from sfumato.workbench.opened_data import all_in_forms, in_forms, of_data, of_table
from sfumato.workbench.projects import Project
from sfumato.workbench.views.options import check_study, put_parts
from sfumato.workbench.views.page import VERSION, changed, data_page

SIZES = {"public": (11, 20, 50, 100), "partner": (5, 10, 20, 50), "internal": (3, 5, 10, 20)}
"""By recipient, the group sizes, from the least allowed one."""

Learned = Literal["identity", "value", "close", "all"]
"""The threats: finding a person, being certain of a value, learning more than the whole table reveals."""

Purpose = Literal["counts", "learning", "records", "everything"]
"""The use of the data: counts and tables, predicting a column, truthful records, all makers compared."""

BASKET_SIZES = {"public": (11, 25, 50), "partner": (5, 10, 25), "internal": (3, 5, 10)}
MOST_KNOWN = 4


@dataclass(frozen=True)
class Wishes:
    """The choices of a user."""

    recipient: Annotated[Literal["public", "partner", "internal"], Option()]
    """The recipient of the release."""

    learned: Annotated[Learned, Option()] = "identity"
    """For tables: what an attacker must not learn."""

    purpose: Annotated[Purpose, Option()] = "counts"
    """For tables: the use of the data."""

    target: Annotated[str, Option(takes="column")] = ""
    """For purpose=learning: the column to predict."""

    known: Annotated[int, Option(least=1, most=MOST_KNOWN)] = 2
    """For baskets: the number of a person's items that an attacker may know."""

    budget: Annotated[str, Option()] = ""
    """The time of a further search, such as 60s or 5m; empty: none."""

    version: Annotated[str | None, VERSION] = None


def parts_for(study: Study, table: Table, wishes: Wishes) -> dict[str, Any]:
    """Return the parts of a study for some wishes: axes, scales and candidates, as in a file."""
    if table.cells.persons is not None:  # other purposes propose makers that count records
        wishes = replace(wishes, purpose="counts")
    if wishes.purpose == "everything":
        content = tomlkit.parse(presets.with_preset(study, "everything").to_toml()).unwrap()
        return {"axes": content["axes"], "scales": {}, "candidates": content["candidates"]}
    wanted = requirements(table, wishes)
    sensitive = bool(table.roles.sensitive)
    persons = table.cells.persons
    lossless = (persons.number if persons else table.cells.records) >= ENOUGH_FOR_POPULATIONS
    risk = "p_loss" if sensitive else "k"
    makers: Sequence[str] = ("mondrian", _full_domain(table))
    axes, scales, more = [risk, "u_loss" if sensitive and lossless else "loss"], {}, []
    if wishes.purpose == "learning":
        axes, scales = [risk, "workload_accuracy"], {"classification": str(Classification(_target(table, wishes)))}
    if wishes.purpose == "records":
        makers, axes = (*makers, "local-recoding"), [risk, "loss"]
        sizes = [text for text in wanted if "&" not in text]
        more = [_block(("local-suppression",), sizes, (0.0,))]
    blocks = [_block(makers, wanted, (0.0, 0.05)), *more, {"anonymizers": list(first_map.ENDS)}]
    return {"axes": axes, "scales": scales, "candidates": blocks}


def requirements(table: Table, wishes: Wishes) -> list[str]:
    """List the requirements that the table can satisfy."""
    persons = table.cells.persons
    counted = persons.number if persons else table.cells.records
    usual = first_map.Requirements(counted, tuple(_as_guessed(table)), persons is not None)
    diverse = first_map.DIVERSE if wishes.learned in ("value", "all") else ()
    close = first_map.CLOSE if wishes.learned in ("close", "all") else ()
    texts = [*usual.fit_for([wishes.recipient]), *usual.all(SIZES[wishes.recipient], diverse, close)]
    texts = list(dict.fromkeys(texts))
    joined = [text for text in texts if "&" in text]
    return joined if joined and wishes.learned in ("value", "close") else texts


def _as_guessed(table: Table) -> list[Guess]:
    """Return the properties of the sensitive columns that requirements depend on."""
    cells = table.cells
    guesses = []
    for place, attribute in enumerate(cells.sensitive):
        counts = cells.baseline.counts[0][cells.spans[place] : cells.spans[place + 1]]
        kind = {"type": "numeric" if attribute.hierarchy.scale == "number" else "flat"}
        share = float(counts.max() / counts.sum())
        guesses.append(Guess(attribute.name, "sensitive", "", "", kind, distinct=len(counts), commonest=share))
    return guesses


def _full_domain(table: Table) -> str:
    """Return full-domain, without a time limit for a small lattice."""
    heights = {each.name: {"type": "tree", "levels": [0] * (each.hierarchy.height - 1)} for each in table.cells.quasi}
    return first_map.full_domain([Guess(name, "quasi", "", "", levels) for name, levels in heights.items()])


def _target(table: Table, wishes: Wishes) -> str:
    learnable = (*table.roles.sensitive, *table.roles.neutral)
    if wishes.target not in learnable:
        raise FieldError("target", t("wishes.no_target"))
    return wishes.target


def _block(makers: Sequence[str], wanted: Sequence[str], suppress: Sequence[float]) -> dict[str, Any]:
    asked = {"anonymizers": list(makers), "requirements": list(wanted)}
    return {**asked, "forms": ["generalization"], "suppress": list(suppress)}


def basket_parts_for(study: Study, baskets: Baskets, wishes: Wishes) -> dict[str, Any]:
    """Return the parts for baskets: the recipient's number of records must match the attacker's knowledge."""
    sizes = [k for k in BASKET_SIZES[wishes.recipient] if k <= baskets.filled] or [1]
    usual = presets.first_baskets(study.name, study.data.sets, baskets, sizes, wishes.known)
    content = tomlkit.parse(replace(usual, scales=replace(study.scales, known=wishes.known)).to_toml()).unwrap()
    return {"axes": list(study.axes), "scales": {"known": wishes.known}, "candidates": content["candidates"]}


def mixed_parts_for(study: Study, table: Table, wishes: Wishes) -> dict[str, Any]:
    """Return the parts for a table with items: groups as for a table, with as many records for known items."""
    asked = [_beside_items(text, table, wishes.known) for text in requirements(table, wishes)]
    sizes = [k for k in SIZES[wishes.recipient] if k <= table.cells.records] or [1]
    content = tomlkit.parse(presets.first_with_items(study.name, study.data, sizes, wishes.known).to_toml()).unwrap()
    of_groups, common, alone, *ends = content["candidates"]  # sets of a group's items, of one tree; items alone
    return {
        "axes": list(study.axes),
        "scales": {"known": wishes.known},
        "candidates": [*({**made, "requirements": asked} for made in (of_groups, common, alone)), *ends],
    }


def _beside_items(text: str, table: Table, known: int) -> str:
    """Return a requirement of a table as one of a table with items; its other parts name their column."""
    size, *others = requirement(text).parts
    assert isinstance(size, KAnonymity)
    others = [part if part.on else replace(part, on=table.roles.sensitive[0]) for part in others]  # type: ignore[type-var]
    return " & ".join([f"k-km-anonymity k={size.k} m={known}", *map(str, others)])


def recipients(baskets: bool) -> list[dict[str, Any]]:
    """List the recipients with their reasons."""
    return [
        {
            "name": each.name,
            "meaning": each.meaning,
            "reasons": [bound.reason for bound in each.bounds if (bound.measure == "itemset_risk") == baskets],
        }
        for each in RECIPIENTS.values()
    ]


# -- automatic candidates ---------------------------------------------------------------------------------------------


USUAL = Wishes("partner", "all", "counts")
"""The default wishes."""

MOST_MADE = 20


def mark_made(project: Project) -> None:
    """Note that the axes and candidates of a study are automatic, so that they follow its columns."""
    project.note(made=[*project.notes().get("made", []), _digest(project)][-MOST_MADE:])


def remade(project: Project, table: TableDeclaration) -> dict[str, Any] | None:
    """Return axes and candidates for changed columns; None if the user has edited them."""
    if _digest(project) not in project.notes().get("made", []):
        return None
    chosen = project.notes().get("wishes")
    try:
        return _parts(project.study, table, Wishes(**chosen) if chosen else USUAL)
    except SfumatoError:  # the next pages report that it cannot be opened
        return None


def _parts(study: Study, declared: TableDeclaration | None, wishes: Wishes) -> dict[str, Any]:
    """Return the parts for wishes and a study with the columns of this table; None: items only."""
    what = f"wishes {wishes}"
    if declared is None:
        return dict(of_data(study.data, what, lambda baskets: basket_parts_for(study, baskets, wishes)))
    if study.data.items is not None:
        return dict(of_table(declared, what, lambda table: mixed_parts_for(study, table, wishes)))
    fitting = replace(study, data=DataDeclaration(declared))
    return dict(of_table(declared, what, lambda table: parts_for(fitting, table, wishes)))


def _digest(project: Project) -> str:
    content = project.document().unwrap()
    parts = {name: content.get(name) for name in ("axes", "candidates")}
    return sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]


BUDGETS = ("", "60s", "5m", "30m")
"""Offered search times; others can be typed."""


@endpoint("GET", "/projects/{project}/wishes")
def wishes(call: Call) -> Response:
    """Show the possible wishes."""

    def content(project: Project) -> dict[str, Any]:
        return {"wishes": shown_wishes(project), "data": {"version": project.version}}

    return data_page("wishes.html", call, "wishes", content)


def shown_wishes(project: Project) -> dict[str, Any]:
    """Return the possible choices, the chosen ones, and the current parts of the study."""
    study: Any = project.study
    table, items = study.data.table, study.data.items is not None
    roles = None if table is None else table.roles
    sensitive = [] if roles is None else list(roles.sensitive)
    plan = study.search
    return {
        "kind": study.section,
        "recipients": recipients(items),
        "learned": list(get_args(Learned)) if sensitive else ["identity"],
        "purposes": [] if items else list(get_args(Purpose)),
        "targets": [] if roles is None else [*roles.sensitive, *roles.neutral],
        "columns": [] if roles is None else [*roles.quasi, *roles.sensitive, *roles.neutral],
        "sensitive": sensitive,
        "quasi": [] if roles is None else list(roles.quasi),
        "budgets": list(BUDGETS),
        "budget": (plan.budget or "") if plan is not None else "",
        "known": study.scales.known if items else None,
        "most_known": MOST_KNOWN,
        "chosen": project.notes().get("wishes"),
        "study": parts_of(project),
        "candidates": len(study.candidates),
        "axes": [measure_values(MEASURES[name]) for name in study.axes],
    }


def parts_of(project: Project) -> dict[str, Any]:
    """Return the parts of the study that wishes change, as in its file."""
    content = project.document().unwrap()
    return {
        "axes": content.get("axes", list(project.study.axes)),
        "scales": content.get("scales", {}),
        "search": content.get("search", {}),
        "candidates": content.get("candidates", []),
    }


@endpoint("GET", "/api/projects/{project}/wishes")
def wishes_values(call: Call) -> dict[str, Any]:
    """Return the possible and the chosen wishes."""
    return {**shown_wishes(call.project), "version": call.project.version}


@endpoint("POST", "/api/projects/{project}/wishes", Wishes)
def wish(call: Call) -> dict[str, Any]:
    """Write wishes into the study: its candidates, axes and scales."""
    project, wanted = call.project, replace(call.body, version=None)
    if wanted.budget:
        with blamed("budget"):
            read_budget(wanted.budget)
    data = project.study.data
    parts = _parts(project.study, None if data.table is None else data.rows, wanted)
    if data.items is None:
        parts["search"] = {"budget": wanted.budget} if wanted.budget else {}

    def edit(document: tomlkit.TOMLDocument) -> None:
        if wanted.purpose != "learning":
            document.get("scales", {}).pop("classification", None)
        put_parts(document, parts, whole_scales=False)
        check_study(project, document)

    answer = changed(project, call.body.version, t("wishes.did"), edit)
    project.note(wishes={name: value for name, value in asdict(wanted).items() if name != "version"})
    mark_made(project)
    return answer


@endpoint("GET", "/api/projects/{project}/estimate")
def estimate(call: Call) -> dict[str, Any]:
    """Return the cost of exploring the study, and its infeasible candidates."""
    project = call.project
    study = project.study
    if study.data.items is not None:
        found = of_data(study.data, f"problems {project.version}", lambda data: check_items(data, study))
        return _estimated(len(study.candidates), [vars(each) for each in found.problems])
    return dict(of_data(study.data, f"estimate {project.version}", lambda table: _estimate(study, table)))


def _estimate(study: Study, table: Table) -> Mapping[str, Any]:
    try:
        lacking = [vars(each) for each in problems(study, table)]
        return _estimated(len(study.candidates_of(table)), lacking)
    except SfumatoError as error:
        return {"candidates": len(study.candidates), "problems": [], "wrong": in_forms(str(error))}


def _estimated(candidates: int, lacking: list[dict[str, Any]]) -> dict[str, Any]:
    return {"candidates": candidates, "problems": all_in_forms(lacking), "wrong": None}
