"""Running explorations and publications: started, watched and stopped from any tab.

**Runs.** Each is a separate process (`worker`). Its state is on disk as well: points are in the cache of the project,
and the end of the last run is in its notes. A stopped run continues when it is started again. Runs end with the
workbench.

**Publications.** One at a time for each project, in the thread of its request. Each step is reported when it begins
(`process.steps`). Stopping interrupts its queries and leaves nothing behind, because all files are renamed together
after the last step.
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
"""Seconds for a worker to end before it is killed."""

CLOSING_SECONDS = 1.2
"""Seconds that the workbench waits for its runs when it ends."""

PULSE_SECONDS = 15.0
"""The interval of messages to a listener, which detect a lost connection."""

PAUSE_SECONDS = 0.1
"""The least interval between two messages to a listener; events in between are combined."""

MOST_NOTES = 50


@dataclass(frozen=True)
class Progress:
    """The progress of a run."""

    state: State = "idle"
    done: int = 0
    total: int = 0
    unit: str = "releases"
    """The unit of the count: releases, seconds of a budget, generations of a search."""

    last: str = ""
    sentence: str = ""
    """A sentence about it."""

    started: float | None = None
    """Seconds since 1970."""

    notes: tuple[str, ...] = ()

    @property
    def is_under_way(self) -> bool:
        """Whether it has not ended."""
        return self.state in UNDER_WAY

    def values(self) -> dict[str, Any]:
        """Return the values of the JSON answer."""
        return all_in_forms(asdict(self))


class Run:
    """One run: its progress and points so far, and its listeners."""

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
        """Request that it ends; it does within seconds."""
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
        """Register a callback for news; return a function that removes it."""
        with self._lock:
            self._waiting.add(wake)
        return lambda: self._waiting.discard(wake)

    def _tell(self, **changed: Any) -> None:
        with self._lock:
            self.progress = replace(self.progress, **changed)
        self.wake()

    def wake(self) -> None:
        """Notify all listeners."""
        with self._lock:
            waiting = list(self._waiting)
        for wake in waiting:
            with suppress(RuntimeError):  # its loop has ended
                wake()

    def _whole(self) -> None:
        """Wait for a slot, do the work, and note how it ended."""
        ended: dict[str, Any] = {"state": "stopped", "sentence": t("run.stopped")}
        while not self._cancelled.is_set():
            if self._slots.acquire(timeout=0.2):
                try:
                    ended = self._work()
                except Exception:  # listeners must not wait for a run that has failed
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
        """Let a process do the run; return how it ended."""
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
        if code == 0:  # also if it was cancelled when its map was complete
            return {"state": "done", "sentence": said}
        if self._cancelled.is_set() or code == EXIT_CODE:
            return {"state": "stopped", "sentence": t("run.stopped")}
        return {"state": "failed", "sentence": said or t("run.died")}

    def _begun(self) -> subprocess.Popen[str]:
        """Start the process; its task is sent through a pipe, so that no list of processes shows it."""
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
        with suppress(OSError, ValueError):  # a concurrent cancellation has closed it
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
    """All running runs, at most one per project; as many at once as there are cores, the others wait."""

    def __init__(self, at_once: int | None = None) -> None:
        self._slots = threading.Semaphore(at_once or os.cpu_count() or 1)
        self._runs: dict[Path, Run] = {}
        self._lock = threading.Lock()
        self.is_closed = False

    def start(self, project: Project, seconds: float | None = None, question: str | None = None) -> Progress:
        """Start a run, or continue a stopped one; a question directs the search within its seconds."""
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
        """Stop the run of a project; measured points are kept."""
        run = self._under_way(project)
        if run is None:
            raise ConflictError(t("run.none", project=project.name))
        run.cancel()
        return run.progress

    def progress(self, project: Project) -> Progress:
        """Return the progress of a project's run, or the end of the last one."""
        run = self._under_way(project)
        return _noted(project) if run is None else run.progress

    def point_fields(self, project: Project) -> list[dict[str, Any]]:
        """Return the points that a running run of a project has measured so far."""
        run = self._under_way(project)
        return [] if run is None else list(run.points)

    def _under_way(self, project: Project) -> Run | None:
        run = self._runs.get(project.folder.resolve())
        return run if run is not None and run.progress.is_under_way else None

    async def events(self, project: Project, last: str = "") -> AsyncIterator[str]:
        """Stream a run as server-sent events: `progress`, every `point`, and `end`.

        `last` is the id of the last event that the listener received. It contains the run and the number of sent
        points. Points of this run are not sent twice.
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
        """End all runs and notify listeners; a slower worker ends because its pipe is closed."""
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
    """Return how the last run of a project ended: from its notes, or done if it has a map."""
    noted: dict[str, Any] = project.notes().get("run") or {}
    if not noted:
        return Progress("done", sentence=t("run.elsewhere")) if project.is_explored else Progress()
    known = {name: noted[name] for name in Progress.__dataclass_fields__ if name in noted}
    progress = Progress(**{**known, "notes": tuple(known.get("notes", ()))})
    if progress.is_under_way:  # the workbench was ended during the run
        return replace(progress, state="stopped", sentence=t("run.stopped"))
    return progress


def _event(kind: str, id: str, values: Mapping[str, Any]) -> str:
    return f"event: {kind}\nid: {id}\ndata: {json.dumps(to_plain(dict(values)))}\n\n"


LOOK_SECONDS = 0.05


class UnderWay:
    """One publication: its file, its current step, and a request to stop."""

    def __init__(self, file: str) -> None:
        self.file, self.step = file, STEPS[0]
        self.cancel = Cancel()

    def tell(self, step: str) -> None:
        """Set the current step."""
        self.step = step

    def values(self) -> dict[str, Any]:
        """Return the values of the JSON answer."""
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
    """All running publications, by the folder that they write into."""

    def __init__(self) -> None:
        self._under_way: dict[Path, UnderWay] = {}
        self._lock = threading.Lock()
        self.is_closed = False

    @contextmanager
    def alone(self, folder: Path, file: str) -> Iterator[None]:
        """Run one publication in a folder; a second one is refused."""
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
        except Exception:  # an interrupted query raises various errors
            if begun.cancel.is_set():
                raise ConflictError(t("publish.stopped")) from None
            raise
        finally:
            with self._lock:
                del self._under_way[place]

    def progress(self, folder: Path) -> dict[str, Any]:
        """Return the progress of the publication into a folder."""
        under_way = self._under_way.get(folder.resolve())
        return dict(IDLE) if under_way is None else under_way.values()

    def cancel(self, folder: Path) -> dict[str, Any]:
        """Stop the publication into a folder; nothing is written unless its files are being renamed already."""
        under_way = self._under_way.get(folder.resolve())
        if under_way is None:
            raise ConflictError(t("publish.nothing_under_way"))
        under_way.cancel.set()
        return under_way.values()

    def close(self) -> None:
        """Stop all of them, and wait briefly for their end."""
        with self._lock:
            self.is_closed = True
            under_way = list(self._under_way.values())
        for each in under_way:
            each.cancel.set()
        ends = time.monotonic() + CLOSING_SECONDS
        while self._under_way and time.monotonic() < ends:
            time.sleep(LOOK_SECONDS)
