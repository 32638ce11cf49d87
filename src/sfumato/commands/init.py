"""`sfumato init`: a first study of a table or of baskets, for a person to correct."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.common import announce_first_run, print_json, say, tell
from sfumato.commands.groups import AsJson, OfBaskets, TextReading
from sfumato.phrases import counted
from sfumato.vocabulary import SOURCE

if TYPE_CHECKING:
    from sfumato.tradeoff import Draft

WIDEST = 28


def init(
    table: Annotated[str, typer.Argument(help=SOURCE.meaning)],
    reading: TextReading,
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
    announce_first_run()
    drafted = draft(TableDeclaration(table, **reading.declared()), sample)
    drafted.write(to, force)
    tell(drafted.notices)
    if as_json:
        print_json(_as_plain(drafted, to))
    else:
        _print(drafted, to)


def _as_plain(draft: Draft, to: Path) -> dict[str, object]:
    columns = [
        {name: getattr(guess, name) for name in ("column", "role", "type", "reason", "advice")}
        | {"hierarchy": guess.hierarchy and {key: _plain(value) for key, value in guess.hierarchy.items()}}
        for guess in draft.guesses
    ]
    return {
        "study": str(to),
        "table": draft.declaration.source,
        "records": draft.records,
        "sampled": draft.sampled,
        "na": list(draft.declaration.na),
        "columns": columns,
        "undecided": [guess.column for guess in draft.of_role(None)],
    }


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | list) else str(value)


def _print(draft: Draft, to: Path) -> None:
    """Say what was guessed and why, and what comes next."""
    from sfumato.table.guess.guess import shown

    typer.echo(f"{draft.declaration.source}: {counted(draft.records, 'record')}. Guesses, to be corrected in {to}:\n")
    names = [shown(guess.column, WIDEST) if guess.column.strip() else repr(guess.column) for guess in draft.guesses]
    width = max(6, *map(len, names))
    typer.echo(f"  {'column':{width}}  {'role':10}  {'type':13}  why")
    for name, guess in zip(names, draft.guesses, strict=True):
        why = f"{guess.reason}. {guess.advice}" if guess.advice else guess.reason
        typer.echo(f"  {name:{width}}  {guess.role or 'UNDECIDED':10}  {guess.type:13}  {shown(why, 1000)}")
    if draft.added_na:
        typer.echo(
            f"\nTaken as missing (na in {to}; take out what is a value): {', '.join(map(shown, draft.added_na))}"
        )
    undecided = len(draft.of_role(None))
    if undecided:
        typer.echo(
            f"\n{counted(undecided, 'column')} could not be placed; what is UNDECIDED is not published until you write "
            f"its name into one of the lists in {to}."
        )
    if not draft.of_role("quasi"):
        typer.echo(f"\nNo quasi-identifier was found: name at least one in {to} before you go on.")
    elif not draft.of_role("sensitive"):
        typer.echo(
            "\nNo sensitive column was found: the study is about who can be recognised, not about what is learnt."
        )
    typer.echo(f"\nNext: correct {to}, then\n  sfumato check {to}\n  sfumato explore {to}")
