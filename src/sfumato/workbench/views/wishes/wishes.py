"""The page of what matters, and how wishes are written into the study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import tomlkit
from starlette.responses import Response

from sfumato.catalogue import measure_values
from sfumato.configuration import Option
from sfumato.errors import BadInputError, SfumatoError
from sfumato.measures import MEASURES
from sfumato.table import Table
from sfumato.texts.catalogue import t
from sfumato.tradeoff._check_items import check_items
from sfumato.tradeoff.exploration.effort import effort_of
from sfumato.tradeoff.search.tuner import read_budget
from sfumato.tradeoff.study.study import Study
from sfumato.tradeoff.study.validation import problems
from sfumato.workbench.data.opened import of_data, of_table
from sfumato.workbench.data.sentences import all_in_forms, in_forms
from sfumato.workbench.desk import Project
from sfumato.workbench.endpoints import Call, Endpoint
from sfumato.workbench.errors import FieldError
from sfumato.workbench.views.changes import VERSION, changed, data_page
from sfumato.workbench.views.wishes.options import check_study, put_parts
from sfumato.workbench.views.wishes.presets import (
    LEARNED,
    MOST_KNOWN,
    PURPOSES,
    Wishes,
    basket_parts_for,
    mark_made,
    mixed_parts_for,
    parts_for,
    recipients,
)

BUDGETS = ("", "60s", "5m", "30m")
"""Times to search on that are offered; any other can be typed."""


@dataclass(frozen=True)
class Wanted:
    """What matters, in plain choices."""

    recipient: Annotated[Literal["public", "partner", "internal"], Option("For whom the release is made.")]
    learned: Annotated[
        Literal["identity", "value", "close", "all"], Option("What nobody shall be able to learn. Of tables.")
    ] = "identity"
    purpose: Annotated[
        Literal["counts", "learning", "records", "everything"], Option("What the data are for. Of tables.")
    ] = "counts"
    target: Annotated[str, Option("Of purpose=learning: the column that shall be predicted.", takes="column")] = ""
    known: Annotated[int, Option("Of baskets: how many items of a person may be known.", least=1, most=MOST_KNOWN)] = 2
    budget: Annotated[str, Option("How long to search on afterwards, such as 60s or 5m; empty: not at all.")] = ""
    version: Annotated[str | None, VERSION] = None


def wishes(call: Call) -> Response:
    """Show what can be wished for."""
    return data_page("wishes.html", call, "wishes", _content)


def _content(project: Project) -> dict[str, Any]:
    return {"wishes": shown_wishes(project), "data": {"version": project.version}}


def shown_wishes(project: Project) -> dict[str, Any]:
    """Say what can be chosen, what was, and what the study says now."""
    study: Any = project.study
    table, items = study.data.table, study.data.items is not None
    roles = None if table is None else table.roles
    sensitive = [] if roles is None else list(roles.sensitive)
    plan = study.search
    return {
        "kind": study.section,
        "recipients": recipients(items),
        "learned": list(LEARNED) if sensitive else ["identity"],
        "purposes": [] if items else list(PURPOSES),
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
    """Return the parts of the study that wishes are written to, as they stand in its file."""
    content = tomlkit.parse(project.file.read_text(encoding="utf-8")).unwrap()
    return {
        "axes": content.get("axes", list(project.study.axes)),
        "scales": content.get("scales", {}),
        "search": content.get("search", {}),
        "candidates": content.get("candidates", []),
    }


def wishes_values(call: Call) -> dict[str, Any]:
    """Say the same as plain values."""
    return {**shown_wishes(call.project), "version": call.project.version}


def wish(call: Call) -> dict[str, Any]:
    """Write wishes into the study: its candidates, axes and scales."""
    project, wanted = call.project, call.body
    _check_budget(wanted.budget)
    chosen = Wishes(wanted.recipient, wanted.learned, wanted.purpose, wanted.target, wanted.known)
    parts = _parts(project, chosen)
    if project.study.data.items is None:
        parts["search"] = {"budget": wanted.budget} if wanted.budget else {}

    def edit(document: tomlkit.TOMLDocument) -> None:
        if chosen.purpose != "learning":
            document.get("scales", {}).pop("classification", None)
        put_parts(document, parts, whole_scales=False)
        check_study(project, document)

    answer = changed(project, wanted.version, t("wishes.did"), edit)
    project.note(wishes={**asdict(chosen), "budget": wanted.budget})
    mark_made(project)
    return answer


def _parts(project: Project, chosen: Wishes) -> dict[str, Any]:
    study = project.study
    what = f"wishes {chosen}"
    if study.data.table is None:
        return dict(of_data(study.data, what, lambda baskets: basket_parts_for(study, baskets, chosen)))
    make = parts_for if study.data.items is None else mixed_parts_for
    return dict(of_table(study.data.rows, what, lambda table: make(study, table, chosen)))


def _check_budget(text: str) -> None:
    try:
        _ = read_budget(text) if text else None
    except BadInputError as error:
        raise FieldError("budget", str(error)) from None


def estimate(call: Call) -> dict[str, Any]:
    """Say how long exploring the study takes, and which candidates cannot be made."""
    project = call.project
    study = project.study
    if study.data.items is not None:
        found = of_data(study.data, f"problems {project.version}", lambda data: check_items(data, study))
        return _estimated(len(study.candidates), None, [vars(each) for each in found.problems])
    return dict(of_data(study.data, f"estimate {project.version}", lambda table: _estimate(study, table)))


def _estimate(study: Study, table: Table) -> Mapping[str, Any]:
    try:
        lacking = [vars(each) for each in problems(study, table)]
        return _estimated(len(study.candidates_of(table)), effort_of(study, table).in_words, lacking)
    except SfumatoError as error:
        return {"sentence": None, "candidates": len(study.candidates), "problems": [], "wrong": in_forms(str(error))}


def _estimated(candidates: int, effort: str | None, lacking: list[dict[str, Any]]) -> dict[str, Any]:
    sentence = None if effort is None else t("wishes.takes", effort=effort)
    return {"sentence": sentence, "candidates": candidates, "problems": all_in_forms(lacking), "wrong": None}


ENDPOINTS = (
    Endpoint("GET", "/projects/{project}/wishes", "Shows what can be wished for.", wishes),
    Endpoint("GET", "/api/projects/{project}/wishes", "Says what can be wished for, and what was.", wishes_values),
    Endpoint("POST", "/api/projects/{project}/wishes", "Writes wishes into the study.", wish, Wanted),
    Endpoint("GET", "/api/projects/{project}/estimate", "Says what exploring the study takes.", estimate),
)
