"""`sfumato init`: a first study of a table, for a person to correct."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.baskets import init_of_baskets, refuse
from sfumato.commands.common import print_json
from sfumato.phrases import counted

if TYPE_CHECKING:
    from sfumato.tradeoff import Draft

WIDEST = 28


def init(
    table: Annotated[
        str, typer.Argument(help="A file (CSV, TSV, Parquet, JSON, ...) or a bundled table such as adult.")
    ],
    to: Annotated[Path, typer.Option("--to", help="The study to write.")] = Path("study.toml"),
    sample: Annotated[int, typer.Option(help="Look at the values of about so many records.")] = 100_000,
    na: Annotated[list[str], typer.Option(help="A text that means missing, beside the empty one; repeat.")] = [],  # noqa: B006
    delimiter: Annotated[
        str | None, typer.Option(help="The delimiter of a text file, if it is guessed wrongly.")
    ] = None,
    encoding: Annotated[str, typer.Option(help="The encoding of a text file.")] = "utf-8",
    baskets: Annotated[
        bool, typer.Option("--baskets", help="The file holds sets of items: lines, rows (--id, --item), or lists.")
    ] = False,
    id: Annotated[str | None, typer.Option(help="Of baskets in rows: the column that says whose an item is.")] = None,
    item: Annotated[str | None, typer.Option(help="Of baskets in rows: the column of items.")] = None,
    column: Annotated[str | None, typer.Option(help="Of baskets: the column of lists, if there are several.")] = None,
    tree: Annotated[str | None, typer.Option(help="Of baskets: the tree of items, as a level table.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the study.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Look at a table, guess roles and hierarchies, and write a study.toml with comments for a person to correct."""
    from sfumato.release import check_target
    from sfumato.table import TableDeclaration
    from sfumato.tradeoff import draft
    from sfumato.transactions.files.bundled import BASKETS
    from sfumato.transactions.files.declaration import BasketsDeclaration

    check_target(to, force)
    if baskets or (table in BASKETS and not Path(table).is_file()):
        init_of_baskets(BasketsDeclaration(table, id, item, column, delimiter, tree, encoding), to, force, as_json)
        return
    refuse(
        {"--id": id, "--item": item, "--column": column, "--tree": tree}, "is about sets of items; say so (--baskets)"
    )
    found = draft(TableDeclaration(table, na=tuple(na), delimiter=delimiter, encoding=encoding), sample)
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
