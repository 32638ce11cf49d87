"""Endpoints: every page and every call of the JSON API, declared once.

An endpoint has a method, a path, a sentence of description, and a body: a dataclass of options
(`options.Option`). Checks, messages and the OpenAPI 3.1 description follow from these. Its answer is plain values
for JSON, or a `Response` for a page or a file.
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
from sfumato.texts.catalogue import refusal, t
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
    """Describe an object with at least these properties."""
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
"""The limit in bytes of all uploads together."""


@dataclass(frozen=True)
class House:
    """The state shared by all requests: the desk, running work, limits."""

    desk: Desk
    runs: Runs = field(default_factory=Runs)
    most_upload: int = USUAL_MOST
    publications: Publications = field(default_factory=Publications)
    limits: OpeningLimits | None = field(default_factory=OpeningLimits)
    """The limits for opening a new file in a child; None opens it in this process."""

    def close(self) -> None:
        """End all running work."""
        self.publications.close()
        self.runs.close()


@dataclass(frozen=True)
class Call:
    """A request for an endpoint: the names in its path, and its body."""

    house: House
    names: Mapping[str, str]
    """The values of the path's places, such as `point`."""

    query: Mapping[str, str]
    body: Any = None
    """An instance of the endpoint's `body`."""

    csrf: str = field(default="", repr=False)
    """The CSRF token that a page sends with changes."""

    gone: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set when nobody waits for the answer any more."""

    def apart(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that opens a new file, within limits."""
        if self.house.limits is None:
            return function(*arguments)
        return run_apart(function, arguments, self.house.limits, self.gone)

    @property
    def desk(self) -> Desk:
        """The folder of projects."""
        return self.house.desk

    @property
    def project(self) -> Project:
        """The project in the path."""
        return self.desk.project(self.names["project"])

    @property
    def plainly(self) -> bool:
        """Whether values are shown unmasked."""
        return self.query.get("show") == "yes"


@dataclass(frozen=True)
class Endpoint:
    """A method and path that can be requested."""

    method: Method
    path: str
    """With places in braces: `/api/projects/{project}/study`."""

    does: str
    """A sentence of description."""

    answer: Callable[[Call], Any]
    """Runs in a thread, so it may be slow."""

    body: type | None = None
    """A dataclass whose fields have options; None without a body."""

    query: Sequence[str] = ()
    """Allowed query parameters."""

    is_upload: bool = False
    """Whether the body is a file; `Call.body` is then its path."""

    gives: Schema = field(default_factory=lambda: {"type": "object"})
    """The JSON Schema of the answer, or of one event of a stream; ignored for pages and files."""

    media: str | None = None
    """The media type, if it is neither a page nor JSON."""


ENDPOINTS: list[Endpoint] = []
"""All endpoints; each view adds its own (`endpoint`)."""

View = TypeVar("View", bound=Callable[[Call], Any])


def endpoint(
    method: Method, path: str, body: type | None = None, query: str = "", **about: Any
) -> Callable[[View], View]:
    """Declare a function as endpoint; the first sentence of its docstring is the description."""

    def declare(answer: View) -> View:
        does = " ".join((answer.__doc__ or "").partition("\n\n")[0].split())
        ENDPOINTS.append(Endpoint(method, path, does, answer, body, tuple(query.split()), **about))
        return answer

    return declare


@cache
def mappings(kind: type) -> frozenset[str]:
    """Return the fields of a body that contain arbitrary names."""
    hints = get_type_hints(kind)
    parts = {name: (hint, *get_args(hint)) for name, hint in hints.items()}
    return frozenset(name for name, those in parts.items() if any(get_origin(each) is Mapping for each in those))


def read_body(kind: type, given: Any) -> Any:
    """Make a body from plain values; an invalid one raises a sentence that names the field."""
    if not isinstance(given, dict):
        raise refusal("api.no_object")
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
    403: "Access is denied: the secret of the address is missing, or the target is out of reach.",
    404: "There is no such thing.",
    409: "It is not possible at the moment.",
    413: "The body is too large.",
    422: "The body is invalid.",
}
"""Statuses without an answer."""

ERROR: Schema = {
    "type": "object",
    "properties": {
        "error": {**text, "description": "The error and its remedy, in a sentence."},
        "field": {**text, "description": "The field of the body that is invalid."},
    },
    "required": ["error"],
}


def description(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Describe all endpoints for scripts."""
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
            "summary": "The requests of the workbench's pages.",
            "description": (
                "Every request has the cookie that the address with its token has set. A change also has the header "
                f"`{CSRF}` with the content of the page's `<meta name=csrf>`, and comes from our own origin."
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
    """Return the JSON Schema of a body; optional fields may be null."""
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
    """Return the schema of one field; one of any type has no further constraints."""
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
