"""Shared by all tests: the read-only material beside the repository and a browser, and that CI may not skip them."""

from __future__ import annotations

import os
import re
import shutil
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

settings.register_profile("unhurried", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")  # how long an example takes says something of the machine alone
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # many tests start processes, and each would compile all of the package
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # Spark Connect's threads, woken in a fork, can end it
typer.main.get_command = typer.testing._get_command = cache(typer.main.get_command)  # all commands, built once
SHARED = Path(__file__).resolve().parents[2] / "shared"
NOT_TABLES = ("basket", "diagnoses", "expectation", "inference", "legend", "loukides", "overlap", "patients")
"""What files are called whose tests compile kernels of baskets, and few or none of those of tables."""

HANGING = 5 * 60_000
"""Milliseconds after which a page is held to hang; on a busy machine it may take long for what is usually at once."""

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the last of several workers begin with baskets and Spark while the first compiles the kernels of tables.

    Each worker begins with an equal share of the list (`--dist worksteal`). In the order of names two workers need the
    same kernels in the same minute, and each compiles them, for a minute of processor time, since neither has left any
    on disk yet. Spark goes with them, early in one share, so that no other worker steals a part of it and its JVM.
    """
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        apart = [item for item in items if item.path.stem.removeprefix("test_").startswith(NOT_TABLES)]
        apart += [item for item in items if item.path.stem == "test_every_engine"]
        taken = set(apart)
        others = [item for item in items if item not in taken]
        begins = len(items) // workers * (workers - 1)
        items[:] = [*others[:begins], *apart, *others[begins:]]


OWN_DATABASES = ("test_out_of_core", "test_interrupts")
"""Files of tests about memory and signals: every table is in a database of its own, as it is for users."""

LOOK_AT_PICTURES = {"basket_study", "explore", "mixed", "noisy_points", "public_map", "record_releases", "report"}
"""What files are called in which maps have their pictures; two take half a second, and elsewhere nobody looks."""

LOOK_AT_PAGES = re.compile(r"\.html|write_report|browser|report import|report\.(page|folder)|undrawn")
"""What a file of tests names if it looks at the pages of maps; two take a quarter of a second."""


class DatabasePool:
    """Databases in memory that are used again: to open one takes 17 ms, and tests open many thousands.

    Who opens one is alone with it, in a catalogue of its own, until the connection is gone.
    """

    def __init__(self) -> None:
        self.open_database, self.numbers = duckdb.connect, count()
        self.free: list[tuple[Any, str]] = []

    def connect(self, *given: Any, **named: Any) -> Any:
        """Open a database as `duckdb.connect` does."""
        if given or named:
            return self.open_database(*given, **named)
        database = None
        if self.free:
            database, before = self.free.pop()
            try:
                database.execute("DETACH DATABASE IF EXISTS store")
                database.execute(f"DETACH {before}")
            except duckdb.Error:  # what failed in the middle may have left something behind
                database = None
        database = database or self.open_database()
        connection, name = database.cursor(), f"catalogue{next(self.numbers)}"
        connection.execute(f"ATTACH ':memory:' AS {name}")
        connection.execute(f"USE {name}")
        weakref.finalize(connection, self.free.append, (database, name)).atexit = False
        return connection


POOL = DatabasePool()


def pytest_unconfigure() -> None:
    """Close the databases while there is an interpreter."""
    POOL.free.clear()


@pytest.fixture(autouse=True, scope="module")
def spared_work(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let tables use databases one after the other, and leave out pictures and pages at which no test looks."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.stem not in OWN_DATABASES:
            patch.setattr(duckdb, "connect", POOL.connect)
        if request.path.stem.removeprefix("test_") not in LOOK_AT_PICTURES:
            patch.setattr("sfumato.report.folder.picture_bytes", lambda *_, **__: b"not drawn")
            if not LOOK_AT_PAGES.search(request.path.read_text(encoding="utf-8")):
                patch.setattr("sfumato.report.folder.report_bytes", lambda *_, **__: b"not drawn")
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        if os.environ.get("CI"):
            pytest.fail("../shared is not there, and CI must not skip what needs it")
        pytest.skip("../shared is not there")
    return SHARED


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let maps be saved without pages and pictures, as where there is no room to draw: for tests of everything else."""
    from sfumato.texts.html import NoRoomError

    def no_room(*_: Any, **__: Any) -> bytes:
        raise NoRoomError

    for name in ("report_bytes", "picture_bytes"):
        monkeypatch.setattr(f"sfumato.report.folder.{name}", no_room)


@pytest.fixture
def counted_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second of a budget be twenty looks at the clock, of which a candidate takes a few: the same anywhere."""
    looks = count()
    monkeypatch.setattr("sfumato.tradeoff.search.tuner.time", SimpleNamespace(monotonic=lambda: next(looks) / 20))
    monkeypatch.setattr("sfumato.runtime.threads.time", SimpleNamespace(monotonic=lambda: 0.0))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("there is no Chromium, and CI must not skip what needs it")
        pytest.skip("there is no Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=FLAGS)
        started.new_context, started.new_page = patient(started.new_context), patient(started.new_page)
        yield started
        started.close()


def patient(make: Callable[..., Any]) -> Callable[..., Any]:
    """Let the pages that are made wait until what they wait for is there, unless it hangs."""

    def made(**options: Any) -> Any:
        page = make(**options)
        page.set_default_timeout(HANGING)
        return page

    return made


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Any]:
    from postgresql_server import Server, programs

    if programs() is None:
        if os.environ.get("CI"):
            pytest.fail("there is no PostgreSQL, and CI must not skip what needs it")
        pytest.skip("there is no PostgreSQL")
    server = Server()
    yield server
    server.remove()
