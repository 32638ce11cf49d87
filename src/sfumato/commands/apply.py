"""`sfumato apply`: recode new data as an earlier release was."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.commands.common import announce_first_run, counted, print_json


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
    na: Annotated[list[str], typer.Option(help="A text that means missing, beside the empty one; repeat.")] = [],  # noqa: B006
    delimiter: Annotated[
        str | None, typer.Option(help="The delimiter of a text file, if it is guessed wrongly.")
    ] = None,
    encoding: Annotated[str, typer.Option(help="The encoding of a text file.")] = "utf-8",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Recode new data under an existing release; refuses what the mapping does not know and groups that fail."""
    from sfumato.publish import apply as applied
    from sfumato.publish import read_mapping
    from sfumato.release import format_of, write_release

    format = format_of(to)
    announce_first_run()
    known = read_mapping(mapping)
    release = applied(known, table, rest, na=tuple(na), delimiter=delimiter, encoding=encoding)  # type: ignore[arg-type]
    files = write_release(release, to, "rows", force, format)
    if as_json:
        print_json(
            {
                "requirement": str(known.requirement),
                "records": release.cells.records,
                "dropped": release.table.dropped,
                "suppressed": release.suppressed,
                "groups": release.groups,
                "files": [str(file) for file in files],
            }
        )
        return
    rows, groups = counted(release.assignment.records, "record"), counted(release.groups, "group")
    typer.echo(f"Wrote {to}: {rows} in {groups}. Every group satisfies: {known.requirement}")
    left_out = release.suppressed + release.table.dropped
    if left_out:
        typer.echo(f"Left out, because the mapping does not fit them: {counted(left_out, 'record')}.")
