"""Shared output of commands: column lists, the progress bar, the notice of a first run, JSON on stdout."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
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

GOES_ON = "stopped; results so far are kept, and the same command continues from there"

SECONDS_BETWEEN_LINES = 10.0
"""Seconds before the first progress line on a stderr that is no terminal, and between two lines."""

STEPS = {
    "read": "reading the data",
    "make": "making the release",
    "write": "writing the draft",
    "verify": "checking the written draft",
    "certify": "writing the certificates",
}
"""The names of the steps of a publication."""

FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
"""Characters that are invalid in file names on some system."""

RESERVED = frozenset(
    ["CON", "PRN", "AUX", "NUL", *(f"{device}{number}" for device in ("COM", "LPT") for number in range(10))]
)
"""Names that are devices on Windows, with any extension."""

LONGEST_NAME = 200
"""Bytes; most systems limit names to 255."""


def folder_named(name: str, ending: str) -> Path:
    """Return the results folder of a study: a plain name in the current folder."""
    reserved = name.partition(".")[0].rstrip().upper() in RESERVED
    if not name.strip(" .") or reserved or len(name.encode()) > LONGEST_NAME or FORBIDDEN.search(name):
        raise refusal("cli.bad_folder_name", name=name)
    return Path(f"{name}{ending}")


def make_folder(folder: Path) -> None:
    """Create a folder for results, if it does not exist."""
    if folder.exists() and not folder.is_dir():
        raise refusal("file_give_folder", folder=folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal("folder_cannot_made", folder=folder, strerror=error.strerror) from None


@contextmanager
def not_left_empty(folder: Path) -> Iterator[None]:
    """Remove a new folder if nothing can be written into it."""
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
    tries: int = 0,
) -> tuple[ExplorationOutcome, list[Path]]:
    """Explore and search a study by its plan, and write its map into a folder; continues a stopped one."""
    from sfumato.report.folder import DRAWN, save_map
    from sfumato.report.map_summary import frontier_lines
    from sfumato.tradeoff.exploration.folder import mend_cache, searched_questions
    from sfumato.tradeoff.exploration.run import check_searchable, explored

    check_searchable(study, seconds)
    make_folder(folder)
    if sentence := mend_cache(folder / "cache.jsonl"):
        tell([sentence])
    announce_first_run()
    files: list[Path] = []
    with last_words(GOES_ON), not_left_empty(folder):
        how = (progress, lambda text: tell([text]), question, earlier, tries)
        outcome = explored(study, folder, seconds, workers, *how)
        if (map_ := outcome.map_) is not None:
            before = searched_questions(folder) if question is not None else []
            now = [str(question)] if tries else []
            searched = {"searched": list(dict.fromkeys([*before, *now]))} if before or now else {}
            files = save_map(replace(map_, about={**map_.about, **searched}), folder)
    if outcome.map_ is not None:
        tell(outcome.map_.about["notices"])
        tell_undrawn(files, DRAWN)
    elif outcome.frontier is not None and not as_json:  # the best so far, without a map
        lines = "\n".join(frontier_lines(outcome.frontier))
        if not len(outcome.frontier):
            raise InfeasibleError(lines)
        typer.echo(lines)
    if outcome.frontier is not None and outcome.frontier.stopped == "interrupted":
        raise StoppedError(GOES_ON)
    return outcome, files


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a phase with its clock and the remaining time on stderr; without a terminal, as a line from time to time."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        line, began = occasional_line(), time.monotonic()

        def print_phase(done: int, total: int, last: str) -> None:
            passed = time.monotonic() - began
            left = passed * (total - done) / max(done, 1)
            line(t("notice.phase", phase=what, done=done, total=total, passed=passed, left=left))

        yield print_phase
        return
    clocks = (TimeElapsedColumn(), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *clocks)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total, last: bar.update(task, completed=done, total=total)


@contextmanager
def report_steps() -> Iterator[None]:
    """Report the steps of a publication on stderr."""
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
    """Return a function that prints a line on stderr, with a minimum interval."""
    printed = [time.monotonic()]

    def print_line(text: str) -> None:
        if time.monotonic() - printed[0] >= SECONDS_BETWEEN_LINES:
            typer.echo(text, err=True)
            printed[0] = time.monotonic()

    return print_line


def announce_first_run() -> None:
    """Report that kernels have to be compiled, if so."""
    from sfumato.runtime.kernels import compiled_before

    if not compiled_before():
        typer.echo(t("notice.first_run_version"), err=True)


def tell_undrawn(files: list[Path], wanted: tuple[str, ...]) -> None:
    """Report the files of a map that could not be drawn, with a remedy."""
    written = {file.name for file in files}
    if lacking := [name for name in wanted if name not in written]:
        from sfumato.texts.html import no_room  # with the templates of pages

        typer.echo(t("notice.note_not_drawn", lacking=", ".join(lacking), no_room=no_room()), err=True)


def tell(notices: Iterable[str]) -> None:
    """Print notices on stderr."""
    for notice in notices:
        typer.echo(f"note: {as_typed(notice)}", err=True)


def say(values: Mapping[str, Any], lines: Iterable[str], as_json: bool) -> None:
    """Print a result: its values as JSON, or its lines."""
    if as_json:
        print_json(dict(values))
    else:
        typer.echo("\n".join(lines))


def print_json(content: dict[str, Any]) -> None:
    """Print JSON."""
    from sfumato.config.documents import json_text

    typer.echo(json_text(content), nl=False)
