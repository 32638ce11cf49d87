"""The command line in this process: a process of its own takes two seconds to start, and is seldom the point."""

from __future__ import annotations

import io
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from sfumato.commands import app as cli


class Ended(NamedTuple):
    """How a command ended, in the words of `subprocess`."""

    returncode: int
    stdout: str
    stderr: str


def run(*words: Any, cwd: str | Path | None = None) -> Ended:
    """Run a command as a shell would; an exception that leaves it fails the test, as a traceback would."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    given = mock.patch.object(sys, "argv", ["sfumato", *map(str, words)])
    with given, chdir(cwd or os.curdir), redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Ended(code, out.getvalue(), err.getvalue())


def told(*words: Any) -> tuple[int, str]:
    """Run a command; return its exit code and what it printed on both channels."""
    ended = run(*words)
    assert "should not have happened" not in ended.stderr, ended.stderr
    return ended.returncode, ended.stderr + ended.stdout
