"""`sfumato init`: a first study of a table or of baskets, for a person to correct."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands._options import ABOUT_TABLES, AsJson, OfBaskets, OfItems, RoleOptions, TableReading, refuse
from sfumato.commands._output import announce_first_run, print_json, say, tell
from sfumato.config.options import SOURCE
from sfumato.errors import BadInputError
from sfumato.texts.format import counted

if TYPE_CHECKING:
    from sfumato.data.guessing import Guess
    from sfumato.tradeoff.study.draft import Draft, ItemsDraft

WIDEST = 28
ROLES = (
    "identifier: never published. person: whose record it is, never published. quasi: what others may know of\n"
    "somebody, made coarser. sensitive: what nobody should learn of somebody, published and protected. UNDECIDED: not\n"
    "published."
)


def init(
    table: Annotated[str, typer.Argument(help=SOURCE.meaning)],
    roles: RoleOptions,
    reading: TableReading,
    baskets: OfBaskets,
    items: OfItems,
    to: Path = Path("study.toml"),
    sample: int = 100_000,
    force: bool = False,
    as_json: AsJson = False,
) -> None:
    """Look at a table, guess roles and hierarchies, and write a study.toml with comments for a person to correct.

    Roles that are given (--quasi, --sensitive, --neutral, --identifier) are taken, the others are guessed.
    """
    from sfumato.data.declaration import DataDeclaration, TableDeclaration
    from sfumato.runtime.staging import check_target
    from sfumato.tradeoff.study.draft import draft, draft_items

    check_target(to, force)
    if items.are_meant:
        _mixed(table, roles, reading, baskets, items, to, force, as_json)
        return
    items.refuse_alone()
    if baskets.are_meant(table):
        refuse(roles.given(), ABOUT_TABLES)
        declared_sets = DataDeclaration(items=baskets.declaration(table, reading))
        _items(draft_items(declared_sets, declared_sets.open()), to, force, as_json)
        return
    baskets.refuse_for_table()
    announce_first_run()
    declared = TableDeclaration(table, **roles.single_columns(), **reading.declared())
    hint = _sets_of_items(Path(table), reading.encoding)
    try:
        if roles.given():
            declared = replace(declared, **roles.of_rows(declared.open_rows()))  # type: ignore[arg-type]
        drafted = draft(declared, sample)
    except BadInputError as error:
        raise BadInputError("; ".join([str(error), *hint])) from None
    drafted.write(to, force)
    tell([*drafted.notices, *hint])
    if as_json:
        print_json(_as_plain(drafted, to))
    else:
        _print(drafted, to)


def _sets_of_items(path: Path, encoding: str | None) -> list[str]:
    """Say that a text file looks as if it held sets of items."""
    from sfumato.engines._item_layouts import are_ragged, field_counts, named_rows
    from sfumato.engines._text_files import DELIMITED

    name = path.name.lower().removesuffix(".gz")
    if not path.is_file() or not name.endswith((*DELIMITED, ".dat", ".data", ".basket")):
        return []
    with suppress(BadInputError):  # whoever reads it as a table will say so
        counts = field_counts(path, encoding)
        if are_ragged(counts):
            lengths = f"its lines have between {min(counts)} and {max(counts)} fields"
            return [f"{path}: {lengths}; if every line is a set of items, use --baskets"]
        if rows := named_rows(path, encoding):
            return [
                f"{path}: if the values of {rows.item!r} with the same {rows.who!r} are a set of items, use --baskets"
            ]
    return []


def _mixed(
    table: str,
    roles: RoleOptions,
    reading: TableReading,
    baskets: OfBaskets,
    items: OfItems,
    to: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Write a first study of a table with items; its quasi-identifiers are named, not guessed."""
    from sfumato.data.declaration import TableDeclaration
    from sfumato.tradeoff.study.draft import draft_items

    if not roles.quasi:
        raise BadInputError("name the columns that others may know of a person (--quasi); beside items none is guessed")
    declared = items.declaration(TableDeclaration(table, **roles.single_columns(), **reading.declared()), baskets)
    rows = declared.open_rows()
    declared = declared.with_table(**roles.of_rows(rows))
    announce_first_run()
    _items(draft_items(declared, declared.open(rows)), to, force, as_json)


