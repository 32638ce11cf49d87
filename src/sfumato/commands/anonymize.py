"""`sfumato anonymize`: one release in one line."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.commands.common import Columns, announce_first_run, columns, counted, print_json
from sfumato.errors import BadInputError

if TYPE_CHECKING:
    from sfumato.measures import Measured
    from sfumato.release import Format, NoisyRelease, Release


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
    household: Annotated[
        str | None, typer.Option(help="The column that says who lives together: never published.")
    ] = None,
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
    from sfumato.anonymizers import FullDomain, Mechanism, anonymizer
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
    announce_first_run()
    declared = TableDeclaration(
        source=table,
        household=household,
        hierarchies=None if hierarchies is None else str(hierarchies),
        missing=missing,  # type: ignore[arg-type]
        na=tuple(na),
        delimiter=delimiter,
        encoding=encoding,
    )
    rows = declared.open_rows()
    named = [columns(names, rows.columns) for names in (quasi, sensitive, neutral, identifier)]
    roles = dict(zip(("quasi", "sensitive", "neutral", "identifier"), named, strict=True))
    given = replace(declared, **roles).open(rows)  # type: ignore[arg-type]
    read = time.perf_counter()
    if isinstance(chosen, Mechanism):
        check_target(to, force)
        drawn = chosen.anonymize(given, wanted, form, suppress)  # type: ignore[arg-type]
        _print_drawn(drawn, str(chosen), _write_drawn(drawn, to, force, written_as), as_json)
        return
    release = chosen.anonymize(given, wanted, form, suppress)  # type: ignore[arg-type]
    measured = measure(release)
    made = time.perf_counter()
    files = write_release(release, to, layout, force, written_as)  # type: ignore[arg-type]
    if lattice is not None and isinstance(chosen, FullDomain):
        files.append(chosen.lattice(given, wanted, suppress).to_csv(lattice, force))
    seconds = {"read": read - started, "anonymize": made - read, "write": time.perf_counter() - made}
    notices = [*given.notices, *given.household_notices()]
    for notice in notices:
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
        "same_in_households": given.shared_names,
        "notices": notices,
        "seconds": round(sum(seconds.values()), 4),
        "seconds_by_step": {name: round(value, 4) for name, value in seconds.items()},
    }
    if as_json:
        print_json(said)
    else:
        _print_release(said, release, measured)


def _print_release(said: dict[str, Any], release: Release, measured: Measured) -> None:
    """Say in words what was written and what it achieves."""
    from sfumato.measures import MEASURES

    published = release.assignment.records
    records, groups = counted(published, "record"), counted(release.groups, "group")
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
    if "target_missing" in release.details:
        missing = counted(release.details["target_missing"], "record")
        typer.echo(f"The target is missing in {missing}, which did not count in the choice of cuts.")
    if release.suppressed:
        typer.echo(f"Left out (suppressed): {counted(release.suppressed, 'record')}.")
    if said["dropped"]:
        typer.echo(f"Dropped because a value is missing: {counted(said['dropped'], 'record')}.")
    several = ", of the worst sensitive attribute where there are several" if len(measured.by_sensitive) > 1 else ""
    typer.echo(f"\nMeasured{several} (^ higher is better, v lower is better):")
    for name, value in measured.values.items():
        value = 0.0 if abs(value) < 1e-12 else value
        shown = f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"
        arrow = "^" if MEASURES[name].better == "higher" else "v"
        typer.echo(f"  {name:20} {shown:>12} {arrow} {MEASURES[name].meaning}")


def _write_drawn(release: NoisyRelease, to: Path, force: bool, format: Format) -> Path:
    """Write records drawn from a noisy release."""
    write = release.to_csv if format == "csv" else release.to_parquet
    return write(to, force)[0]


def _print_drawn(release: NoisyRelease, maker: str, file: Path, as_json: bool) -> None:
    """Say what was written of a noisy release and what it promises."""
    promise = release.guarantee
    left_out = list(release.table.roles.neutral)
    if as_json:
        print_json(
            {
                "table": release.table.engine.origin,
                "anonymizer": maker,
                "boxes": release.groups,
                "epsilon": promise.epsilon,
                "guarantee": asdict(promise),
                "left_out": left_out,
                "files": [str(file)],
            }
        )
        return
    typer.echo(f"Wrote {file}: synthetic records, drawn from the noisy counts of {release.groups:,} boxes.")
    parts = ", ".join(f"{what} {epsilon:.3g}" for what, epsilon in promise.by_purpose.items())
    typer.echo(f"Differentially private with epsilon {promise.epsilon:g} ({parts}); smaller protects more.")
    typer.echo(f"It hides whether there is {promise.neighbours}.")
    typer.echo("Taken as known to everybody:")
    for sentence in promise.public:
        typer.echo(f"  {sentence}")
    if left_out:
        typer.echo(f"Not in the file, because nothing is published as it is: {', '.join(left_out)}.")
    typer.echo(
        "Every further draw from this table spends its epsilon again; choosing by a look at results is not covered."
    )


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
