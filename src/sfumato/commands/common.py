"""What commands share: column lists, the bar of progress, the word on a first run, JSON on stdout."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from sfumato.drawing import NO_ROOM
from sfumato.errors import BadInputError

FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
"""What no name of a file may have on some system."""

RESERVED = frozenset(
    ["CON", "PRN", "AUX", "NUL", *(f"{device}{number}" for device in ("COM", "LPT") for number in range(10))]
)
"""Names that are devices on Windows, whatever follows behind a point."""

LONGEST_NAME = 200
"""Bytes; names of files are at most 255 nearly everywhere."""


def folder_named(name: str, ending: str) -> Path:
    """Name the folder of a study's results after the study, in the current folder and nowhere else."""
    reserved = name.partition(".")[0].rstrip().upper() in RESERVED
    if not name.strip(" .") or reserved or len(name.encode()) > LONGEST_NAME or FORBIDDEN.search(name):
        raise BadInputError(
            f"the study's name {name!r} cannot be the name of a folder; name the folder (--out), or the study otherwise"
        )
    return Path(f"{name}{ending}")


def make_folder(folder: Path) -> None:
    """Make a folder for results, if it is not there."""
    if folder.exists() and not folder.is_dir():
        raise BadInputError(f"{folder} is a file; give a folder (--out)")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(f"{folder}: the folder cannot be made ({error.strerror})") from None


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar with the time left on stderr, if somebody is looking."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total, last: bar.update(task, completed=done, total=total)


def announce_first_run() -> None:
    """Say that kernels have to be compiled, if so."""
    from sfumato.kernels import compiled_before

    if not compiled_before():
        typer.echo("First run of this version: compiling the kernels, about 20 seconds, only once ...", err=True)


def tell_undrawn(files: list[Path], wanted: tuple[str, ...]) -> None:
    """Say which files of a map could not be drawn, and what would help."""
    written = {file.name for file in files}
    if lacking := [name for name in wanted if name not in written]:
        typer.echo(f"note: {', '.join(lacking)}: not drawn; {NO_ROOM}", err=True)


def tell(notices: Iterable[str]) -> None:
    """Print what should be known besides, on stderr."""
    for notice in notices:
        typer.echo(f"note: {notice}", err=True)


def say(values: Mapping[str, Any], lines: Iterable[str], as_json: bool) -> None:
    """Print a result: its values for a program, or its lines for a person."""
    if as_json:
        print_json(dict(values))
    else:
        typer.echo("\n".join(lines))


def print_json(content: dict[str, Any]) -> None:
    """Print what a program reads."""
    from sfumato.plain import json_text

    typer.echo(json_text(content), nl=False)
