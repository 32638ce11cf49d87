"""The page of a run: start it, see how far it is, stop it, go on."""

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
"""What the id of an event looks like."""

BUDGETS = ("30s", "1m", "2m", "5m", "15m", "1h")
"""Times that the page offers to search on for."""


@dataclass(frozen=True)
class RunOptions:
    """How a run is made."""

    budget: Annotated[str | None, Option()] = None
    """A time such as 60s or 5m to search on for after the study's own candidates."""

    question: Annotated[str | None, Option()] = None
    """What to search for, such as “k within loss 0.25”; goes with a budget."""


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
    """Say how far the run is, or how the last one ended."""
    return call.house.runs.progress(call.project).values()


@endpoint("POST", RUN, RunOptions, gives=PROGRESS)
def start(call: Call) -> dict[str, Any]:
    """Begin a run, or go on with one that was stopped."""
    budget, question = call.body.budget, call.body.question
    if question is not None:
        if budget is None:
            raise FieldError("budget", t("run.question_needs_budget"))
        with blamed("question"):
            read_question(question)
    return call.house.runs.start(call.project, None if budget is None else read_budget(budget), question).values()


@endpoint("DELETE", RUN, gives=PROGRESS)
def cancel(call: Call) -> dict[str, Any]:
    """Stop the run; what was measured is kept."""
    return call.house.runs.cancel(call.project).values()


@endpoint("GET", f"{RUN}/events", query="told", gives=EVENT, media=EVENTS)
def events(call: Call) -> Response:
    """Tell of a run as it goes: progress, points, its end; without the points that whoever listens was told already."""
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
