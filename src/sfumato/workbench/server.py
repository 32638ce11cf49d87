"""Running the workbench: a socket, its address, and what goes when it ends."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import uvicorn
from starlette.concurrency import run_in_threadpool

from sfumato.errors import BadInputError
from sfumato.runtime.cancellation import looks_itself, pressed, remove_unfinished
from sfumato.runtime.memory import OpeningLimits, private_folder
from sfumato.texts.catalogue import t
from sfumato.workbench.access import Gate
from sfumato.workbench.app import opened
from sfumato.workbench.endpoints import USUAL_MOST, House
from sfumato.workbench.projects import Desk
from sfumato.workbench.runs import Runs
from sfumato.workbench.views.point import preview_folder

UPLOADS = "sfumato-uploads-"
"""How the name of the folder of uploads begins."""

LOOPBACK = "127.0.0.1"
SECONDS = 1
"""So long answers that are under way may take when the workbench ends."""


@dataclass(frozen=True)
class Serving:
    """What is served, and how."""

    folder: Path
    port: int = 0
    most_upload: int = USUAL_MOST
    databases: bool = False
    servers: bool = False
    limits: OpeningLimits = field(default_factory=OpeningLimits)


def serve(serving: Serving, tell: Callable[[str], None]) -> None:
    """Serve a folder until Ctrl-C; `tell` is given the address once it can be opened."""
    if not serving.folder.is_dir():
        raise BadInputError(t("serve.no_folder", folder=serving.folder))
    listening = _listening(LOOPBACK, serving.port)
    port = listening.getsockname()[1]
    gate = Gate(frozenset(f"{name}:{port}" for name in (LOOPBACK, "localhost")))
    uploads = private_folder(UPLOADS, Path(gettempdir()).absolute())
    preview_folder()  # what a killed workbench left of its own is removed
    house = House(
        Desk(serving.folder.resolve(), uploads, serving.databases, serving.servers),
        Runs(),
        serving.most_upload,
        limits=serving.limits,
    )
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
    """Uvicorn, in a thread that is not the main one: it looks for Ctrl-C itself, and lets go of whoever listens."""

    def __init__(self, config: Any, house: House, begun: Callable[[], None]) -> None:
        super().__init__(config)
        self.house, self.begun = house, begun

    async def startup(self, sockets: Any = None) -> None:
        """Begin, then say so."""
        await super().startup(sockets)
        self.begun()

    async def on_tick(self, counter: int) -> bool:
        """Say whether to end."""
        self.should_exit |= pressed()
        return bool(await super().on_tick(counter))

    async def shutdown(self, sockets: Any = None) -> None:
        """End runs and publications first, so that whoever waits for one hears its end."""
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
        listening.listen(2048)  # so that whoever opens the address at once is not turned away
    except OSError as error:
        raise BadInputError(t("serve.port", port=port, host=host, why=error.strerror)) from None
    return listening
