"""`sfumato apply`: recode new data as an earlier release was."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.commands._options import AsJson, OfBaskets, TextReading, Writing, refuse
from sfumato.commands._output import announce_first_run, say, tell


def apply(
    mapping: Path,
    table: str,
    to: Annotated[Path, typer.Option()],
    reading: TextReading,
    writing: Writing,
    baskets: OfBaskets,
    rest: str = "refuse",
    ledger: Path | None = None,
    items_file: str | None = None,
    layout: str = "rows",
    as_json: AsJson = False,
) -> None:
    """Recode new data under an existing release; refuses what the mapping does not know and groups that fail."""
    from sfumato.auditing.ledger import ledger_of
    from sfumato.publish.apply import apply as applied
    from sfumato.publish.mapping import ItemMapping, read_mapping
    from sfumato.release.writing import format_of

    format_of(to)
    known, files = read_mapping(mapping), [mapping]
    of_items = isinstance(known, ItemMapping)
    if not of_items or known.boxes is None:
        refuse({"--set items-file": items_file}, "is about a mapping of a table with items; leave it out")
    if of_items and known.boxes is None:
        declared = baskets.declaration(table, reading)
        files += declared.files
        announce_first_run()
        recoded = applied(known, declared.open(), rest)  # type: ignore[arg-type]
    else:
        baskets.refuse_for_table({"--set layout": layout != "rows"})
        announce_first_run()
        recoded = applied(known, table, rest, items_file, **reading.declared())  # type: ignore[arg-type]
    kept = ledger_of(mapping) if ledger is None else ledger
    written = recoded.write(to, writing.force, writing.escape_formulas, files, kept, layout)
    tell(written.notices)
    for warning in recoded.left_out.warning():
        typer.echo(warning, err=True)
    say(recoded.values(written), recoded.lines(written), as_json)
