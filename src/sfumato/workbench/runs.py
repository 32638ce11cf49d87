"""Runs under way: each a process of its own (`worker`), told about to whoever listens, stopped when the workbench ends.

Nothing is kept here that is not on disk as well: points are in the cache of the project, how the last run ended stands
in its notes. A run that was stopped goes on from there when it is started again.

What is being published just now: one publication of a project at a time, watched and stopped from any tab.

A publication works in the thread of the request that asked for it. It tells each step as it begins (`process.steps`);
who stops it interrupts its queries, and nothing of it stays: files get their names together, after the last step.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, get_args

from sfumato.config.documents import to_plain
from sfumato.errors import SfumatoError
from sfumato.publish.publication import STEPS
from sfumato.runtime.cancellation import EXIT_CODE, Cancel, stops_at, told_to
from sfumato.texts.catalogue import t
from sfumato.workbench.errors import ConflictError
from sfumato.workbench.opened_data import all_in_forms
from sfumato.workbench.projects import MAPPED, Project, hold, let_go
from sfumato.workbench.worker import RunTask

State = Literal["idle", "waiting", "running", "done", "stopped", "failed"]
STATES: tuple[State, ...] = get_args(State)
UNDER_WAY = ("waiting", "running")

GRACE_SECONDS = 5.0
"""So long a worker may take to end by itself; then it is killed."""

CLOSING_SECONDS = 1.2
"""So long the workbench waits for its runs when it ends itself."""

PULSE_SECONDS = 15.0
"""Who listens hears something so often, so that a connection that is gone is noticed."""

PAUSE_SECONDS = 0.1
"""Between two things that a listener is told; what happens meanwhile is told together."""

MOST_NOTES = 50


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    state: State = "idle"
    done: int = 0
    total: int = 0
    unit: str = "releases"
    """What is counted: releases, seconds of a budget, generations of a search."""

    last: str = ""
    sentence: str = ""
    """What is to be said of it."""

    started: float | None = None
    """Seconds since 1970."""

    notes: tuple[str, ...] = ()

    @property
    def is_under_way(self) -> bool:
        """Whether it has not ended."""
        return self.state in UNDER_WAY

    def values(self) -> dict[str, Any]:
        """What is told of it."""
        return all_in_forms(asdict(self))


class Run:
    """One run: its progress and points so far, and whoever waits for more."""

    def __init__(
        self, project: Project, seconds: float | None, question: str | None, slots: threading.Semaphore
    ) -> None:
        self.project, self.seconds, self.question, self._slots = project, seconds, question, slots
        self.id = token_hex(6)
        self.progress = Progress("waiting", sentence=t("run.waiting"), started=time.time())
        self.points: list[dict[str, Any]] = []
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._waiting: set[Callable[[], object]] = set()
        self._process: subprocess.Popen[str] | None = None
        self.thread = threading.Thread(target=self._whole, name="sfumato-run", daemon=True)

    def cancel(self) -> None:
        """Wish that it ends; it does within seconds."""
        self._cancelled.set()
        with self._lock:
            process = self._process
        if process is not None:
            with suppress(OSError):
                assert process.stdin is not None
                process.stdin.close()
            killing = threading.Timer(GRACE_SECONDS, process.kill)
            killing.daemon = True
            killing.start()

    def listen(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Have something called whenever there is more to tell; return what ends that."""
        with self._lock:
            self._waiting.add(wake)
        return lambda: self._waiting.discard(wake)

    def _tell(self, **changed: Any) -> None:
        with self._lock:
            self.progress = replace(self.progress, **changed)
        self.wake()

    def wake(self) -> None:
        """Let everybody who listens look."""
        with self._lock:
            waiting = list(self._waiting)
        for wake in waiting:
            with suppress(RuntimeError):  # its loop has ended
                wake()

    def _whole(self) -> None:
        """Wait for a place, do the work, and leave word of how it ended."""
        ended: dict[str, Any] = {"state": "stopped", "sentence": t("run.stopped")}
        while not self._cancelled.is_set():
            if self._slots.acquire(timeout=0.2):
                try:
                    ended = self._work()
                except Exception:  # whatever it was, nobody shall wait for a run that has ended
                    ended = {"state": "failed", "sentence": t("run.died")}
                finally:
                    self._slots.release()
                break
        mapped: dict[str, Any] = {}
        with suppress(OSError, SfumatoError):  # the folder may be gone
            mapped = {MAPPED: self.project.mapped()} if ended["state"] == "done" else {}
        let_go(self.project.folder)
        with suppress(OSError, SfumatoError):
            self.project.note(run=replace(self.progress, **ended).values(), **mapped)
        self._tell(**ended)

    def _work(self) -> dict[str, Any]:
        """Let a process do the run; say how it ended."""
        process = self._begun()
        said = ""
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            kind = event.pop("kind")
            if kind == "end":
                said = event["sentence"]
            else:
                self._heard(kind, event)
        code = process.wait()
        if code == 0:  # also where it was cancelled in the moment in which its map was there
            return {"state": "done", "sentence": said}
        if self._cancelled.is_set() or code == EXIT_CODE:
            return {"state": "stopped", "sentence": t("run.stopped")}
        return {"state": "failed", "sentence": said or t("run.died")}

    def _begun(self) -> subprocess.Popen[str]:
        """Start the process; what it is to do goes in by a pipe, where no list of processes shows it."""
        desk = self.project.desk
        errors = None if os.environ.get("SFUMATO_DEBUG") else subprocess.DEVNULL
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "sfumato.workbench.worker"],
            cwd=desk.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            encoding="utf-8",
            start_new_session=True,
        )
        with self._lock:
            self._process = process
        self._tell(state="running", sentence=t("run.running"))
        with suppress(OSError, ValueError):  # who cancels just now has closed it
            assert process.stdin is not None
            process.stdin.write(RunTask(self.project.name, desk.trust, self.seconds, self.question).line())
            process.stdin.flush()
        if self._cancelled.is_set():
            self.cancel()
        return process

    def _heard(self, kind: str, event: Mapping[str, Any]) -> None:
        if kind == "progress":
            self._tell(**event)
        elif kind == "saving":
            self._tell(sentence=t("run.saving"))
        elif kind == "note":
            self._tell(notes=(*self.progress.notes, event["sentence"])[-MOST_NOTES:])
        elif kind == "point":
            self.points.append(event["point"])
            self._tell()


