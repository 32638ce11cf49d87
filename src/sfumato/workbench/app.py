"""The web application: endpoints behind the gate, answers from their results.

Also running the workbench: its socket, its address, and the cleanup.
"""

import asyncio
import json
import os
import shutil
import socket
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from pkgutil import iter_modules
from secrets import token_hex
from tempfile import gettempdir
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from sfumato.config.documents import to_plain
from sfumato.errors import SfumatoError
from sfumato.report.page import SHARED, script_of, vega_script
from sfumato.runtime.cancellation import looks_itself, pressed, remove_unfinished
from sfumato.runtime.memory import private_folder
from sfumato.texts.catalogue import refusal, t
from sfumato.texts.html import file
from sfumato.workbench import views
from sfumato.workbench.access import Gate, Guarded
from sfumato.workbench.endpoints import ENDPOINTS, Call, Endpoint, House, description, read_body
from sfumato.workbench.errors import TooLargeError, answer_of, refused, status_of
from sfumato.workbench.opened_data import in_forms
from sfumato.workbench.projects import Desk
from sfumato.workbench.views.files import received
from sfumato.workbench.views.point import preview_folder

MOST_BYTES = 4_000_000
"""The limit of a JSON body; uploads have their own limit."""

for view in iter_modules(views.__path__, f"{views.__name__}."):
    import_module(view.name)  # each declares its endpoints

MADE: Mapping[str, tuple[Callable[[], str], str]] = {
    "/static/colours.css": (lambda: file("colours.css"), "text/css"),
    "/static/blocks.css": (lambda: file("blocks.css"), "text/css"),
    "/static/drawing.js": (lambda: script_of(*SHARED), "text/javascript"),
    "/static/vega.js": (vega_script, "text/javascript"),
}
"""Scripts and styles that other pages have, too: how each is made, and its media type."""