def _items(first: ItemsDraft, to: Path, force: bool, as_json: bool) -> None:
    """Write a first study of records with items, and say what was seen."""
    first.write(to, force)
    tell(first.notices)
    say(first.values(to), first.lines(to), as_json)


def _as_plain(draft: Draft, to: Path) -> dict[str, object]:
    from sfumato.engines.locations import shown_place

    columns = [
        {name: getattr(guess, name) for name in ("column", "type", "reason", "advice")}
        | {
            "role": _role(draft, guess),
            "hierarchy": guess.hierarchy and {key: _plain(value) for key, value in guess.hierarchy.items()},
        }
        for guess in draft.guesses
    ]
    return {
        "study": str(to),
        "table": shown_place(str(draft.declaration.source)),
        "records": draft.records,
        "sampled": draft.sampled,
        "na": list(draft.declaration.na),
        "columns": columns,
        "undecided": [guess.column for guess in draft.of_role(None)],
        "effort": None if draft.first.effort is None else draft.first.effort.told,
        "left_out": list(draft.first.left_out),
    }


def _role(draft: Draft, guess: Guess) -> str | None:
    """Name the role of a column: the person column is an identifier that says whose record it is."""
    return "person" if guess.column == draft.declaration.person else guess.role


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | list) else str(value)


def _print(draft: Draft, to: Path) -> None:
    """Say what was guessed and why, and what comes next."""
    from sfumato.data.guessing import shown
    from sfumato.engines.locations import shown_place

    source = shown_place(str(draft.declaration.source))
    typer.echo(f"{source}: {counted(draft.records, 'record')}. Guesses, to be corrected in {to}:\n")
    names = [shown(guess.column, WIDEST) if guess.column.strip() else repr(guess.column) for guess in draft.guesses]
    width = max(6, *map(len, names))
    typer.echo(f"  {'column':{width}}  {'role':10}  {'type':13}  why")
    for name, guess in zip(names, draft.guesses, strict=True):
        why = f"{guess.reason}. {guess.advice}" if guess.advice else guess.reason
        typer.echo(f"  {name:{width}}  {_role(draft, guess) or 'UNDECIDED':10}  {guess.type:13}  {shown(why, 1000)}")
    typer.echo(f"\n{ROLES}")
    for paragraph in _remarks(draft, to):
        typer.echo(f"\n{paragraph}")
    typer.echo(f"\nNext: correct {to}, then\n  sfumato check {to}\n  sfumato explore {to}")


def _remarks(draft: Draft, to: Path) -> Iterator[str]:
    """Say what somebody should decide, and what comes of the draft as it is."""
    from sfumato.data.guessing import shown

    if draft.added_na:
        yield f"Taken as missing (na in {to}; take out what is a value): {', '.join(map(shown, draft.added_na))}"
    undecided = len(draft.of_role(None))
    if undecided:
        yield (
            f"{counted(undecided, 'column')} could not be placed, or would be too many for a first study. What is "
            f"UNDECIDED is not published until you\nwrite its name into one of the lists in {to}, or say its role "
            "here, such as --sensitive COLUMN (and --force)."
        )
    if not draft.of_role("quasi"):
        yield (
            "No column looks like something an outsider may know of a person (a quasi-identifier), so there is nothing "
            f"to make coarser:\nname at least one, here (--quasi COLUMN) or in {to}, before you go on."
        )
    elif not draft.of_role("sensitive"):
        yield "No column looks sensitive: the study is about who can be recognised, not about what is learnt of them."
    if draft.timing():
        yield "\n".join(draft.timing())