class Runs:
    """All runs under way, one of a project at most; so many at once as there are cores, the others wait."""

    def __init__(self, at_once: int | None = None) -> None:
        self._slots = threading.Semaphore(at_once or os.cpu_count() or 1)
        self._runs: dict[Path, Run] = {}
        self._lock = threading.Lock()
        self.is_closed = False

    def start(self, project: Project, seconds: float | None = None, question: str | None = None) -> Progress:
        """Begin a run, or go on with one that was stopped; a question says what is searched for in its seconds."""
        with self._lock:
            if self._under_way(project) is not None:
                raise ConflictError(t("run.already", project=project.name))
            if self.is_closed:
                raise ConflictError(t("run.closed"))
            self._runs = {place: each for place, each in self._runs.items() if each.thread.is_alive()}
            run = self._runs[project.folder.resolve()] = Run(project, seconds, question, self._slots)
            project.note(run=run.progress.values())
            hold(project.folder)
            run.thread.start()
        return run.progress

    def cancel(self, project: Project) -> Progress:
        """Stop the run of a project; what was measured is kept."""
        run = self._under_way(project)
        if run is None:
            raise ConflictError(t("run.none", project=project.name))
        run.cancel()
        return run.progress

    def progress(self, project: Project) -> Progress:
        """Say how far the run of a project is, or how the last one ended."""
        run = self._under_way(project)
        return _noted(project) if run is None else run.progress

    def told(self, project: Project) -> list[dict[str, Any]]:
        """Return the points that a run of a project which is under way has measured so far."""
        run = self._under_way(project)
        return [] if run is None else list(run.points)

    def _under_way(self, project: Project) -> Run | None:
        run = self._runs.get(project.folder.resolve())
        return run if run is not None and run.progress.is_under_way else None

    async def events(self, project: Project, last: str = "") -> AsyncIterator[str]:
        """Tell of a run as it goes, as server-sent events: `progress`, every `point`, and `end`.

        `last` is the id of the last event that whoever listens has heard: which run it was of, and how many points
        were told by then. Points of this run that were told are not told again.
        """
        run = self._under_way(project)
        if run is None:
            yield _event("end", "", _noted(project).values())
            return
        begun, _, number = last.partition("-")
        told = int(number) if begun == run.id else 0
        wake, loop = asyncio.Event(), asyncio.get_running_loop()
        end = run.listen(lambda: loop.call_soon_threadsafe(wake.set))
        try:
            while True:
                wake.clear()
                progress = run.progress
                for point in run.points[told:]:
                    told += 1
                    yield _event("point", f"{run.id}-{told}", point)
                if not progress.is_under_way or self.is_closed:
                    yield _event("end", f"{run.id}-{told}", progress.values())
                    return
                yield _event("progress", f"{run.id}-{told}", progress.values())
                await asyncio.sleep(PAUSE_SECONDS)
                try:
                    await asyncio.wait_for(wake.wait(), PULSE_SECONDS)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            end()

    def close(self) -> None:
        """End all runs, and whoever listens; a worker that takes longer ends by itself, for its pipe is closed."""
        with self._lock:
            self.is_closed = True
            runs = [run for run in self._runs.values() if run.thread.is_alive()]
        for run in runs:
            run.cancel()
            run.wake()
        ends = time.monotonic() + CLOSING_SECONDS
        for run in runs:
            run.thread.join(max(0.0, ends - time.monotonic()))


