"""The page of a run: start it, watch it, stop it, continue it."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from starlette.responses import Response, StreamingResponse

from sfumato.config.options import Option, shortened
from sfumato.texts.catalogue import t
from sfumato.tradeoff.question.question import read_question
from sfumato.tradeoff.search.tuner import read_budget
from sfumato.workbench.endpoints import EVENT, EVENTS, Call, a_list, an_object, endpoint, text
from sfumato.workbench.errors import FieldError, blamed
from sfumato.workbench.runs import STATES
from sfumato.workbench.views.page import page

ID = re.compile(r"[0-9a-f]{12}-[0-9]{1,9}")
"""The format of an event's id."""

BUDGETS = ("30s", "1m", "2m", "5m", "15m", "1h")
"""Offered times of a further search."""


@dataclass(frozen=True)
class RunOptions:
    """The options of a run."""

    budget: Annotated[str | None, Option()] = None
    """The time of a further search after the study's own candidates, such as 60s or 5m."""

    question: Annotated[str | None, Option()] = None
    """The question of the search, such as “k within loss 0.25”; needs a budget."""


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


@endpoint("GET", RUN, gives=PROGRESS)
def progress(call: Call) -> dict[str, Any]:
    """Return the progress of the run, or the end of the last one."""
    return call.house.runs.progress(call.project).values()


@endpoint("POST", RUN, RunOptions, gives=PROGRESS)
def start(call: Call) -> dict[str, Any]:
    """Start a run, or continue a stopped one."""
    budget, question = call.body.budget, call.body.question
    if question is not None:
        if budget is None:
            raise FieldError("budget", t("run.question_needs_budget"))
        with blamed("question"):
            read_question(question)
    return call.house.runs.start(call.project, None if budget is None else read_budget(budget), question).values()


@endpoint("DELETE", RUN, gives=PROGRESS)
def cancel(call: Call) -> dict[str, Any]:
    """Stop the run; measured points are kept."""
    return call.house.runs.cancel(call.project).values()


@endpoint("GET", f"{RUN}/events", query="told", gives=EVENT, media=EVENTS)
def events(call: Call) -> Response:
    """Stream the events of a run: progress, points, its end; points that the listener has are omitted."""
    last = call.query.get("told", "")
    if last and not ID.fullmatch(last):
        raise FieldError("told", t("run.bad_event", value=shortened(last)))
    return StreamingResponse(call.house.runs.events(call.project, last), media_type=EVENTS)


@endpoint("GET", "/projects/{project}/run")
def run_page(call: Call) -> Response:
    """Show the run."""
    project = call.project
    values = progress(call) | {"project": project.name, "explored": project.is_explored}
    return page("run.html", call, "run", run=values, budgets=BUDGETS, data=values)
