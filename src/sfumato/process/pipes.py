"""Output whose reader may go away, as in `sfumato audit ... | head -1`: the program ends quietly, with exit code 141.

That is the shell's code for a closed pipe (128 + SIGPIPE). It says that nobody reads any more, not what the answer was;
0, 1 and 2 keep their meanings. What was begun is cleaned up as after any other end. Click and Rich would each exit with
1, "the answer is no", so a closed pipe is turned into the end of the program where bytes are written.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from typing import Any, TextIO

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
