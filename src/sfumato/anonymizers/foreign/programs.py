"""Releases that a program or a function makes: any synthesizer or vendor's tool becomes a candidate.

A program is started without a shell in a folder of its own, with the table beside it as a CSV file of the columns that
would be published and no others. It has a time limit; its input is closed; what it writes to its outputs is kept out of
every message, since it may show records. Of the environment it is given what programs need to be found, and what is
named for it: keys and passwords of the shell are not its business. What it writes to `{out}` is read like any file that
was made elsewhere.
"""

from __future__ import annotations

import inspect
import os
import re
import secrets
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.foreign.brought import DIGITS, Brought, BroughtFile, Content
from sfumato.arrays import Counts
from sfumato.configuration import Option
from sfumato.engines.text_files import csv_line
from sfumato.errors import BadInputError
from sfumato.process.interrupts import interruptible, look, unfinished
from sfumato.release.frames import pandas_frame, typed
from sfumato.table import Table
from sfumato.table.held_out import RemainingTable

PLACES = ("{table}", "{out}", "{seed}")
LOOK_SECONDS = 0.05
"""How often a program that runs is looked after."""

USUAL_SECONDS = 600.0
ORDER_SEED = 0
"""Rows are handed over in an order that depends on nothing but the number of rows: not on where they stood."""

PLAIN_WORD = re.compile(r"[\w./{}:=,+@%-]+")
KEPT_VARIABLES = ("PATH", "HOME", "LANG", "SYSTEMROOT")
"""What every program is given of the environment, as far as it is set; the last is Windows' own."""

SEED_BITS = 31
"""Seeds that every language reads as a whole number."""


@dataclass(frozen=True, kw_only=True)
class BroughtCommand(Brought):
    """A program of anybody that reads a CSV file and writes another: a synthesizer, a vendor's tool, a script."""

    run: Annotated[
        str,
        Option(
            "The command: {table} is the CSV file that it is given, {out} the file that it must write, {seed} a whole "
            "number."
        ),
    ]
    timeout: Annotated[float, Option("The seconds after which it is ended.", more_than=0)] = USUAL_SECONDS
    environment: Annotated[
        str,
        Option(
            "Variables of the environment that it is given beside PATH, HOME and LANG, with commas between; in a "
            "study a list."
        ),
    ] = ""
    seed: Annotated[
        int | None,
        Option("What {seed} is; without one a map draws it from the settings, and what is published afresh.", least=0),
    ] = None

    runs: ClassVar[bool] = True
    name: ClassVar[str] = "command"
    title: ClassVar[str] = "Made by a program"
    example: ClassVar[str | None] = 'command run="python make.py {table} {out}"'
    caution: ClassVar[str] = BroughtFile.caution
    effort: ClassVar[float] = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.run:
            return
        lacking = [place for place in PLACES[:2] if place not in self.run]
        if lacking:
            raise BadInputError(
                f"command {self.run!r}: it does not say where {lacking[0]} stands, such as "
                "'python make.py {table} {out}'"
            )
        self._words("table", "out", 0)

    @property
    def draws_at_random(self) -> bool:
        """Whether the program is given a seed."""
        return "{seed}" in self.run

    @property
    def made_of(self) -> str:
        """The name of the script that is run, or of the program."""
        if not self.run:
            return ""
        words = shlex.split(self.run)
        return Path(next(filter(_is_script, words[1:]), words[0])).name

    @property
    def pinned(self) -> Self:
        """The same with a digest of the scripts that the command names, as far as they are files here."""
        digest, files = sha256(), [word for word in shlex.split(self.run) if _is_script(word)]
        for file in files:
            digest.update(Path(file).read_bytes())
        return replace(self, digest=digest.hexdigest()[:DIGITS]) if files else self

    @property
    def identity(self) -> Self:
        """The same with the names of files alone."""
        return self.renamed(lambda word: Path(word).name if _is_script(word) else word)

    @property
    def public(self) -> Self:
        """The same without the command."""
        return replace(super().public, run="", timeout=USUAL_SECONDS, environment="", seed=None)

    def renamed(self, name: Callable[[str], str]) -> Self:
        """Return the same with other names of the files that the command names."""
        words = [word if word in PLACES else name(word) for word in shlex.split(self.run)]
        return replace(self, run=" ".join(word if PLAIN_WORD.fullmatch(word) else shlex.quote(word) for word in words))

    def _words(self, table: str, out: str, seed: int) -> list[str]:
        """Put values in their places; files that are named relative to here are named in full."""
        try:
            words = shlex.split(self.run)
        except ValueError as error:
            raise BadInputError(f"command {self.run!r}: it cannot be read as words ({error})") from None
        if not words:
            raise BadInputError("command: it is empty; write for example 'python make.py {table} {out}'")
        words = [str(Path(word).resolve()) if _is_script(word) else word for word in words]
        for place, value in zip(PLACES, (table, out, str(seed)), strict=True):
            words = [word.replace(place, value) for word in words]
        return words

    def _environment(self, folder: Path) -> dict[str, str]:
        """Return what the program is given of the environment; temporary files are its folder's."""
        named = [name.strip() for name in self.environment.split(",") if name.strip()]
        if lacking := [name for name in named if name not in os.environ]:
            raise BadInputError(
                f"command {self.run!r}: the variable {lacking[0]!r} of its environment is not set; set it, or leave it "
                "out"
            )
        kept = {name: os.environ[name] for name in (*KEPT_VARIABLES, *named) if name in os.environ}
        return {**kept, "TMPDIR": str(folder)}

    @contextmanager
    def made(self, table: Table) -> Iterator[Content]:
        """Run the program in a folder of its own, which lasts as long as what it wrote is read."""
        with tempfile.TemporaryDirectory(prefix="sfumato-") as name:
            folder = Path(name)
            with unfinished(folder):
                given, out = folder / "table.csv", folder / "out.csv"
                rows, cells = handed_rows(table)
                _write_csv(rows, given)
                seed = secrets.randbits(SEED_BITS) if self.seed is None else self.seed % (1 << SEED_BITS)
                words = self._words(str(given), str(out), seed)
                run_program(words, folder, self._environment(folder), self.timeout, self.run)
                if not out.is_file():
                    raise BadInputError(f"command {self.run!r}: it ended well but wrote nothing to {{out}}")
                try:
                    yield Content(str(out), cells)
                except BadInputError as error:  # the folder is gone when somebody reads this
                    raise BadInputError(str(error).replace(str(out), f"what {self.made_of} wrote")) from None


