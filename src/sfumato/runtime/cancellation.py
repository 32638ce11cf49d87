"""Cancellation: Ctrl-C ends a command within seconds, any thread can cancel work, and closed pipes end the program.

**Ctrl-C.** A kernel without the GIL or a query of DuckDB blocks signals. So a command works in its own thread, and the
main thread only waits. At Ctrl-C it interrupts running queries, removes unfinished files and exits the process;
finished files remain. Work with results to keep (`ends_itself`) stops at its next `check_cancelled`, with a grace
period. No exception is raised in a working thread from outside: during LLVM compilation, or at the call or return of a
kernel, it would crash the process.

**Cancel.** A part of a process can be cancelled: its caller keeps a `Cancel`, and sets it from any thread.

**Closed pipes**, as in `sfumato audit ... | head -1`: the program ends quietly with exit code 141, the shell's code
(128 + SIGPIPE). Codes 0, 1 and 2 keep their meanings. Cleanup is the usual one. Click and Rich would exit with 1, "the
answer is no", so a closed pipe ends the program where bytes are written.

**Steps.** Long work reports each step to a listener, and can be cancelled there.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO
from weakref import WeakSet

from sfumato.errors import StoppedError

EXIT_CODE = StoppedError.exit_code

GRACE_SECONDS = 2.5
"""The grace period of a command."""

LOOK_SECONDS = 0.2
"""The interval in which waiting threads check for cancellation."""

_unfinished: set[Path] = set()
_running: WeakSet[Any] = WeakSet()
_finishing = threading.RLock()
_pressed = threading.Event()
_named = threading.Event()
_keeping: list[Cancel] = []
_looking = threading.Event()
_heard = threading.Event()
_last_words = ["stopped"]


@contextmanager
def unfinished(*paths: Path) -> Iterator[None]:
    """Register files or folders for removal if the process exits before they are complete."""
    _unfinished.update(paths)
    try:
        yield
    finally:
        if not _pressed.is_set():  # otherwise the process may exit before their maker has removed them
            _unfinished.difference_update(paths)


def removed_when_left(path: Path) -> Path:
    """Register a folder for removal when the process exits, in any way."""
    _unfinished.add(path)
    return path


@contextmanager
def finishing() -> Iterator[None]:
    """Block Ctrl-C while finished files are renamed."""
    with _finishing:
        yield


def named() -> None:
    """Note that finished files have been renamed, so only output is left."""
    _named.set()


@contextmanager
def last_words(sentence: str) -> Iterator[None]:
    """Print this sentence if the work inside is stopped."""
    _last_words.append(sentence)
    stopped = False
    try:
        yield
    except KeyboardInterrupt:
        stopped = True
        raise
    finally:
        if not stopped and not _pressed.is_set():
            _last_words.pop()


@contextmanager
def looks_itself() -> Iterator[None]:
    """Let the work inside check for Ctrl-C (`pressed`) and end itself within the grace period.

    It is for servers, so SIGTERM has the same effect.
    """
    _looking.set()
    _heard.wait(2 * LOOK_SECONDS)  # only the main thread can set the handler of SIGTERM; before, it kills the process
    try:
        yield
    finally:
        _looking.clear()
        _heard.clear()


def pressed() -> bool:
    """Return whether Ctrl-C was pressed; failures after it need no explanation."""
    return _pressed.is_set()


def interruptible(connection: Any) -> Any:
    """Register a connection, whose queries are interrupted by Ctrl-C and by the `Cancel` of its opener."""
    _running.add(connection)
    cancel = _cancel.get()
    if cancel is not None:
        cancel.connections.add(connection)
    return connection


class Cancel:
    """A request to stop, from any thread; work that has it stops within a second or at the next `check_cancelled`."""

    def __init__(self) -> None:
        self._wished = threading.Event()
        self.connections: WeakSet[Any] = WeakSet()
        """Databases whose queries are interrupted at once."""

    def set(self) -> None:
        """Request that the work stops."""
        self._wished.set()
        _interrupt_queries(self.connections)

    def is_set(self) -> bool:
        """Return whether the work should stop."""
        return self._wished.is_set()

    def check(self) -> None:
        """Raise `StoppedError` if the work should stop."""
        if self.is_set():
            raise StoppedError("stopped; what was measured is kept")


_cancel: ContextVar[Cancel | None] = ContextVar("cancel", default=None)


@contextmanager
def stops_at(cancel: Cancel) -> Iterator[None]:
    """Let the work inside stop at its next `check_cancelled` once this is set."""
    before = _cancel.set(cancel)
    try:
        yield
    finally:
        _cancel.reset(before)


@contextmanager
def ends_itself() -> Iterator[None]:
    """Let Ctrl-C stop the work inside at its next `check_cancelled`, with time to keep results.

    Other work is aborted at once.
    """
    cancel = Cancel()
    _keeping.append(cancel)
    try:
        with stops_at(cancel):
            yield
    finally:
        _keeping.remove(cancel)


def check_cancelled() -> None:
    """Raise if this work was cancelled. Cheap: for loops with iterations of milliseconds."""
    cancel = _cancel.get()
    if cancel is not None:
        cancel.check()


def run(work: Callable[[], int]) -> int:
    """Run a command in a thread and return its exit code; at Ctrl-C, print the last words and exit."""
    ended: list[int | BaseException] = []
    over = threading.Event()  # after an interrupted join, Python 3.11 would consider the thread itself ended

    def whole() -> None:
        try:
            ended.append(work())
        except BaseException as error:
            ended.append(error)
        finally:
            over.set()

    worker = threading.Thread(target=whole, name="sfumato", daemon=True)
    try:
        worker.start()  # Ctrl-C while the thread starts counts, too
        while not over.wait(LOOK_SECONDS):
            if _looking.is_set():
                signal.signal(signal.SIGTERM, signal.default_int_handler)
                _heard.set()
    except KeyboardInterrupt:
        _pressed.set()
        if _keeping:
            for cancel in list(_keeping):
                cancel.set()
            with suppress(KeyboardInterrupt):  # pressed again: exit at once
                over.wait(GRACE_SECONDS)
        elif _named.is_set() or _looking.is_set():  # its files exist, so "stopped" would be false
            with suppress(KeyboardInterrupt):
                over.wait(2 * GRACE_SECONDS if _looking.is_set() else GRACE_SECONDS)
        _interrupt_queries(_running)
        if not ended or ended[0] != 0:
            _leave(ended[0] if ended else None)
    if isinstance(ended[0], BaseException):
        raise ended[0]
    if ended[0] == EXIT_CODE:
        print(f"sfumato: {_last_words[-1]}", file=sys.stderr)
    return ended[0]


def _interrupt_queries(connections: WeakSet[Any]) -> None:
    for connection in list(connections):
        with suppress(Exception):
            connection.interrupt()


def _close_connections() -> None:
    """Close databases, which removes their files; one with a running query would wait."""
    for connection in list(_running):
        with suppress(Exception):
            connection.close()


def remove_unfinished() -> None:
    """Remove unfinished files before the process exits while other threads still work."""
    for path in list(_unfinished):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _leave(ended: int | BaseException | None) -> None:
    """Remove unfinished files and exit the process; other threads print nothing any more."""
    _finishing.acquire(timeout=GRACE_SECONDS / 2)
    words = str(ended) if isinstance(ended, StoppedError) else _last_words[-1]
    streams, nowhere = (sys.stdout, sys.stderr), Path(os.devnull).open("w")  # noqa: SIM115 (the process ends)
    sys.stdout = sys.stderr = nowhere
    with suppress(OSError, ValueError):
        print(f"sfumato: {words}", file=streams[1])
    closing = threading.Thread(target=_close_connections, daemon=True)
    closing.start()
    closing.join(LOOK_SECONDS)
    remove_unfinished()
    for stream in streams:
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(EXIT_CODE)


CLOSED_PIPE = 141
"""The exit code of a program whose output is closed."""


class _Pipe(io.FileIO):
    """A pipe that ends the program when its other end is closed; buffered output is discarded."""

    def write(self, data: Any, /) -> int:
        """Write bytes."""
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            raise SystemExit(CLOSED_PIPE) from None


def end_quietly_when_closed() -> None:
    """Make standard streams that are pipes end the program when their other end is closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if _is_pipe(stream):
            stream.flush()
            raw = _Pipe(stream.fileno(), "w", closefd=False)
            buffered = io.BufferedWriter(raw)
            line_by_line = stream.line_buffering
            setattr(sys, name, io.TextIOWrapper(buffered, stream.encoding, stream.errors, line_buffering=line_by_line))


def _is_pipe(stream: TextIO | None) -> bool:
    try:
        mode = 0 if stream is None else os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):  # a stream in memory, or a closed one
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@contextmanager
def told_to(listener: Callable[[str], None]) -> Iterator[None]:
    """Report every step of the work inside to a listener."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def step(name: str) -> None:
    """Report that a step begins; raise if this work was cancelled.

    >>> heard: list[str] = []
    >>> with told_to(heard.append):
    ...     step("write")
    >>> heard
    ['write']
    """
    check_cancelled()
    listener = _listener.get()
    if listener is not None:
        listener(name)
