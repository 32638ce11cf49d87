"""What the workbench answers: every page and every call of its JSON API is an `Endpoint`, declared once.

An endpoint names its method and path, says in a sentence what it does, and takes a body that is a dataclass of options
(`configuration.Option`); checks, messages and the OpenAPI description follow from that. What it answers is plain values
for JSON, or a whole `Response` where it is a page or a file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from sfumato.configuration import check_options, described, shortened
from sfumato.errors import BadInputError
from sfumato.process.limits import OpeningLimits
from sfumato.texts.catalogue import t
from sfumato.workbench.apart import run_apart
from sfumato.workbench.errors import FieldError
from sfumato.workbench.publications import Publications
from sfumato.workbench.runs import Runs

if TYPE_CHECKING:
    from sfumato.workbench.desk import Desk, Project

Schema = Mapping[str, Any]
"""JSON Schema."""

text: Schema = {"type": "string"}
whole: Schema = {"type": "integer"}
flag: Schema = {"type": "boolean"}


def an_object(**properties: Schema) -> Schema:
    """Describe an object that has all of these, and may have more."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def a_list(items: Schema) -> Schema:
    """Describe a list."""
    return {"type": "array", "items": items}


FILE = "application/octet-stream"
EVENTS = "text/event-stream"
EVENT = an_object(event=text, id=text, data=text)
"""One event of a stream."""

Method = Literal["GET", "POST", "PUT", "DELETE"]


@dataclass(frozen=True)
class Call:
    """A request as an endpoint sees it: who asks, what the path names, and what was handed in."""

    desk: Desk
    names: Mapping[str, str]
    """What stands in the path's places, such as `point`."""

    query: Mapping[str, str]
    body: Any = None
    """An instance of the endpoint's `body`."""

    csrf: str = field(default="", repr=False)
    """What forms and scripts of a page send along when they change something."""

    runs: Runs = field(default_factory=Runs, repr=False)
    """What is under way."""

    publications: Publications = field(default_factory=Publications, repr=False)
    """What is being published."""

    limits: OpeningLimits | None = None
    """What a file may take that is opened for the first time; None opens it in this process."""

    gone: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set when nobody waits for the answer any more."""

    def apart(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call what opens a file for the first time, within limits."""
        if self.limits is None:
            return function(*arguments)
        return run_apart(function, arguments, self.limits, self.gone)

    @property
    def project(self) -> Project:
        """The project that the path names."""
        return self.desk.project(self.names["project"])


@dataclass(frozen=True)
class Endpoint:
    """Something that can be asked for."""

    method: Method
    path: str
    """With places in braces: `/api/projects/{project}/study`."""

    does: str
    """In a sentence."""

    answer: Callable[[Call], Any]
    """Works in a thread, so it may take its time."""

    body: type | None = None
    """A dataclass whose fields have options; None where nothing is handed in."""

    query: Sequence[str] = ()
    """Names that may stand behind the question mark."""

    is_upload: bool = False
    """Whether a file is handed in as it is; `Call.body` is then the path of what was received."""

    gives: Schema = field(default_factory=lambda: {"type": "object"})
    """What is answered, as JSON Schema, or one event of a stream; of pages and files it does not matter."""

    media: str | None = None
    """Of what is neither a page nor JSON, what it is."""

    @property
    def is_api(self) -> bool:
        """Whether scripts ask for it, and not people."""
        return self.path.startswith("/api/")


@cache
def mappings(kind: type) -> frozenset[str]:
    """Name the fields of what an endpoint takes that hold values by name, whichever these are."""
    hints = get_type_hints(kind)
    parts = {name: (hint, *get_args(hint)) for name, hint in hints.items()}
    return frozenset(name for name, those in parts.items() if any(get_origin(each) is Mapping for each in those))


def read_body(kind: type, given: Any) -> Any:
    """Make what an endpoint takes from plain values; what does not fit is a sentence that names the field."""
    if not isinstance(given, dict):
        raise BadInputError(t("api.no_object"))
    known = described(kind)
    unknown = [key for key in given if key not in known]
    if unknown:
        raise FieldError(unknown[0], t("api.unknown", field=unknown[0], known=", ".join(known) or "none"))
    lacking = [name for name, each in known.items() if each.default is MISSING and name not in given]
    if lacking:
        raise FieldError(lacking[0], t("api.lacking", field=lacking[0], meaning=known[lacking[0]].option.meaning))
    objects = mappings(kind)
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    for key, value in values.items():
        if key in objects and not isinstance(value, dict) and not (value is None and known[key].optional):
            raise FieldError(key, t("api.mapping", key=key, value=shortened(value)))
        try:
            known[key].check(value)
        except BadInputError as error:
            raise FieldError(key, str(error)) from None
    body = kind(**values)
    check_options(body)
    return body
