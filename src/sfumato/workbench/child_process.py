"""Opening a file in a child process with limits, which ends with its request.

A file may unpack to more than the memory, or take minutes. So a child opens each file first. It is forked from a server
process that has imported everything and run nothing. The child is killed if it exceeds its memory or time limit, if
nobody waits for the answer, or if the workbench ends.
"""

import multiprocessing
import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sfumato.errors import SfumatoError, unforeseen
from sfumato.runtime.memory import GIGABYTE, OpeningLimits, in_force
from sfumato.texts.catalogue import refusal, t
from sfumato.workbench.errors import TooLargeError

LOOKED_AGAIN = 0.02
"""Seconds between two checks of a child."""

PRELOADED = ("sfumato.workbench.views.open",)


def run_apart(
    function: Callable[..., Any], arguments: Sequence[Any], limits: OpeningLimits, gone: threading.Event
) -> Any:
    """Call a function of a module in a child, and return its result; raise its error, if it is ours.

    `gone` is set when nobody waits any more.
    """
    context: Any = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
    if hasattr(os, "fork"):
        context.set_forkserver_preload(list(PRELOADED))
    ours, theirs = context.Pipe()
    child = context.Process(target=_work, args=(theirs, function, tuple(arguments), limits), daemon=True)
    child.start()
    theirs.close()
    try:
        return _answer(ours, child, limits, gone)
    finally:
        ours.close()
        child.kill()
        child.join()


def _answer(ours: Connection, child: Any, limits: OpeningLimits, gone: threading.Event) -> Any:
    """Wait for the answer of a child within its limits."""
    last = time.monotonic() + limits.seconds
    while not ours.poll(LOOKED_AGAIN):
        if gone.is_set():
            raise refusal("apart.gone")
        if time.monotonic() > last:
            raise TooLargeError(t("apart.seconds", seconds=f"{limits.seconds:g}"))
        if resident_bytes(child.pid) > limits.memory:
            raise TooLargeError(t("apart.memory", most=f"{limits.memory / GIGABYTE:g}"))
    try:
        error, result = ours.recv()
    except EOFError:  # killed from outside, for example by the system for lack of memory
        raise TooLargeError(t("apart.died")) from None
    if error is not None:
        raise error
    return result


def resident_bytes(process: int) -> int:
    """Return the memory of a process; 0 if it has ended or the size is unknown."""
    with suppress(OSError, ValueError, IndexError):
        if Path("/proc/self/statm").is_file():
            pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
            return int(pages) * os.sysconf("SC_PAGE_SIZE")
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=False)
        return 1024 * int(told.stdout)
    return 0


def _work(theirs: Connection, function: Callable[..., Any], arguments: tuple[Any, ...], limits: OpeningLimits) -> None:
    """Do the work of a child, and send its result."""
    threading.Thread(target=_end_with, args=(theirs,), daemon=True).start()
    in_force.set(limits)
    answer: tuple[SfumatoError | None, Any]
    try:
        answer = (None, function(*arguments))
    except SfumatoError as error:
        answer = (error, None)
    except Exception as error:
        answer = (SfumatoError(unforeseen(error, shown=False)), None)
    with suppress(BrokenPipeError, OSError):
        theirs.send(answer)
    os._exit(0)


def _end_with(theirs: Connection) -> None:
    """End this process when the workbench has closed its end of the pipe, for any reason."""
    with suppress(EOFError, OSError):
        theirs.recv()
    os._exit(1)
