"""The door: commands that only wire. Heavy imports wait inside the commands, so that `--help` is quick."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.errors import BadInputError, SfumatoError, StoppedError

if TYPE_CHECKING:
    from sfumato.measures import Measured
    from sfumato.release import Release

app = typer.Typer(
    name="sfumato",
    help="Decide what to publish: make anonymized releases of a table, measure them, choose one, prove its promise.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Columns = list[str]


def _version(wanted: bool) -> None:
    if wanted:
        from sfumato import __version__

        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


@app.callback()
def _sfumato(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Decide what to publish: make anonymized releases of a table, measure them, choose one, prove its promise."""


@app.command()
def datasets(
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """List the bundled tables."""
    from sfumato.table import DATASETS

    if as_json:
        listed = [
            {
                "name": d.name,
                "records": d.records,
                "description": d.description,
                "quasi": d.quasi,
                "sensitive": d.sensitive,
            }
            for d in DATASETS.values()
        ]
        _print_json({"datasets": listed})
        return
    for dataset in DATASETS.values():
        typer.echo(f"{dataset.name:12} {dataset.records:>7,} records  {dataset.description}")
        typer.echo(f"{'':12} quasi: {', '.join(dataset.quasi)}; sensitive: {', '.join(dataset.sensitive)}")


@app.command()
def anonymize(
    table: Annotated[
        str, typer.Argument(help="A file (CSV, TSV, Parquet, JSON, ...) or a bundled table such as adult.")
    ],
    to: Annotated[Path, typer.Option("--to", help="The file to write: .csv or .parquet.")],
    require: Annotated[
        list[str], typer.Option("--require", help='What every group must satisfy: "k-anonymity k=10 & ...".')
    ],
    quasi: Annotated[Columns, typer.Option(help="Columns an outsider may know; repeat, or separate by commas.")] = [],  # noqa: B006
    sensitive: Annotated[Columns, typer.Option(help="Columns nobody should learn about a person.")] = [],  # noqa: B006
    neutral: Annotated[Columns, typer.Option(help="Columns to publish as they are.")] = [],  # noqa: B006
    identifier: Annotated[Columns, typer.Option(help="Columns that name a person: never published.")] = [],  # noqa: B006
    maker: Annotated[
        str, typer.Option("--with", help='The anonymizer: "mondrian", "full-domain", "local-recoding", ...')
    ] = "mondrian",
    form: Annotated[
        str,
        typer.Option(help="generalization (boxes) or bucketization (exact quasi-identifiers, dealt-out values)."),
    ] = "generalization",
    layout: Annotated[str, typer.Option(help="rows, or anatomy: a bucketization as two tables.")] = "rows",
    suppress: Annotated[float, typer.Option(help="The largest share of records that may be left out.")] = 0.0,
    hierarchies: Annotated[
        Path | None,
        typer.Option(help="A TOML file, or a folder of level tables <table>_hierarchy_<column>.csv."),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(help="A missing value is a value of its own, or its record is dropped: value | drop."),
    ] = "value",
    na: Annotated[list[str], typer.Option(help="A text that means missing, beside the empty one; repeat.")] = [],  # noqa: B006
    delimiter: Annotated[
        str | None, typer.Option(help="The delimiter of a text file, if it is guessed wrongly.")
    ] = None,
    encoding: Annotated[str, typer.Option(help="The encoding of a text file.")] = "utf-8",
    lattice: Annotated[
        Path | None,
        typer.Option(help="With full-domain: also write every transformation with its values to this CSV file."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Make one release of a table, in one line, and say what it achieves."""
    from sfumato.anonymizers import FullDomain, anonymizer
    from sfumato.measures import measure
    from sfumato.release import format_of, write_release
    from sfumato.release.writing import check_target
    from sfumato.requirements import requirement
    from sfumato.table import TableDeclaration

    started = time.perf_counter()
    written_as = format_of(to)
    wanted, chosen = requirement(" & ".join(require)), anonymizer(maker)
    if lattice is not None and not isinstance(chosen, FullDomain):
        raise BadInputError(f"--lattice belongs to --with full-domain; {chosen.name} searches no lattice")
    if lattice is not None:
        check_target(lattice, force)
    _announce_first_run()
    declared = TableDeclaration(
        source=table,
        hierarchies=None if hierarchies is None else str(hierarchies),
        missing=missing,  # type: ignore[arg-type]
        na=tuple(na),
        delimiter=delimiter,
        encoding=encoding,
    )
    rows = declared.open_rows()
    named = [_columns(names, rows.columns) for names in (quasi, sensitive, neutral, identifier)]
    roles = dict(zip(("quasi", "sensitive", "neutral", "identifier"), named, strict=True))
    given = replace(declared, **roles).open(rows)  # type: ignore[arg-type]
    read = time.perf_counter()
    release = chosen.anonymize(given, wanted, form, suppress)  # type: ignore[arg-type]
    measured = measure(release)
    made = time.perf_counter()
    files = write_release(release, to, layout, force, written_as)  # type: ignore[arg-type]
    if lattice is not None and isinstance(chosen, FullDomain):
        files.append(chosen.lattice(given, wanted, suppress).to_csv(lattice, force))
    seconds = {"read": read - started, "anonymize": made - read, "write": time.perf_counter() - made}
    for notice in given.notices:
        typer.echo(f"note: {notice}", err=True)
    said = {
        "table": given.engine.origin,
        "records": given.cells.records,
        "dropped": given.dropped,
        "anonymizer": str(chosen),
        "requirement": str(wanted),
        "form": form,
        "groups": release.groups,
        "loss": measured.values["loss"],
        "suppressed": release.suppressed,
        **release.details,
        "measures": dict(measured.values),
        "by_sensitive": {name: dict(own) for name, own in measured.by_sensitive.items()},
        "files": [str(file) for file in files],
        "notices": list(given.notices),
        "seconds": round(sum(seconds.values()), 4),
        "seconds_by_step": {name: round(value, 4) for name, value in seconds.items()},
    }
    if as_json:
        _print_json(said)
    else:
        _print_release(said, release, measured)


@app.command()
def explore(
    study: Annotated[str, typer.Argument(help="A study.toml, or the bundled study of a bundled table such as adult.")],
    out: Annotated[Path | None, typer.Option(help="The folder to write to; by default named after the study.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads; by default one per core.")] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of the random queries, instead of the study's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Make and measure all candidates of a study, and draw the map. Resumes where it was stopped."""
    from sfumato.report import save_map
    from sfumato.tradeoff import explore as explored
    from sfumato.tradeoff import read_study

    given = read_study(study)
    if seed is not None:
        given = given.with_seed(seed)
    folder = out or Path(f"{given.name}-map")
    _make_folder(folder)
    _announce_first_run()
    try:
        with _progress("releases") as told:
            shown = explored(given, folder / "cache.jsonl", workers, told)
    except KeyboardInterrupt:
        raise StoppedError("stopped; what was measured is kept, the same command goes on from there") from None
    files = save_map(shown, folder)
    for notice in shown.about["notices"]:
        typer.echo(f"note: {notice}", err=True)
    frontier = shown.frontier()
    states = Counter(point.status for point in shown.points)
    if as_json:
        _print_json(
            {
                "study": given.name,
                "points": len(shown.points),
                "states": dict(states),
                "frontier": [point.id for point in frontier],
                "files": [str(file) for file in files],
            }
        )
        return
    told_states = ", ".join(f"{count} {state}" for state, count in states.items())
    typer.echo(
        f"{_counted(len(shown.points), 'candidate')}: {told_states}. Open {folder / 'report.html'} to see the map."
    )
    x, y = given.axes
    if not frontier:
        typer.echo(f'No point has both {x} and {y}: choose other axes in the study, such as axes = ["k", "loss"].')
        return
    typer.echo(f"\nThe frontier, from the best {x} to the best {y}:\n")
    typer.echo(f"  {'point':10} {x:>10} {y:>10}  release")
    for point in frontier:
        what = point.anonymizer if point.is_baseline else f"{point.anonymizer}, {point.requirement}, {point.form}"
        typer.echo(f"  {point.id:10} {point.measures[x]:>10.4f} {point.measures[y]:>10.4f}  {what}")


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="One of: li-li-2009.")],
    out: Annotated[Path | None, typer.Option(help="The folder to write to; by default named after the paper.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Reproduce a paper: its figures with our points, its claims with our numbers. Exit 1 if a required one fails."""
    from sfumato.papers import PAPERS
    from sfumato.papers import reproduce as reproduced

    if paper not in PAPERS:
        raise BadInputError(f"unknown paper {paper!r}; there are {', '.join(PAPERS)}")
    folder = out or Path(paper)
    _make_folder(folder)
    _announce_first_run()
    with _progress("steps") as told:
        results = reproduced(paper, told)
    files = results.write(folder)
    if as_json:
        _print_json(
            {"paper": paper, "claims": [asdict(claim) for claim in results.claims], "files": list(map(str, files))}
        )
    else:
        for claim in results.claims:
            mark = "holds" if claim.holds else "DOES NOT HOLD" if claim.status == "required" else "differs"
            typer.echo(f"{mark:14} {claim.id:36} {claim.claim}")
            if not claim.holds:
                typer.echo(
                    f"{'':14} paper: {claim.paper}; ours: {claim.ours}" + (f" ({claim.reason})" if claim.reason else "")
                )
        typer.echo(f"\nWrote {folder / 'results.json'} and {len(files) - 1} figures.")
    if not results.holds:
        raise typer.Exit(1)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _make_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise BadInputError(f"{folder} is a file; give a folder (--out)")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(f"{folder}: the folder cannot be made ({error.strerror})") from None


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar with the time left on stderr, if somebody is looking."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total, last: bar.update(task, completed=done, total=total)


def _print_release(said: dict[str, Any], release: Release, measured: Measured) -> None:
    """Say in words what was written and what it achieves."""
    from sfumato.measures import MEASURES

    published = release.assignment.records
    records, groups = _counted(published, "record"), _counted(release.groups, "group")
    typer.echo(f"Wrote {' and '.join(said['files'])}: {records} in {groups}.")
    typer.echo(f"Every group satisfies: {said['requirement']}")
    if release.histograms is None:
        typer.echo("(No sensitive attribute is published, so what this says of sensitive values holds of itself.)")
    if release.form == "bucketization":
        typer.echo(
            "WARNING: the exact quasi-identifiers ARE in this file. It does not hide who is in the table; it only\n"
            "loosens the link to the sensitive values. The size of a group is a bucket size, not k-anonymity."
        )
    if "transformation" in release.details:
        _print_transformation(release.details)
    if release.suppressed:
        typer.echo(f"Left out (suppressed): {_counted(release.suppressed, 'record')}.")
    if said["dropped"]:
        typer.echo(f"Dropped because a value is missing: {_counted(said['dropped'], 'record')}.")
    several = ", of the worst sensitive attribute where there are several" if len(measured.by_sensitive) > 1 else ""
    typer.echo(f"\nMeasured{several} (^ higher is better, v lower is better):")
    for name, value in measured.values.items():
        value = 0.0 if abs(value) < 1e-12 else value
        shown = f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"
        arrow = "^" if MEASURES[name].better == "higher" else "v"
        typer.echo(f"  {name:20} {shown:>12} {arrow} {MEASURES[name].meaning}")


def _print_transformation(details: Mapping[str, Any]) -> None:
    """Say which levels were chosen, and whether anything better could be left."""
    levels = ", ".join(f"{name} {level}" for name, level in details["transformation"].items())
    typer.echo(f"Levels (0: as it is): {levels}.")
    checked = f"{details['nodes_checked']:,} of {details['nodes']:,} transformations were checked"
    if details["bound"] >= details["minimum"]:
        typer.echo(f"This is the optimum; {checked}.")
    else:
        typer.echo(
            f"Stopped by the time limit; {checked}. Found {details['minimum']:.6g}; nothing is below "
            f"{details['bound']:.6g}."
        )


def _columns(given: Columns, known: Any) -> tuple[str, ...]:
    """Split comma lists, but only where no column has that whole name."""
    found: list[str] = []
    for text in given:
        found.extend([text] if text in known else [part.strip() for part in text.split(",") if part.strip()])
    return tuple(found)


def _announce_first_run() -> None:
    from sfumato.kernels import compiled_before

    if not compiled_before():
        typer.echo("First run of this version: compiling the kernels, about 20 seconds, only once ...", err=True)


def _print_json(content: dict[str, Any]) -> None:
    from sfumato.plain import json_text

    typer.echo(json_text(content), nl=False)


def main() -> None:
    """Run the command line; every error is a sentence, never a traceback."""
    try:
        app()
    except SfumatoError as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        _fail("stopped", 130)
    except OSError as error:
        _fail(
            f"{error.filename or 'a file'}: {error.strerror or error}; nothing was published", BadInputError.exit_code
        )
    except MemoryError:
        _fail("there is not enough memory for this table", BadInputError.exit_code)
    except Exception as error:
        if os.environ.get("SFUMATO_DEBUG"):
            raise
        _fail(
            f"this should not have happened ({type(error).__name__}: {error}); nothing was published. "
            "Please report it, with what SFUMATO_DEBUG=1 prints",
            BadInputError.exit_code,
        )


def _fail(message: str, code: int) -> None:
    print(f"sfumato: {message}", file=sys.stderr)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
