"""The page of a run: start it, see how far it is, stop it, go on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from starlette.responses import Response, StreamingResponse

from sfumato.configuration import Option, shortened
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import t
from sfumato.tradeoff import read_question
from sfumato.tradeoff.search.tuner import read_budget
from sfumato.workbench.endpoints import EVENT, EVENTS, Call, Endpoint, a_list, an_object, text
from sfumato.workbench.errors import FieldError
from sfumato.workbench.runs import STATES
from sfumato.workbench.views.page import page

ID = re.compile(r"[0-9a-f]{12}-[0-9]{1,9}")
"""What the id of an event looks like."""

BUDGETS = ("30s", "1m", "2m", "5m", "15m", "1h")
"""Times that the page offers to search on for."""


@dataclass(frozen=True)
class RunOptions:
    """How a run is made."""

    budget: Annotated[
        str | None, Option("A time such as 60s or 5m to search on for after the study's own candidates.")
    ] = None
    question: Annotated[str | None, Option("What to search for, such as “k within loss 0.25”; goes with a budget.")] = (
        None
    )


def progress(call: Call) -> dict[str, Any]:
    """Say how far the run is, or how the last one ended."""
    return call.runs.progress(call.project).values()


def start(call: Call) -> dict[str, Any]:
    """Begin a run, or go on with one that was stopped."""
    budget, question = call.body.budget, call.body.question
    if question is not None:
        _check_question(question, budget)
    return call.runs.start(call.project, None if budget is None else read_budget(budget), question).values()


def _check_question(question: str, budget: str | None) -> None:
    """Raise where a question cannot be read, or there is no time to search for its answer."""
    if budget is None:
        raise FieldError("budget", t("run.question_needs_budget"))
    try:
        read_question(question)
    except BadInputError as error:
        raise FieldError("question", str(error)) from None


def cancel(call: Call) -> dict[str, Any]:
    """Stop the run."""
    return call.runs.cancel(call.project).values()


def events(call: Call) -> Response:
    """Tell of the run as it goes, without the points that whoever listens was told already."""
    last = call.query.get("told", "")
    if last and not ID.fullmatch(last):
        raise FieldError("told", t("run.bad_event", value=shortened(last)))
    return StreamingResponse(call.runs.events(call.project, last), media_type=EVENTS)


def run_page(call: Call) -> Response:
    """Show the run."""
    project = call.project
    values = progress(call) | {"project": project.name, "explored": project.is_explored}
    return page("run.html", call, "run", run=values, budgets=BUDGETS, data=values)


RUN = "/api/projects/{project}/run"
PROGRESS = an_object(
    state={"enum": list(STATES)},
    done={"type": "number", "minimum": 0},
    total={"type": "number", "minimum": 0},
    unit=text,
    last=text,
    sentence=text,
    started={"type": ["number", "null"]},
    notes=a_list(text),
)
ENDPOINTS = (
    Endpoint("GET", "/projects/{project}/run", "Shows the run of a project.", run_page),
    Endpoint("GET", RUN, "Says how far the run is, or how the last one ended.", progress, gives=PROGRESS),
    Endpoint("POST", RUN, "Begins a run, or goes on with one that was stopped.", start, RunOptions, gives=PROGRESS),
    Endpoint("DELETE", RUN, "Stops the run; what was measured is kept.", cancel, gives=PROGRESS),
    Endpoint(
        "GET",
        f"{RUN}/events",
        "Tells of a run as it goes: progress, points, its end.",
        events,
        query=("told",),
        gives=EVENT,
        media=EVENTS,
    ),
)
