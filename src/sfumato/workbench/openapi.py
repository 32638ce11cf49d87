"""The JSON API described as OpenAPI 3.1, from the endpoints and the options of what they take, as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING
from typing import Any

from sfumato import __version__
from sfumato.catalogue import property_of
from sfumato.configuration import Described, described
from sfumato.workbench.endpoints import FILE, Endpoint, mappings
from sfumato.workbench.gate import CSRF

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

ERROR: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "error": {"type": "string", "description": "What is wrong, and what would help, in a sentence."},
        "field": {"type": "string", "description": "What of that which was handed in it is about."},
    },
    "required": ["error"],
}


def description(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Describe everything that scripts can ask for."""
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        if each.is_api:
            paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
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
            "responses": {str(status): _refusal(status) for status in ENDED},
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    parameters = [
        *(
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": PLACES.get(name, name),
                "schema": {"type": "string", "minLength": 1},
            }
            for name in PLACE.findall(endpoint.path)
        ),
        *({"name": name, "in": "query", "required": False, "schema": {"type": "string"}} for name in endpoint.query),
    ]
    return {
        "summary": endpoint.does,
        "operationId": _name(endpoint),
        **({"parameters": parameters} if parameters else {}),
        **_body(endpoint),
        "responses": {
            "200": {"description": endpoint.does, "content": {endpoint.media or "application/json": _given(endpoint)}},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in _ends(endpoint)},
        },
    }


def _name(endpoint: Endpoint) -> str:
    """Name an operation: `GET /api/projects/{project}/run` is `get_projects_project_run`."""
    words = re.findall(r"\w+", endpoint.path.removeprefix("/api/").replace(".", "_"))
    return "_".join([endpoint.method.lower(), *words])


def _given(endpoint: Endpoint) -> dict[str, Any]:
    return {"schema": {"type": "string"} if endpoint.media == FILE else dict(endpoint.gives)}


def _ends(endpoint: Endpoint) -> list[int]:
    """Say how this request can end without an answer."""
    asked = [404, 422] if PLACE.search(endpoint.path) or endpoint.query or endpoint.body is not None else []
    changes = [409, 413, 422] if endpoint.method != "GET" else []
    return sorted({403, *asked, *changes})


def _refusal(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": ENDED[status], "content": {"application/json": {"schema": schema}}}


def _body(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.is_upload:
        content: dict[str, Any] = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        return {"requestBody": {"required": True, "content": content}}
    if endpoint.body is None:
        return {}
    schema = body_schema(endpoint.body)
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
