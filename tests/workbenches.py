"""What tests of the workbench share: a desk in a temporary folder, a client that was let in, a study that runs fast."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import uvicorn
from starlette.testclient import TestClient

from held_runs import HELD
from sfumato.workbench.access import CSRF, Gate
from sfumato.workbench.app import opened
from sfumato.workbench.endpoints import House
from sfumato.workbench.projects import Desk
from sfumato.workbench.runs import Runs
from sfumato.workbench.views import page as changes

HOST = "127.0.0.1:8765"
ORIGIN = f"http://{HOST}"
STUDY = """# a comment that must survive
name = "people"
[table]
source = "people.csv"
quasi = ["age", "sex"]
sensitive = ["ill"]
[table.hierarchy.age]
type = "numeric"
lower = 0
upper = 63
[table.hierarchy.sex]
type = "flat"
values = ["f", "m"]
[table.hierarchy.ill]
type = "flat"
values = ["flu", "gout", "mumps"]
[scales]
queries = "queries number=20"
[[candidates]]
requirements = ["k-anonymity k=2", "k-anonymity k=5", "k-anonymity k=10"]  # three
"""


MAY_END = "held runs may end"


def people(rows: int = 240) -> str:
    """A small table as CSV."""
    ills = ("flu", "gout", "mumps")
    lines = [f"{i * 7 % 64},{'fm'[i % 2]},{ills[i * i % 3]}" for i in range(rows)]
    return "\n".join(["age,sex,ill", *lines]) + "\n"


def make_project(folder: Path, study: str = STUDY, table: str | None = None) -> Path:
    """Make a project whose study can be run."""
    folder.mkdir()
    (folder / "study.toml").write_text(study, encoding="utf-8")
    (folder / "people.csv").write_text(people() if table is None else table, encoding="utf-8")
    return folder


def make_held_project(desk: Desk, name: str, study: str = STUDY + HELD) -> tuple[Path, Path]:
    """Make a project whose run cannot end before a file is there; return its folder, and that file."""
    folder = make_project(desk.folder / name, study)
    return folder, desk.uploads / MAY_END


def patient() -> Any:
    """Let pages wait for what they show however slow the machine is, and not say that it is being worked out."""
    return mock.patch.object(changes, "PATIENCE", 600.0)


def make_desk(folder: Path, **options: Any) -> Desk:
    """Make the two folders of a desk."""
    (folder / "work").mkdir()
    (folder / "uploads").mkdir(0o700)
    return Desk(folder / "work", folder / "uploads", **options)


@contextmanager
def client_of(desk: Desk, **house: Any) -> Iterator[TestClient]:
    """Open a workbench, and a client that has its cookie and sends along what its pages do."""
    gate = Gate(frozenset([HOST]))
    app = opened(House(desk, **{"runs": Runs(), **house}), gate)
    headers = {"origin": ORIGIN, CSRF: gate.csrf()}
    with patient(), TestClient(app, ORIGIN, raise_server_exceptions=False, headers=headers) as client:
        client.cookies.set(gate.cookie, gate.session)
        yield client


class NeverSet(threading.Event):
    """Lets an address be opened in one browser after another, as tests do."""

    def is_set(self) -> bool:
        """Forget that it was set."""
        return False


def reusable_gate(hosts: frozenset[str]) -> Gate:
    """Make a gate whose address can be used again."""
    return Gate(hosts, used=NeverSet())


@contextmanager
def served(
    house: House, gate_of: Callable[[frozenset[str]], Any] = reusable_gate, **tls: str
) -> Iterator[tuple[str, Any]]:
    """Serve a workbench on a free port of this machine, for a browser; give its origin and its gate."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    gate = gate_of(frozenset([host]))
    config = uvicorn.Config(opened(house, gate), log_level="critical", timeout_graceful_shutdown=1, **tls)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        with patient():
            yield f"http://{host}", gate
    finally:
        house.runs.close()
        server.should_exit = True
        thread.join(10)


def wait_until_gone(*processes: int) -> None:
    """Wait until processes have ended; one that has may keep its number until somebody takes notice."""
    for _ in range(12_000):
        if not any(map(_is_there, processes)):
            return
        time.sleep(0.05)
    raise AssertionError("a worker is still there")


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return False


def certificate(folder: Path) -> list[str]:
    """Make a certificate and its key for this machine."""
    names = [str(folder / "cert.pem"), str(folder / "key.pem")]
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = [*["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"], *subject]
    subprocess.run([*made, "-out", names[0], "-keyout", names[1]], check=True, capture_output=True)
    return names
