"""What commands share: column lists, the bar of progress, the word on a first run, JSON on stdout."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.config.options import as_typed
from sfumato.errors import BadInputError, InfeasibleError, StoppedError
from sfumato.runtime.cancellation import last_words, told_to
from sfumato.texts.catalogue import refusal, t

if TYPE_CHECKING:
    from sfumato.tradeoff.exploration.run import ExplorationOutcome
    from sfumato.tradeoff.question.question import Question
    from sfumato.tradeoff.study.candidate import Candidate
    from sfumato.tradeoff.study.study import Study

GOES_ON = "stopped; what was found is kept, the same command goes on from there"

SECONDS_BETWEEN_LINES = 10.0
"""How long a command is silent before it reports progress to a stderr that is no terminal, and between two lines."""

STEPS = {
    "read": "reading the data",
    "make": "making the release",
    "write": "writing the draft",
    "verify": "checking the written draft",
    "certify": "writing the certificates",
}
"""What the steps of a publication are called."""

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
        raise BadInputError(t("cli.bad_folder_name", name=name))
    return Path(f"{name}{ending}")


def make_folder(folder: Path) -> None:
    """Make a folder for results, if it is not there."""
    if folder.exists() and not folder.is_dir():
        raise refusal("file_give_folder", folder=folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal("folder_cannot_made", folder=folder, strerror=error.strerror) from None


@contextmanager
def not_left_empty(folder: Path) -> Iterator[None]:
    """Take a folder away again where it turns out that nothing can be written into it."""
    try:
        yield
    except BadInputError:
        if not any(folder.iterdir()):
            folder.rmdir()
        raise


def explored_into(
    folder: Path,
    study: Study,
    seconds: float | None,
    workers: int | None,
    question: Question | None = None,
    earlier: Collection[Candidate] = (),
    as_json: bool = False,
) -> tuple[ExplorationOutcome, list[Path]]:
    """Explore and search a study as its plan says, and write its map into a folder; resumes what was stopped."""
    from sfumato.report.folder import DRAWN, save_map
    from sfumato.report.map_summary import frontier_lines
    from sfumato.tradeoff.exploration.folder import mend_cache
    from sfumato.tradeoff.exploration.run import check_searchable, explored

    check_searchable(study, seconds)
    make_folder(folder)
    if sentence := mend_cache(folder / "cache.jsonl"):
        tell([sentence])
    announce_first_run()
    files: list[Path] = []
    with last_words(GOES_ON), not_left_empty(folder):
        outcome = explored(study, folder, seconds, workers, progress, lambda text: tell([text]), question, earlier)
        if outcome.map_ is not None:
            files = save_map(outcome.map_, folder)
    if outcome.map_ is not None:
        tell(outcome.map_.about["notices"])
        tell_undrawn(files, DRAWN)
    elif outcome.frontier is not None and not as_json:  # the best so far, and no map
        lines = "\n".join(frontier_lines(outcome.frontier))
        if not len(outcome.frontier):
            raise InfeasibleError(lines)
        typer.echo(lines)
    if outcome.frontier is not None and outcome.frontier.stopped == "interrupted":
        raise StoppedError(GOES_ON)
    return outcome, files


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar with the time left on stderr; where that is no terminal, print a line from time to time."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        line = occasional_line()
        yield lambda done, total, last: line(f"{what}: {done:,} of {total:,}")
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total, last: bar.update(task, completed=done, total=total)


@contextmanager
def report_steps() -> Iterator[None]:
    """Name on stderr the step at which a publication is."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        line = occasional_line()
        with told_to(lambda step: line(f"{STEPS[step]} ...")):
            yield
        return
    with console.status("") as status, told_to(lambda step: status.update(f"{STEPS[step]} ...")):
        yield


def occasional_line() -> Callable[[str], None]:
    """Return a function that prints a line on stderr, unless the last one, or the start, was a moment ago."""
    printed = [time.monotonic()]

    def print_line(text: str) -> None:
        if time.monotonic() - printed[0] >= SECONDS_BETWEEN_LINES:
            typer.echo(text, err=True)
            printed[0] = time.monotonic()

    return print_line


def announce_first_run() -> None:
    """Say that kernels have to be compiled, if so."""
    from sfumato.runtime.kernels import compiled_before

    if not compiled_before():
        typer.echo(t("notice.first_run_version"), err=True)


def tell_undrawn(files: list[Path], wanted: tuple[str, ...]) -> None:
    """Say which files of a map could not be drawn, and what would help."""
    written = {file.name for file in files}
    if lacking := [name for name in wanted if name not in written]:
        from sfumato.texts.html import no_room  # with the templates of pages

        typer.echo(t("notice.note_not_drawn", lacking=", ".join(lacking), no_room=no_room()), err=True)


def tell(notices: Iterable[str]) -> None:
    """Print what should be known besides, on stderr."""
    for notice in notices:
        typer.echo(f"note: {as_typed(notice)}", err=True)


def say(values: Mapping[str, Any], lines: Iterable[str], as_json: bool) -> None:
    """Print a result: its values for a program, or its lines for a person."""
    if as_json:
        print_json(dict(values))
    else:
        typer.echo("\n".join(lines))


def print_json(content: dict[str, Any]) -> None:
    """Print what a program reads."""
    from sfumato.config.documents import json_text

    typer.echo(json_text(content), nl=False)
