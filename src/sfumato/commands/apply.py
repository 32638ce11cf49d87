"""`sfumato apply`: recode new data as an earlier release was."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.commands.common import announce_first_run, print_json
from sfumato.phrases import counted


def apply(
    mapping: Annotated[Path, typer.Argument(help="The mapping that `sfumato release --mapping` wrote.")],
    table: Annotated[Path, typer.Argument(help="A file with the same columns.")],
    to: Annotated[Path, typer.Option("--to", help="The file to write: .csv or .parquet.")],
    rest: Annotated[
        str,
        typer.Option(
            help="Records with unknown values, outside of all boxes or in groups that fail: refuse (publish nothing) "
            "or drop (leave them out)."
        ),
    ] = "refuse",
    na: Annotated[
        list[str],
        typer.Option(help="A text that means missing, beside the empty one and those of the mapping; repeat."),
    ] = [],  # noqa: B006
    delimiter: Annotated[
        str | None, typer.Option(help="The delimiter of a text file, if it is guessed wrongly.")
    ] = None,
    encoding: Annotated[str, typer.Option(help="The encoding of a text file.")] = "utf-8",
    escape_formulas: Annotated[
        bool, typer.Option("--escape-formulas", help="Write cells that a spreadsheet would run with ' in front.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Recode new data under an existing release; refuses what the mapping does not know and groups that fail."""
    from sfumato.publish import apply as applied
    from sfumato.publish import read_mapping
    from sfumato.release import format_of

    format_of(to)
    announce_first_run()
    known = read_mapping(mapping)
    recoded = applied(known, table, rest, na=tuple(na), delimiter=delimiter, encoding=encoding)  # type: ignore[arg-type]
    for notice in recoded.write(to, force, escape_formulas, [mapping]).notices:
        typer.echo(f"note: {notice}", err=True)
    release, left_out = recoded.release, recoded.left_out
    if left_out.is_large:
        typer.echo(
            f"WARNING: {left_out.records:,} of {left_out.of:,} records ({left_out.records / left_out.of:.0%}) are left "
            "out. What remains may be another population than\nthe table; consider a new release.",
            err=True,
        )
    if as_json:
        print_json(
            {
                "requirement": str(known.requirement),
                "records": left_out.of,
                "published": release.assignment.records,
                "left_out": left_out.content(),
                "groups": release.groups,
                "files": [str(to)],
            }
        )
        return
    rows, groups = counted(release.assignment.records, "record"), counted(release.groups, "group")
    typer.echo(f"Wrote {to}: {rows} in {groups}. Every group satisfies: {known.requirement}")
    typer.echo("The audit of the file, with Q of the whole new table, confirms it.")
    if left_out.records:
        typer.echo(f"Left out, because the mapping does not fit them: {left_out.records:,} of {left_out.of:,} records.")
        for reason in left_out.reasons():
            typer.echo(f"  {reason}")
