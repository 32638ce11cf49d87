"""`sfumato apply`: recode new data as an earlier release was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands._options import AsJson, OfBaskets, TextReading, Writing, refuse
from sfumato.commands._output import announce_first_run, say, tell

if TYPE_CHECKING:
    from sfumato.data.declaration import BasketsDeclaration
    from sfumato.publish.apply import RecodedFile


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
    from sfumato.auditing._legend import MAPPING as BASKETS
    from sfumato.auditing.ledger import ledger_of
    from sfumato.publish._item_mapping import KIND as ITEMS
    from sfumato.publish.apply import kind_of
    from sfumato.release.writing import format_of

    format_of(to)
    kind, files = kind_of(mapping), [mapping]
    if kind != ITEMS:
        refuse({"--set items-file": items_file}, "is about a mapping of a table with items; leave it out")
    if kind != BASKETS:
        baskets.refuse_for_table({"--set layout": layout != "rows"})
    if kind == BASKETS:
        declared = baskets.declaration(table, reading)
        files += declared.files
        recoded = _baskets(mapping, declared, rest)
    elif kind == ITEMS:
        recoded = _mixed(mapping, table, items_file, reading, rest)
    else:
        recoded = _table(mapping, table, reading, rest)
    kept = ledger_of(mapping) if ledger is None else ledger
    written = recoded.write(to, writing.force, writing.escape_formulas, files, kept, layout)
    tell(written.notices)
    for warning in recoded.left_out.warning():
        typer.echo(warning, err=True)
    say(recoded.values(written), recoded.lines(written), as_json)


def _table(mapping: Path, table: str, reading: TextReading, rest: str) -> RecodedFile:
    """Recode a new table."""
    from sfumato.publish.apply import apply as applied
    from sfumato.publish.mapping import read_mapping

    known = read_mapping(mapping)
    announce_first_run()
    return applied(known, table, rest, **reading.declared())  # type: ignore[arg-type]


def _mixed(mapping: Path, table: str, items_file: str | None, reading: TextReading, rest: str) -> RecodedFile:
    """Recode new records with items."""
    from sfumato.publish._apply_items import apply_mixed
    from sfumato.publish._item_mapping import read_item_mapping

    known = read_item_mapping(mapping)
    announce_first_run()
    return apply_mixed(known, table, rest, items_file, **reading.declared())  # type: ignore[arg-type]


def _baskets(mapping: Path, declared: BasketsDeclaration, rest: str) -> RecodedFile:
    """Recode new baskets."""
    from sfumato.publish._apply_items import apply_baskets
    from sfumato.publish._item_mapping import read_item_mapping

    known = read_item_mapping(mapping)
    announce_first_run()
    return apply_baskets(known, declared.open(), rest)  # type: ignore[arg-type]