def opened(house: House, gate: Gate) -> ASGIApp:
    """Return the application."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for each in ENDPOINTS:
        by_path.setdefault(each.path, {})[each.method] = each
    routes: list[Route | Mount] = [
        Route(path, partial(_answered, methods, house), methods=list(methods)) for path, methods in by_path.items()
    ]
    routes.append(Route("/api/openapi.json", _description))
    routes += [Route(path, partial(_made, make, media)) for path, (make, media) in MADE.items()]
    routes.append(Mount("/static", StaticFiles(directory=str(files("sfumato.workbench") / "static"))))
    handlers: dict[Any, Any] = {HTTPException: _not_answered, Exception: _unforeseen}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=partial(_life, house))
    return Guarded(app, gate)


@asynccontextmanager
async def _life(house: House, app: Starlette) -> AsyncIterator[None]:
    """End runs and publications with the application."""
    yield
    await run_in_threadpool(house.close)


async def _description(request: Request) -> Response:
    """Return the description of the API."""
    return JSONResponse(description(ENDPOINTS))


async def _made(make: Callable[[], str], media: str, request: Request) -> Response:
    """Return a shared script or style; an empty answer if the browser has it."""
    content = (await run_in_threadpool(make)).encode()
    headers = {"etag": f'"{sha256(content).hexdigest()}"'}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media, headers=headers)


async def _answered(methods: Mapping[str, Endpoint], house: House, request: Request) -> Response:
    """Answer one request: errors are sentences, never a traceback."""
    endpoint = methods["GET" if request.method == "HEAD" else request.method]
    try:
        body = await _body(endpoint, house, request)
        query = {name: request.query_params[name] for name in endpoint.query if name in request.query_params}
        if "told" in endpoint.query and "last-event-id" in request.headers:  # a browser that listens again
            query["told"] = request.headers["last-event-id"]
        call = Call(house, dict(request.path_params), query, body, request.scope["csrf"])
        result = await _while_somebody_waits(request, call, endpoint)
    except SfumatoError as error:
        answer, project = answer_of(error), str(request.path_params.get("project", ""))
        sentence = in_forms(house.desk.locally(answer["error"], project))
        return refused(request.url.path, {**answer, "error": sentence}, status_of(error))
    except ClientDisconnect:  # nobody receives the answer
        return Response(status_code=400)
    if isinstance(result, StreamingResponse) and request.method == "HEAD":
        return Response(media_type=result.media_type)
    return result if isinstance(result, Response) else JSONResponse(to_plain(result))


async def _while_somebody_waits(request: Request, call: Call, endpoint: Endpoint) -> Any:
    """Answer a call in a thread, and notify it if its caller disconnects."""

    async def watch() -> None:
        while not await request.is_disconnected():
            await asyncio.sleep(0.1)
        call.gone.set()

    watching = asyncio.create_task(watch())
    try:
        return await run_in_threadpool(endpoint.answer, call)
    finally:
        watching.cancel()


async def _body(endpoint: Endpoint, house: House, request: Request) -> Any:
    """Read the body of a request as the endpoint requires."""
    if endpoint.is_upload:
        return await received(request.stream(), request.path_params["file"], house.desk.uploads, house.most_upload)
    return None if endpoint.body is None else read_body(endpoint.body, await _json(request))


async def _json(request: Request) -> Any:
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MOST_BYTES:
            raise TooLargeError(t("api.too_long", most=MOST_BYTES))
    try:
        return json.loads(content) if content else {}
    except (ValueError, RecursionError):
        raise refusal("api.not_json") from None


async def _not_answered(request: Request, error: HTTPException) -> Response:
    """Answer that the path does not exist, or does not support this method."""
    sentences = {404: t("error.nothing"), 405: t("error.method", method=request.method)}
    response = refused(request.url.path, {"error": sentences.get(error.status_code, error.detail)}, error.status_code)
    response.headers.update(error.headers or {})
    return response


async def _unforeseen(request: Request, error: Exception) -> Response:
    """Report an unexpected error with a reference; its message is printed here only, because it may contain data."""
    reference = token_hex(4)
    print(f"sfumato: {reference}: {type(error).__name__} at {request.scope['route'].path}", file=sys.stderr)
    if os.environ.get("SFUMATO_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    return refused(request.url.path, {"error": t("error.unforeseen", reference=reference)}, 500)


UPLOADS = "sfumato-uploads-"
"""The beginning of the name of the upload folder."""

LOOPBACK = "127.0.0.1"
SECONDS = 1
"""Seconds for running answers when the workbench ends."""


def serve(
    folder: Path,
    tell: Callable[[str], None],
    port: int = 0,
    databases: bool = False,
    servers: bool = False,
    **most: Any,
) -> None:
    """Serve a folder until Ctrl-C; `tell` receives the address once it can be opened, `most` has the upload limits."""
    if not folder.is_dir():
        raise refusal("serve.no_folder", folder=folder)
    listening = _listening(LOOPBACK, port)
    port = listening.getsockname()[1]
    gate = Gate(frozenset(f"{name}:{port}" for name in (LOOPBACK, "localhost")))
    uploads = private_folder(UPLOADS, Path(gettempdir()).absolute())
    preview_folder()  # removes the leftovers of a killed workbench
    house = House(Desk(folder.resolve(), uploads, databases, servers), **most)
    config = uvicorn.Config(
        opened(house, gate),
        log_level="trace" if os.environ.get("SFUMATO_DEBUG") else "critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SECONDS,
    )
    try:
        with looks_itself():
            _Server(config, house, lambda: tell(f"http://{LOOPBACK}:{port}/?token={gate.token}")).run([listening])
    finally:
        shutil.rmtree(uploads, ignore_errors=True)
        remove_unfinished()


class _Server(uvicorn.Server):  # type: ignore[misc]
    """Uvicorn outside the main thread: it checks for Ctrl-C, and disconnects listeners."""

    def __init__(self, config: Any, house: House, begun: Callable[[], None]) -> None:
        super().__init__(config)
        self.house, self.begun = house, begun

    async def startup(self, sockets: Any = None) -> None:
        """Start, then report it."""
        await super().startup(sockets)
        self.begun()

    async def on_tick(self, counter: int) -> bool:
        """Return whether to end."""
        self.should_exit |= pressed()
        return bool(await super().on_tick(counter))

    async def shutdown(self, sockets: Any = None) -> None:
        """End runs and publications first, so that listeners are notified."""
        await run_in_threadpool(self.house.close)
        await super().shutdown(sockets)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, place = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio leaves 40 ms of delay
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(2048)  # accept connections at once
    except OSError as error:
        raise refusal("serve.port", port=port, host=host, why=error.strerror) from None
    return listening
