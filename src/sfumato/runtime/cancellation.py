"""Ctrl-C ends a command within seconds, wherever it is.

A kernel without the GIL and a query of DuckDB let no signal through while they run. So a command works in a thread of
its own, and the main thread does nothing but wait. At Ctrl-C it interrupts the queries that run, removes what is
unfinished and leaves the process; what was finished stays. Work that has something to keep (`ends_itself`) is stopped
where it next looks, and has a grace to end in its own way. No exception is raised from outside in a thread that works:
where LLVM compiles, or a kernel is just called or returns, it would crash the process.

A part of a process can be stopped as well: whoever begins it keeps a `Cancel`, and sets it from any thread.

Output whose reader may go away, as in `sfumato audit ... | head -1`: the program ends quietly, with exit code 141.

That is the shell's code for a closed pipe (128 + SIGPIPE). It says that nobody reads any more, not what the answer was;
0, 1 and 2 keep their meanings. What was begun is cleaned up as after any other end. Click and Rich would each exit with
1, "the answer is no", so a closed pipe is turned into the end of the program where bytes are written.

Where long work is: it names each step as it begins, to whoever listens, and may be stopped there.
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
"""So long a command may take to end in its own way."""

LOOK_SECONDS = 0.2
"""Whoever waits for others looks up so often."""

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
    """Say that files or folders are not to be left behind, should the process be left before they are done."""
    _unfinished.update(paths)
    try:
        yield
    finally:
        if not _pressed.is_set():  # else the process may be left before who made them has removed them
            _unfinished.difference_update(paths)


def removed_when_left(path: Path) -> Path:
    """Let a folder that lives as long as the process go with it, also where it is left at once."""
    _unfinished.add(path)
    return path


@contextmanager
def finishing() -> Iterator[None]:
    """Keep Ctrl-C out for the moment in which finished files get their names."""
    with _finishing:
        yield


def named() -> None:
    """Say that finished files have got their names, so that what is left is to tell of them."""
    _named.set()


@contextmanager
def last_words(sentence: str) -> Iterator[None]:
    """Say this, should the work inside be stopped."""
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
    """Let the work inside look for Ctrl-C by itself (`pressed`) and end in its own way within the grace.

    It is for what runs until it is told to end, so a wish of the system that it ends (SIGTERM) is the same to it.
    """
    _looking.set()
    _heard.wait(2 * LOOK_SECONDS)  # only the main thread can say what SIGTERM does; before that it would be the end
    try:
        yield
    finally:
        _looking.clear()
        _heard.clear()


def pressed() -> bool:
    """Say whether Ctrl-C was pressed, so that whatever then fails need not be explained."""
    return _pressed.is_set()


def interruptible(connection: Any) -> Any:
    """Let the queries of a connection be interrupted by Ctrl-C, and by the `Cancel` of whoever opens it."""
    _running.add(connection)
    cancel = _cancel.get()
    if cancel is not None:
        cancel.connections.add(connection)
    return connection


class Cancel:
    """A wish to stop, which any thread may express; who was handed it stops within a second or at the next `look`."""

    def __init__(self) -> None:
        self._wished = threading.Event()
        self.connections: WeakSet[Any] = WeakSet()
        """Databases whose queries are interrupted at once."""

    def set(self) -> None:
        """Wish that the work stops."""
        self._wished.set()
        _interrupt_queries(self.connections)

    def is_set(self) -> bool:
        """Say whether the work shall stop."""
        return self._wished.is_set()

    def look(self) -> None:
        """Raise `StoppedError` if the work shall stop."""
        if self.is_set():
            raise StoppedError("stopped; what was measured is kept")


_cancel: ContextVar[Cancel | None] = ContextVar("cancel", default=None)


@contextmanager
def stops_at(cancel: Cancel) -> Iterator[None]:
    """Let the work inside stop where it looks, once this is set."""
    before = _cancel.set(cancel)
    try:
        yield
    finally:
        _cancel.reset(before)


@contextmanager
def ends_itself() -> Iterator[None]:
    """Let Ctrl-C stop the work inside where it looks, with the time to keep what was found.

    Other work is left at once.
    """
    cancel = Cancel()
    _keeping.append(cancel)
    try:
        with stops_at(cancel):
            yield
    finally:
        _keeping.remove(cancel)


def look() -> None:
    """Stop here, if whoever began this work wishes so. Cheap: for loops whose every turn takes milliseconds."""
    cancel = _cancel.get()
    if cancel is not None:
        cancel.look()


def run(work: Callable[[], int]) -> int:
    """Do a command's work in a thread and return its exit code; at Ctrl-C, say the last words and leave."""
    ended: list[int | BaseException] = []
    over = threading.Event()  # an interrupted join of the thread itself would hold it for ended (Python 3.11)

    def whole() -> None:
        try:
            ended.append(work())
        except BaseException as error:
            ended.append(error)
        finally:
            over.set()

    worker = threading.Thread(target=whole, name="sfumato", daemon=True)
    try:
        worker.start()  # pressed while the thread begins, it is Ctrl-C all the same
        while not over.wait(LOOK_SECONDS):
            if _looking.is_set():
                signal.signal(signal.SIGTERM, signal.default_int_handler)
                _heard.set()
    except KeyboardInterrupt:
        _pressed.set()
        if _keeping:
            for cancel in list(_keeping):
                cancel.set()
            with suppress(KeyboardInterrupt):  # pressed again: at once
                over.wait(GRACE_SECONDS)
        elif _named.is_set() or _looking.is_set():  # its files are there: that it was stopped would not be true
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
    """Close databases, which removes what they have put on disk; one that still answers a query would wait."""
    for connection in list(_running):
        with suppress(Exception):
            connection.close()


def remove_unfinished() -> None:
    """Remove what is not done: for whoever is about to leave the process while other threads still work."""
    for path in list(_unfinished):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _leave(ended: int | BaseException | None) -> None:
    """Remove what is unfinished and leave the process, whatever its other threads do; they say nothing any more."""
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
"""The exit code of a program whose output nobody reads any more."""


class _Pipe(io.FileIO):
    """A pipe that ends the program when it is closed at the other end; what is still buffered goes nowhere."""

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
    """Let the standard streams, where they are pipes, end the program when their reader goes away."""
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
    """Let somebody hear of every step of the work inside."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def step(name: str) -> None:
    """Say that a step begins; stop here, if whoever began this work wishes so.

    >>> heard: list[str] = []
    >>> with told_to(heard.append):
    ...     step("write")
    >>> heard
    ['write']
    """
    look()
    listener = _listener.get()
    if listener is not None:
        listener(name)