@dataclass(frozen=True, kw_only=True)
class BroughtFunction(Brought):
    """A function of Python that takes a frame (and a seed, if it has a parameter of that name) and returns another."""

    function: Callable[..., Any] | None = None
    seed: Annotated[
        int | None,
        Option("Handed to the function, where it takes a seed; without one drawn as for a command.", least=0),
    ] = None

    runs: ClassVar[bool] = True
    name: ClassVar[str] = "function"
    title: ClassVar[str] = "Made by a function"
    unwritten: ClassVar[tuple[str, ...]] = ("function",)
    caution: ClassVar[str] = BroughtFile.caution
    effort: ClassVar[float] = 10.0

    @property
    def draws_at_random(self) -> bool:
        """Whether the function takes a seed."""
        return self.function is not None and "seed" in inspect.signature(self.function).parameters

    @property
    def made_of(self) -> str:
        """The function's name."""
        return f"{getattr(self.function, '__name__', type(self.function).__name__)}()" if self.function else ""

    @property
    def pinned(self) -> Self:
        """The same with a digest of the function's source, where Python has it; else of its name."""
        if self.function is None:
            return self
        try:
            source = inspect.getsource(self.function)
        except (OSError, TypeError):
            source = self.made_of
        return replace(self, digest=sha256(source.encode()).hexdigest()[:DIGITS])

    @property
    def public(self) -> Self:
        """The same without the function."""
        return replace(super().public, function=None, seed=None)

    @contextmanager
    def made(self, table: Table) -> Iterator[Content]:
        """Call the function."""
        if self.function is None:
            raise BadInputError(
                f"{self.label or 'this point'} was made by a function, which no file keeps; add it to the map again"
            )
        rows, cells = handed_rows(table)
        frame = pandas_frame(typed(rows, table.engine.texts))
        seed = secrets.randbits(SEED_BITS) if self.seed is None else self.seed % (1 << SEED_BITS)
        try:
            returned = self.function(frame, **({"seed": seed} if self.draws_at_random else {}))
        except Exception as error:
            raise BadInputError(
                f"{self.made_of} failed with {type(error).__name__}; its message may show records and is left out, so "
                "call it by itself to see it"
            ) from None
        if returned is None:
            raise BadInputError(f"{self.made_of} returned nothing; it must return a frame")
        yield Content(returned, cells)


# -- handing the table over ------------------------------------------------------------------------------------------


def handed_rows(table: Table) -> tuple[pa.Table, Counts]:
    """Return the rows of a table as texts, in the columns that are published and an order that tells nothing.

    Behind them stands the cell of every row.
    """
    names = table.published
    tuples = table.engine.tuples(names, table.link)
    order = np.random.default_rng(ORDER_SEED).permutation(int(tuples.counts.sum()))
    row = np.repeat(np.arange(len(tuples.counts)), tuples.counts)[order]
    cell = tuples.cell[row]
    if isinstance(table, RemainingTable):
        left, cell = table.remaining(cell)
        row = row[left]
    columns = [
        pa.array(list(texts), pa.string()).take(pa.array(tuples.values[row, i])) for i, texts in enumerate(tuples.texts)
    ]
    return pa.table(columns, names), cell


def _write_csv(rows: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(csv_line(rows.column_names))
        for batch in rows.to_batches(1 << 14):
            columns = [[value or "" for value in column.to_pylist()] for column in batch.columns]
            stream.writelines(csv_line(list(cells)) for cells in zip(*columns, strict=True))


# -- running a program -----------------------------------------------------------------------------------------------


class _Running:
    """A program that runs, with all that it has started: it is ended where a query would be interrupted."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def interrupt(self) -> None:
        """End it, and what it started."""
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    close = interrupt


def run_program(words: list[str], folder: Path, environment: Mapping[str, str], seconds: float, command: str) -> None:
    """Run a program to its end in a folder; raise where it fails, or does not end in time."""
    try:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise BadInputError(f"command {command!r}: {words[0]} cannot be started ({error.strerror})") from None
    running = interruptible(_Running(process))
    ends = time.monotonic() + seconds
    try:
        while process.poll() is None:
            look()
            if time.monotonic() > ends:
                raise BadInputError(
                    f"command {command!r}: it did not end within {seconds:g} seconds and was ended; raise timeout, or "
                    "give it a smaller table"
                )
            time.sleep(LOOK_SECONDS)
    finally:
        running.interrupt()  # also what it left running behind
        process.wait()
    if process.returncode:
        raise BadInputError(
            f"command {command!r}: it ended with exit code {process.returncode}; what it said may show records and is "
            "left out, so run it by hand to see it"
        )


def _is_script(word: str) -> bool:
    """Say whether a word of a command is a file here."""
    return "{" not in word and os.sep + "bin" + os.sep not in word and Path(word).is_file()
