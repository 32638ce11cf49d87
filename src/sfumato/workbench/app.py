"""The web application: endpoints put behind the gate, answers made of what they return."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from sfumato.errors import BadInputError, SfumatoError
from sfumato.pages import file
from sfumato.plain import to_plain
from sfumato.workbench.desk import Desk
from sfumato.workbench.endpoints import Call, Endpoint, read_body
from sfumato.workbench.errors import status_of
from sfumato.workbench.gate import HEADERS, Gate
from sfumato.workbench.views import compare, home, point, publish
from sfumato.workbench.views import map as of_map

MOST_BYTES = 4_000_000
"""Of a body that is JSON; files are handed in as they are, under a limit of their own."""

ENDPOINTS: Sequence[Endpoint] = (
    *home.ENDPOINTS,
    *of_map.ENDPOINTS,
    *point.ENDPOINTS,
    *compare.ENDPOINTS,
    *publish.ENDPOINTS,
)


def application(desk: Desk, gate: Gate) -> Starlette:
    """Put the workbench together for one desk."""
    routes: list[Route | Mount] = [
        Route(each.path, partial(_answered, each, desk, gate), methods=[each.method]) for each in ENDPOINTS
    ]
    routes.append(Route("/static/colours.css", _colours))
    static = StaticFiles(directory=str(files("sfumato.workbench") / "static"))
    routes.append(Mount("/static", static))
    return Starlette(routes=routes, middleware=[Middleware(BaseHTTPMiddleware, dispatch=partial(_guarded, gate))])


async def _colours(request: Request) -> Response:
    """Hand out the colours that all pages of ours share."""
    return Response(str(file("colours.css")), media_type="text/css")


async def _guarded(gate: Gate, request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
    """Let a request through the gate, and give every answer the headers of ours."""
    response = await _admitted(gate, request, go_on)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


async def _admitted(gate: Gate, request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
    given = request.query_params.get("token")
    if request.method == "GET" and given is not None and gate.admits_token(given):
        response: Response = RedirectResponse(request.url.path, 303)
        response.set_cookie(gate.cookie, gate.token, httponly=True, samesite="strict", secure=gate.scheme == "https")
        return response
    try:
        gate.check(request, request.method)
    except SfumatoError as refused:
        return PlainTextResponse(str(refused), status_of(refused))
    return await go_on(request)


async def _answered(endpoint: Endpoint, desk: Desk, gate: Gate, request: Request) -> Response:
    """Answer one request: errors are sentences, never a traceback."""
    try:
        body = None if endpoint.body is None else read_body(endpoint.body, await _json(request))
        query = {name: request.query_params[name] for name in endpoint.query if name in request.query_params}
        call = Call(desk, dict(request.path_params), query, body, gate.csrf())
        result = await run_in_threadpool(endpoint.answer, call)
    except SfumatoError as error:
        return JSONResponse({"error": str(error)}, status_of(error))
    return result if isinstance(result, Response) else JSONResponse(to_plain(result))


async def _json(request: Request) -> Any:
    content = await request.body()
    if len(content) > MOST_BYTES:
        raise BadInputError(f"the body is longer than {MOST_BYTES:,} bytes")
    try:
        return json.loads(content)
    except ValueError:
        raise BadInputError("the body is not JSON") from None