def _noted(project: Project) -> Progress:
    """Say how the last run of a project ended: what stands in its notes, or that it has a map."""
    noted: dict[str, Any] = project.notes().get("run") or {}
    if not noted:
        return Progress("done", sentence=t("run.elsewhere")) if project.is_explored else Progress()
    known = {name: noted[name] for name in Progress.__dataclass_fields__ if name in noted}
    progress = Progress(**{**known, "notes": tuple(known.get("notes", ()))})
    if progress.is_under_way:  # the workbench itself was ended meanwhile
        return replace(progress, state="stopped", sentence=t("run.stopped"))
    return progress


def _event(kind: str, id: str, values: Mapping[str, Any]) -> str:
    return f"event: {kind}\nid: {id}\ndata: {json.dumps(to_plain(dict(values)))}\n\n"


LOOK_SECONDS = 0.05


class UnderWay:
    """One publication: which file it writes, at which step it is, and the wish that it ends."""

    def __init__(self, file: str) -> None:
        self.file, self.step = file, STEPS[0]
        self.cancel = Cancel()

    def tell(self, step: str) -> None:
        """Hear which step begins."""
        self.step = step

    def values(self) -> dict[str, Any]:
        """What is told of it."""
        stopping = self.cancel.is_set()
        return {
            "under_way": True,
            "file": self.file,
            "step": STEPS.index(self.step) + 1,
            "steps": len(STEPS),
            "sentence": t("publish.stopping") if stopping else t(f"publish.step_{self.step}"),
        }


IDLE = {"under_way": False, "file": "", "step": 0, "steps": len(STEPS), "sentence": ""}


class Publications:
    """All publications under way, by the folder that they write into."""

    def __init__(self) -> None:
        self._under_way: dict[Path, UnderWay] = {}
        self._lock = threading.Lock()
        self.is_closed = False

    @contextmanager
    def alone(self, folder: Path, file: str) -> Iterator[None]:
        """Let one publication at a time into a folder, and be watched; a second is told to wait."""
        place, begun = folder.resolve(), UnderWay(file)
        with self._lock:
            if place in self._under_way:
                raise ConflictError(t("publish.busy"))
            if self.is_closed:
                raise ConflictError(t("run.closed"))
            self._under_way[place] = begun
        try:
            with stops_at(begun.cancel), told_to(begun.tell):
                yield
        except Exception:  # a query that was interrupted fails in a way of its own
            if begun.cancel.is_set():
                raise ConflictError(t("publish.stopped")) from None
            raise
        finally:
            with self._lock:
                del self._under_way[place]

    def progress(self, folder: Path) -> dict[str, Any]:
        """Say how far the publication into a folder is."""
        under_way = self._under_way.get(folder.resolve())
        return dict(IDLE) if under_way is None else under_way.values()

    def cancel(self, folder: Path) -> dict[str, Any]:
        """Stop the publication into a folder: unless its files are just getting their names, nothing is written."""
        under_way = self._under_way.get(folder.resolve())
        if under_way is None:
            raise ConflictError(t("publish.nothing_under_way"))
        under_way.cancel.set()
        return under_way.values()

    def close(self) -> None:
        """Stop all of them, and wait a moment until they have."""
        with self._lock:
            self.is_closed = True
            under_way = list(self._under_way.values())
        for each in under_way:
            each.cancel.set()
        ends = time.monotonic() + CLOSING_SECONDS
        while self._under_way and time.monotonic() < ends:
            time.sleep(LOOK_SECONDS)
