"""`sfumato check`: how risky a table is as it stands, and whether a study would run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.baskets import check_of_baskets, refuse
from sfumato.commands.common import Columns, announce_first_run, columns, print_json
from sfumato.errors import BadInputError

if TYPE_CHECKING:
    from sfumato.table import Table
    from sfumato.tradeoff import Study


def check(
    study: Annotated[
        str, typer.Argument(help="A study.toml, a bundled table such as adult, or with --quasi any table.")
    ],
    quasi: Annotated[Columns, typer.Option(help="Columns an outsider may know; repeat, or separate by commas.")] = [],  # noqa: B006
    sensitive: Annotated[Columns, typer.Option(help="Columns nobody should learn about a person.")] = [],  # noqa: B006
    identifier: Annotated[Columns, typer.Option(help="Columns that name a person.")] = [],  # noqa: B006
    weight: Annotated[str | None, typer.Option(help="The column of sampling weights.")] = None,
    household: Annotated[str | None, typer.Option(help="The column that says who lives together.")] = None,
    population: Annotated[int | None, typer.Option(help="How many persons the table is a sample of.")] = None,
    sampling_fraction: Annotated[
        float | None, typer.Option(help="The share of the population that is in the table.")
    ] = None,
    hierarchies: Annotated[
        Path | None,
        typer.Option(help="A TOML file, or a folder of level tables <table>_hierarchy_<column>.csv."),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(help="A missing value is a value of its own, drops its record, or matches all: value|drop|any."),
    ] = None,
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
    known: Annotated[int, typer.Option(help="Of baskets: how many items of a person an attacker may know.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Say how risky a table is (or baskets are) as it stands, and whether a study would run (exit 1 if not)."""
    from sfumato.configuration import check_choice
    from sfumato.table import DATASETS
    from sfumato.tradeoff import check as checked
    from sfumato.tradeoff import of_table, read_study
    from sfumato.transactions.files.declaration import BasketsDeclaration
    from sfumato.words.check import check_in_words

    started = time.perf_counter()
    declared = BasketsDeclaration(study, id, item, column, delimiter, tree, encoding) if baskets else None
    if check_of_baskets(study, declared, known, as_json):
        return
    of_baskets = {"--id": id, "--item": item, "--column": column, "--tree": tree}
    refuse(of_baskets, "is about sets of items; say so (--baskets)")
    if missing is not None:
        check_choice("missing", missing, ("value", "drop", "any"))
    source: Table | Study
    if study.lower().endswith(".toml") or (study in DATASETS and not quasi and not Path(study).is_file()):
        of_tables = {
            "--quasi": quasi,
            "--sensitive": sensitive,
            "--identifier": identifier,
            "--hierarchies": hierarchies,
            "--na": na,
            "--delimiter": delimiter,
            "--encoding": encoding != "utf-8",
        }
        for option, value in of_tables.items():
            if value:
                raise BadInputError(f"{option} belongs to a table; the study {study} says this itself, under [table]")
        source = of_table(read_study(study))
    else:
        source = _table(study, (quasi, sensitive, identifier), hierarchies, missing, na, delimiter, encoding)
    announce_first_run()
    found = checked(
        source,
        weight=weight,
        household=household,
        population=population,
        sampling_fraction=sampling_fraction,
        missing=missing,  # type: ignore[arg-type]
    )
    for notice in found.notices:
        typer.echo(f"note: {notice}", err=True)
    if as_json:
        print_json({**found.to_dict(), "seconds": round(time.perf_counter() - started, 4)})
    else:
        typer.echo(check_in_words(found))
    if not found.valid:
        raise typer.Exit(1)


def _table(
    source: str,
    named: tuple[Columns, Columns, Columns],
    hierarchies: Path | None,
    missing: str | None,
    na: list[str],
    delimiter: str | None,
    encoding: str,
) -> Table:
    """Open a table whose roles are given as options."""
    from dataclasses import replace

    from sfumato.table import TableDeclaration

    declared = TableDeclaration(
        source=source,
        hierarchies=None if hierarchies is None else str(hierarchies),
        missing="drop" if missing == "drop" else "value",
        na=tuple(na),
        delimiter=delimiter,
        encoding=encoding,
    )
    rows = declared.open_rows()
    quasi, sensitive, identifier = (columns(names, rows.columns) for names in named)
    return replace(declared, quasi=quasi, sensitive=sensitive, identifier=identifier).open(rows)
