"""`sfumato init`: a first study of a table or of baskets, for a person to correct."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.common import print_json, say, tell
from sfumato.commands.groups import AsJson, OfBaskets, Reading
from sfumato.phrases import counted
from sfumato.vocabulary import SOURCE

if TYPE_CHECKING:
    from sfumato.tradeoff import Draft

WIDEST = 28


def init(
    table: Annotated[str, typer.Argument(help=SOURCE.meaning)],
    reading: Reading,
    baskets: OfBaskets,
    to: Annotated[Path, typer.Option("--to", help="The study to write.")] = Path("study.toml"),
    sample: Annotated[int, typer.Option(help="Look at the values of about so many records.")] = 100_000,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the study.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look at a table, guess roles and hierarchies, and write a study.toml with comments for a person to correct."""
    from sfumato.release import check_target
    from sfumato.table import TableDeclaration
    from sfumato.tradeoff import draft
    from sfumato.transactions.draft import draft_baskets

    check_target(to, force)
    if baskets.are_meant(table):
        first = draft_baskets(baskets.declaration(table, reading))
        first.write(to, force)
        tell(first.notices)
        say(first.values(to), first.lines(to), as_json)
        return
    baskets.refuse_for_table()
    declared = TableDeclaration(table, na=tuple(reading.na), delimiter=reading.delimiter, encoding=reading.encoding)
    found = draft(declared, sample)
    found.write(to, force)
    if as_json:
        print_json(_as_plain(found, to))
    else:
        _print(found, to)


def _as_plain(found: Draft, to: Path) -> dict[str, object]:
    columns = [
        {
            "column": own.column,
            "role": own.role,
            "type": own.type,
            "reason": own.reason,
            "advice": own.advice,
            "hierarchy": None
            if own.hierarchy is None
            else {key: _plain(value) for key, value in own.hierarchy.items()},
        }
        for own in found.guesses
    ]
    return {
        "study": str(to),
        "table": found.declaration.source,
        "records": found.records,
        "sampled": found.sampled,
        "na": list(found.declaration.na),
        "columns": columns,
        "undecided": [own.column for own in found.of_role(None)],
    }


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | list) else str(value)


def _print(found: Draft, to: Path) -> None:
    """Say what was guessed and why, and what comes next."""
    from sfumato.table.guess.guess import shown

    typer.echo(f"{found.declaration.source}: {counted(found.records, 'record')}. Guesses, to be corrected in {to}:\n")
    names = [shown(own.column, WIDEST) if own.column.strip() else repr(own.column) for own in found.guesses]
    width = max(6, *map(len, names))
    typer.echo(f"  {'column':{width}}  {'role':10}  {'type':13}  why")
    for name, own in zip(names, found.guesses, strict=True):
        why = f"{own.reason}. {own.advice}" if own.advice else own.reason
        typer.echo(f"  {name:{width}}  {own.role or 'UNDECIDED':10}  {own.type:13}  {shown(why, 1000)}")
    if found.added_na:
        typer.echo(f"\nTaken as missing (na): {', '.join(map(shown, found.added_na))}")
    undecided = len(found.of_role(None))
    if undecided:
        typer.echo(
            f"\n{counted(undecided, 'column')} could not be placed; what is UNDECIDED is not published until you write "
            f"its name into one of the lists in {to}."
        )
    if not found.of_role("quasi"):
        typer.echo(f"\nNo quasi-identifier was found: name at least one in {to} before you go on.")
    elif not found.of_role("sensitive"):
        typer.echo(
            "\nNo sensitive column was found: the study is about who can be recognised, not about what is learnt."
        )
    typer.echo(f"\nNext: correct {to}, then\n  sfumato check {to}\n  sfumato explore {to}")
