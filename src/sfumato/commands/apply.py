"""`sfumato apply`: recode new data as an earlier release was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.common import announce_first_run, say, tell
from sfumato.commands.groups import AsJson, OfBaskets, TextReading, Writing, refuse
from sfumato.phrases import counted

if TYPE_CHECKING:
    from sfumato.publish.applied import LeftOut


def apply(
    mapping: Annotated[Path, typer.Argument(help="The mapping that `sfumato release --mapping` wrote.")],
    table: Annotated[str, typer.Argument(help="A file with the same columns.")],
    to: Annotated[Path, typer.Option("--to", help="The file to write: .csv or .parquet.")],
    reading: TextReading,
    writing: Writing,
    baskets: OfBaskets,
    rest: Annotated[
        str,
        typer.Option(
            help="Records with unknown values or items, outside of all boxes or in groups that fail: refuse (publish "
            "nothing) or drop (leave them out)."
        ),
    ] = "refuse",
    ledger: Annotated[
        Path | None,
        typer.Option(help="Where it is kept what was published when; by default beside the mapping."),
    ] = None,
    items_file: Annotated[
        str | None, typer.Option(help="Of a table with items in a second file: the new file of items.")
    ] = None,
    layout: Annotated[str, typer.Option(help="Of baskets: lines, or long: an item a row.")] = "rows",
    as_json: AsJson = False,
) -> None:
    """Recode new data under an existing release; refuses what the mapping does not know and groups that fail."""
    from sfumato.publish import apply as applied
    from sfumato.publish import read_mapping
    from sfumato.publish.baskets.applied import is_basket_mapping
    from sfumato.publish.ledger import ledger_of
    from sfumato.publish.mixed.applied import is_mixed_mapping
    from sfumato.release import format_of

    format_of(to)
    kept = ledger_of(mapping) if ledger is None else ledger
    if is_mixed_mapping(mapping):
        baskets.refuse_for_table(layout=layout != "rows")
        _mixed(mapping, table, to, items_file, reading, writing, rest, kept, as_json)
        return
    refuse({"--items-file": items_file}, "is about a mapping of a table with items; leave it out")
    if is_basket_mapping(mapping):
        _baskets(mapping, table, to, baskets, reading, writing, rest, kept, layout, as_json)
        return
    baskets.refuse_for_table(layout=layout != "rows")
    announce_first_run()
    known = read_mapping(mapping)
    recoded = applied(known, table, rest, **reading.declared())  # type: ignore[arg-type]
    tell(recoded.write(to, writing.force, writing.escape_formulas, [mapping], kept).notices)
    release, left_out = recoded.release, recoded.left_out
    _warn(left_out)
    values = {
        "requirement": str(known.requirement),
        "records": left_out.of,
        "published": release.assignment.records,
        "left_out": left_out.content(),
        "groups": release.groups,
        "files": [str(to)],
        "ledger": str(kept),
    }
    rows, groups = counted(release.assignment.records, "record"), counted(release.groups, "group")
    lines = [
        f"Wrote {to}: {rows} in {groups}. Every group satisfies: {known.requirement}",
        "The audit of the file, with Q of the whole new table, confirms it.",
        f"Kept in {kept}: `sfumato audit {to} --with {kept} ...` looks at everything published so.",
    ]
    say(values, [*lines, *_left_out(left_out)], as_json)


def _warn(left_out: LeftOut) -> None:
    """Say where so much is left out that the rest may be another population."""
    if left_out.is_large:
        typer.echo(
            f"WARNING: {left_out.records:,} of {left_out.of:,} records ({left_out.records / left_out.of:.0%}) are left "
            "out. What remains may be another population than\nthe table; consider a new release.",
            err=True,
        )


def _left_out(left_out: LeftOut) -> list[str]:
    """Say what is left out, and why."""
    if not left_out.records:
        return []
    many = f"{left_out.records:,} of {left_out.of:,} records"
    return [f"Left out, because the mapping does not fit them: {many}.", *(f"  {why}" for why in left_out.reasons())]


def _mixed(
    mapping: Path,
    source: str,
    to: Path,
    items_file: str | None,
    reading: TextReading,
    writing: Writing,
    rest: str,
    ledger: Path,
    as_json: bool,
) -> None:
    """Recode new records with items."""
    from sfumato.publish.mixed.applied import apply_mixed
    from sfumato.publish.mixed.mapping import read_mixed_mapping

    known = read_mixed_mapping(mapping)
    announce_first_run()
    recoded = apply_mixed(known, source, rest, items_file, **reading.declared())  # type: ignore[arg-type]
    verdict, notices = recoded.write(to, writing.force, writing.escape_formulas, [mapping], ledger)
    tell(notices)
    left_out = recoded.left_out
    _warn(left_out)
    files = [str(to), *([f"{to}.legend.json"] if recoded.names.legend else [])]
    values = {
        "requirement": str(known.requirement),
        "records": left_out.of,
        "published": verdict.records,
        "left_out": left_out.content(),
        "groups": verdict.groups,
        "published_items": verdict.published_items,
        "files": files,
        "ledger": str(ledger),
    }
    rows, groups = counted(verdict.records, "record"), counted(verdict.groups, "group")
    lines = [
        f"Wrote {' and '.join(files)}: {rows} in {groups} with {counted(verdict.published_items, 'published item')}.",
        f"Counted again in the file: {known.requirement}, that is: {known.requirement.rule_in_words()}.",
        f"Kept in {ledger}, with everything that was published under this mapping.",
    ]
    say(values, [*lines, *_left_out(left_out)], as_json)


def _baskets(
    mapping: Path,
    source: str,
    to: Path,
    baskets: OfBaskets,
    reading: TextReading,
    writing: Writing,
    rest: str,
    ledger: Path,
    layout: str,
    as_json: bool,
) -> None:
    """Recode new baskets."""
    from sfumato.publish.baskets.applied import apply_baskets, read_basket_mapping

    known = read_basket_mapping(mapping)
    announce_first_run()
    declared = baskets.declaration(source, reading)
    recoded = apply_baskets(known, declared.open(), rest)  # type: ignore[arg-type]
    laid_out = "lines" if layout == "rows" else layout
    how = (writing.force, writing.escape_formulas, [mapping, *declared.files], ledger)
    verdict, notices = recoded.write(to, laid_out, *how)
    tell(notices)
    left_out = recoded.left_out
    files = [str(to), *([f"{to}.legend.json"] if recoded.names.legend else [])]
    values = {
        "requirement": str(known.requirement),
        "records": left_out.of,
        "published": verdict.records,
        "left_out": {"records": left_out.records, "unknown_items": left_out.items},
        "published_items": verdict.published_items,
        "files": files,
        "ledger": str(ledger),
    }
    lines = [
        f"Wrote {' and '.join(files)}: {counted(verdict.records, 'record')} with "
        f"{counted(verdict.published_items, 'published item')}.",
        f"Counted again in the file: {known.requirement}, that is: {known.requirement.rule_in_words()}.",
        f"Kept in {ledger}, with everything that was published under this mapping.",
        *([f"Left out: {left_out.reason()}."] if left_out.records else []),
    ]
    say(values, lines, as_json)
