"""Running the workbench: a socket, its address, and what goes when it ends."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import uvicorn
from starlette.concurrency import run_in_threadpool

from sfumato.errors import BadInputError
from sfumato.pages.texts import t
from sfumato.process.interrupts import looks_itself, pressed, remove_unfinished
from sfumato.process.limits import OpeningLimits
from sfumato.process.spill import private_folder
from sfumato.workbench.app import House, opened
from sfumato.workbench.desk import Desk
from sfumato.workbench.gate import Gate
from sfumato.workbench.runs import Runs
from sfumato.workbench.teams import MembersFile, TeamGate
from sfumato.workbench.uploads import USUAL_MOST
from sfumato.workbench.views.after.point import preview_folder

UPLOADS = "sfumato-uploads-"
"""How the name of the folder of uploads begins."""

LOOPBACK = "127.0.0.1"
ANYWHERE = ("0.0.0.0", "::", "")
SECONDS = 1
"""So long answers that are under way may take when the workbench ends."""


@dataclass(frozen=True)
class Team:
    """What it takes to let others in: a name or address to listen on, TLS, and who they are."""

    host: str
    certificate: Path
    key: Path
    users: Path
    names: tuple[str, ...] = ()
    """By which the others call this machine, where that is not the host."""

    def check(self) -> None:
        """Raise unless the files can be used."""
        MembersFile(self.users).read()
        if self.users.stat().st_mode & 0o077:
            raise BadInputError(t("serve.others_read", file=self.users))
        for file in (self.certificate, self.key):
            if not file.is_file():
                raise BadInputError(t("serve.no_file", file=file))
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(self.certificate, self.key)
        except (ssl.SSLError, OSError):
            raise BadInputError(t("serve.no_certificate", certificate=self.certificate, key=self.key)) from None

    @property
    def known_as(self) -> tuple[str, ...]:
        """The names that an address may have."""
        own = (socket.gethostname(), socket.getfqdn()) if self.host in ANYWHERE else (self.host,)
        return tuple(dict.fromkeys([*self.names, *own]))


@dataclass(frozen=True)
class Serving:
    """What is served, and how."""

    folder: Path
    port: int = 0
    most_upload: int = USUAL_MOST
    programs: bool = False
    servers: bool = False
    team: Team | None = None
    limits: OpeningLimits = field(default_factory=OpeningLimits)

    def desk_of(self, uploads: Path, name: str) -> Desk:
        """Return the desk of somebody; of a team, each has folders of their own, which are made where they lack."""
        folder = self.folder.resolve()
        if self.team is not None:
            folder, uploads = folder / name, uploads / name
            folder.mkdir(mode=0o700, exist_ok=True)
            uploads.mkdir(mode=0o700, exist_ok=True)
            if folder.is_symlink() or not folder.is_dir():
                raise BadInputError(t("serve.linked", name=name))
        return Desk(folder, uploads, self.programs, self.servers)


def serve(serving: Serving, tell: Callable[[str], None]) -> None:
    """Serve a folder until Ctrl-C; `tell` is given the address once it can be opened."""
    if not serving.folder.is_dir():
        raise BadInputError(t("serve.no_folder", folder=serving.folder))
    team = serving.team
    if team is not None:
        team.check()
    listening = _listening(LOOPBACK if team is None else team.host, serving.port)
    port = listening.getsockname()[1]
    gate = _gate(team, port)
    uploads = private_folder(UPLOADS, Path(gettempdir()).absolute())
    preview_folder()  # what a killed workbench left of its own is removed
    house = House(lambda name: serving.desk_of(uploads, name), Runs(), serving.most_upload, limits=serving.limits)
    tls = {} if team is None else {"ssl_certfile": str(team.certificate), "ssl_keyfile": str(team.key)}
    config = uvicorn.Config(
        opened(house, gate),
        log_level="trace" if os.environ.get("SFUMATO_DEBUG") else "critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SECONDS,
        **tls,
    )
    try:
        with looks_itself():
            _Server(config, house, lambda: tell(_address(gate, team, port))).run([listening])
    finally:
        shutil.rmtree(uploads, ignore_errors=True)
        remove_unfinished()


def _gate(team: Team | None, port: int) -> Gate:
    names = (LOOPBACK, "localhost") if team is None else team.known_as
    hosts = {f"{name}:{port}" for name in names}
    if team is None:
        return Gate(frozenset(hosts))
    if port == 443:
        hosts |= set(names)
    return TeamGate(frozenset(hosts), members=MembersFile(team.users))


def _address(gate: Gate, team: Team | None, port: int) -> str:
    if team is None:
        return f"http://{LOOPBACK}:{port}/?token={gate.token}"
    return f"https://{team.known_as[0]}:{port}/"


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
