"""What the workbench answers: every page and every call of its JSON API is an `Endpoint`, declared once.

An endpoint names its method and path, says in a sentence what it does, and takes a body that is a dataclass of options
(`configuration.Option`); checks, messages and the OpenAPI description follow from that. What it answers is plain values
for JSON, or a whole `Response` where it is a page or a file.

The JSON API described as OpenAPI 3.1, from the endpoints and the options of what they take, as data.
"""

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from sfumato import __version__
from sfumato.config.options import Described, check_options, described, shortened
from sfumato.errors import BadInputError
from sfumato.runtime.memory import OpeningLimits
from sfumato.texts.catalogue import t
from sfumato.tradeoff.catalogue import property_of
from sfumato.workbench.access import CSRF
from sfumato.workbench.child_process import run_apart
from sfumato.workbench.errors import FieldError
from sfumato.workbench.projects import Desk, Project
from sfumato.workbench.runs import Publications, Runs

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


USUAL_MOST = 2 << 30
"""Bytes of all uploads together."""


@dataclass(frozen=True)
class House:
    """What all requests share: the desk, what is under way, how much may come in."""

    desk: Desk
    runs: Runs = field(default_factory=Runs)
    most_upload: int = USUAL_MOST
    publications: Publications = field(default_factory=Publications)
    limits: OpeningLimits | None = field(default_factory=OpeningLimits)
    """What a file may take that is opened for the first time; None opens it in this process."""

    def close(self) -> None:
        """End what is under way."""
        self.publications.close()
        self.runs.close()


@dataclass(frozen=True)
class Call:
    """A request as an endpoint sees it: what the path names, and what was handed in."""

    house: House
    names: Mapping[str, str]
    """What stands in the path's places, such as `point`."""

    query: Mapping[str, str]
    body: Any = None
    """An instance of the endpoint's `body`."""

    csrf: str = field(default="", repr=False)
    """What forms and scripts of a page send along when they change something."""

    gone: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set when nobody waits for the answer any more."""

    def apart(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call what opens a file for the first time, within limits."""
        if self.house.limits is None:
            return function(*arguments)
        return run_apart(function, arguments, self.house.limits, self.gone)

    @property
    def desk(self) -> Desk:
        """The folder of projects."""
        return self.house.desk

    @property
    def project(self) -> Project:
        """The project that the path names."""
        return self.desk.project(self.names["project"])

    @property
    def plainly(self) -> bool:
        """Whether values are asked for as they are, and not masked."""
        return self.query.get("show") == "yes"


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


ENDPOINTS: list[Endpoint] = []
"""Everything that can be asked for: each view adds its own (`endpoint`)."""

View = TypeVar("View", bound=Callable[[Call], Any])


def endpoint(
    method: Method, path: str, body: type | None = None, query: str = "", **about: Any
) -> Callable[[View], View]:
    """Let a function answer a request; the first sentence of its docstring says what it does."""

    def declare(answer: View) -> View:
        does = " ".join((answer.__doc__ or "").partition("\n\n")[0].split())
        ENDPOINTS.append(Endpoint(method, path, does, answer, body, tuple(query.split()), **about))
        return answer

    return declare


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
        raise FieldError(lacking[0], t("api.lacking", field=lacking[0], meaning=known[lacking[0]].meaning))
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


PLACE = re.compile(r"{(\w+)}")
PLACES = {
    "project": "The name of a project.",
    "point": "The id of a release on the map.",
    "file": "The name of a file.",
}
ENDED: Mapping[int, str] = {
    403: "Whoever asks may not: the secret of the address is missing, or what is asked for is out of reach.",
    404: "What was asked for is not there.",
    409: "It cannot be done just now.",
    413: "More was handed in than is taken.",
    422: "What was handed in cannot be used.",
}
"""How a request can end without an answer."""

ERROR: Schema = {
    "type": "object",
    "properties": {
        "error": {**text, "description": "What is wrong, and what would help, in a sentence."},
        "field": {**text, "description": "What of that which was handed in it is about."},
    },
    "required": ["error"],
}


def description(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Describe everything that scripts can ask for."""
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        if each.path.startswith("/api/"):
            paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    refusal = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sfumato workbench",
            "version": __version__,
            "summary": "What the pages of the workbench ask for, and change.",
            "description": (
                "Every request carries the cookie that the address with its token has set. A change carries besides "
                f"the header `{CSRF}` with what stands in the page's `<meta name=csrf>`, and comes from our own origin."
            ),
        },
        "paths": paths,
        "components": {
            "schemas": {"Error": ERROR},
            "responses": {str(n): {"description": told, "content": refusal} for n, told in ENDED.items()},
        },
    }


def _operation(asked: Endpoint) -> dict[str, Any]:
    """Describe one request; `GET /api/projects/{project}/run` is called `get_projects_project_run`."""
    places = PLACE.findall(asked.path)
    parameters = [
        *(
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": PLACES[name],
                "schema": {**text, "minLength": 1},
            }
            for name in places
        ),
        *({"name": name, "in": "query", "required": False, "schema": text} for name in asked.query),
    ]
    ends = {403, *([404, 422] if places or asked.query or asked.body is not None else [])}
    ends |= {409, 413, 422} if asked.method != "GET" else set()
    words = re.findall(r"\w+", asked.path.removeprefix("/api/").replace(".", "_"))
    given = {"schema": text if asked.media == FILE else dict(asked.gives)}
    return {
        "summary": asked.does,
        "operationId": "_".join([asked.method.lower(), *words]),
        **({"parameters": parameters} if parameters else {}),
        **_body(asked),
        "responses": {
            "200": {"description": asked.does, "content": {asked.media or "application/json": given}},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(ends)},
        },
    }


def _body(asked: Endpoint) -> dict[str, Any]:
    if asked.is_upload:
        return {"requestBody": {"required": True, "content": {FILE: {"schema": {**text, "format": "binary"}}}}}
    if asked.body is None:
        return {}
    schema = body_schema(asked.body)
    content = {"application/json": {"schema": schema}}
    return {"requestBody": {"required": bool(schema["required"]), "content": content}}


def body_schema(kind: type) -> dict[str, Any]:
    """Write what an endpoint takes as JSON Schema; what may be left unsaid may be null."""
    options, objects = described(kind), mappings(kind)
    return {
        "type": "object",
        "title": kind.__name__,
        "description": " ".join((kind.__doc__ or "").split()),
        "properties": {name: _property(each, name in objects) for name, each in options.items()},
        "required": [name for name, each in options.items() if each.default is MISSING],
        "additionalProperties": False,
    }


def _property(each: Described, is_object: bool) -> dict[str, Any]:
    """Write one field; one that takes any value says no more than that."""
    content = property_of(each)
    if is_object:
        content["type"] = "object"
    elif each.type is object and each.several:
        content["items"] = {}
    elif each.type is object:
        del content["type"]
    if each.optional and "type" in content:
        content["type"] = [content["type"], "null"]
    if each.optional and "enum" in content:
        content["enum"] = [*content["enum"], None]
    return content
