"""`sfumato init`: a first study of a table or of baskets, for editing.

`sfumato policy`: privacy constraints (an attacker's knowledge of baskets) or utility constraints, made from the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.commands import _options as options
from sfumato.commands._output import announce_first_run, print_json, say, tell
from sfumato.config.options import SOURCE
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import counted, refusal, t

if TYPE_CHECKING:
    from sfumato.data.declaration import DataDeclaration
    from sfumato.data.guessing import Guess
    from sfumato.tradeoff.study.draft import Draft

WIDEST = 28
ROLES = (
    "identifier: never published. person: the person of each record, never published. quasi: known to an attacker,\n"
    "generalized. sensitive: must not be learned about a person, published and protected. UNDECIDED: not\n"
    "published."
)


def init(
    table: Annotated[str, typer.Argument(help=SOURCE.meaning)],
    roles: options.RoleOptions,
    reading: options.TableReading,
    baskets: options.OfBaskets,
    items: options.OfItems,
    to: Path = Path("study.toml"),
    sample: int = 100_000,
    force: bool = False,
    as_json: options.AsJson = False,
) -> None:
    """Read a table, guess roles and hierarchies, and write a commented study.toml for editing.

    Given roles (--quasi, --sensitive, --neutral, --identifier) are used, the others are guessed.
    """
    from sfumato.data.declaration import TableDeclaration
    from sfumato.runtime.staging import check_target
    from sfumato.tradeoff.study.draft import draft, draft_items

    check_target(to, force)
    if items.are_meant or baskets.are_meant(table):
        first = draft_items(*_items(table, roles, reading, baskets, items))
        first.write(to, force)
        tell(first.notices)
        say(first.values(to), first.lines(to), as_json)
        return
    items.refuse_alone()
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
    """Return a notice if a text file looks like sets of items."""
    from sfumato.engines._text_files import DELIMITED
    from sfumato.engines.item_files import are_ragged, field_counts, named_rows

    name = path.name.lower().removesuffix(".gz")
    if not path.is_file() or not name.endswith((*DELIMITED, ".dat", ".data", ".basket")):
        return []
    with suppress(BadInputError):  # reading it as a table reports it
        counts = field_counts(path, encoding)
        if are_ragged(counts):
            lengths = t("notice.lines_between_fields", counts=min(counts), counts_2=max(counts))
            return [t("notice.if_every_line_set", path=path, lengths=lengths)]
        if rows := named_rows(path, encoding):
            return [t("notice.if_values_same_set", path=path, item=rows.item, who=rows.who)]
    return []


def _items(
    table: str,
    roles: options.RoleOptions,
    reading: options.TableReading,
    baskets: options.OfBaskets,
    items: options.OfItems,
) -> tuple[DataDeclaration, Any]:
    """Open records with items; their quasi-identifiers are given, not guessed."""
    from sfumato.data.declaration import DataDeclaration, TableDeclaration

    if not items.are_meant:
        items.refuse_alone()
        roles.refuse_for_baskets()
        declared = DataDeclaration(items=baskets.declaration(table, reading, roles.person))
        return declared, declared.open()
    if not roles.quasi:
        raise refusal("name_columns_others_may")
    declared = items.declaration(TableDeclaration(table, **roles.single_columns(), **reading.declared()), baskets)
    rows = declared.open_rows()
    announce_first_run()
    declared = declared.with_table(**roles.of_rows(rows))
    return declared, declared.open(rows)


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
        "left_out": list(draft.first.left_out),
    }


def _role(draft: Draft, guess: Guess) -> str | None:
    """Return the displayed role of a column: the person column is an identifier, too."""
    return "person" if guess.column == draft.declaration.person else guess.role


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | list) else str(value)


def _print(draft: Draft, to: Path) -> None:
    """Print the guesses with reasons, and the next steps."""
    from sfumato.data.guessing import shown
    from sfumato.engines.locations import shown_place

    source = shown_place(str(draft.declaration.source))
    typer.echo(t("notice.guesses_corrected", source=source, records=draft.records, to=to))
    names = [shown(guess.column, WIDEST) if guess.column.strip() else repr(guess.column) for guess in draft.guesses]
    width = max(6, *map(len, names))
    typer.echo(f"  {'column':{width}}  {'role':10}  {'type':13}  why")
    for name, guess in zip(names, draft.guesses, strict=True):
        why = f"{guess.reason}. {guess.advice}" if guess.advice else guess.reason
        typer.echo(f"  {name:{width}}  {_role(draft, guess) or 'UNDECIDED':10}  {guess.type:13}  {shown(why, 1000)}")
    typer.echo(f"\n{ROLES}")
    for paragraph in _remarks(draft, to):
        typer.echo(f"\n{paragraph}")
    typer.echo(t("notice.next_correct", to=to))


def _remarks(draft: Draft, to: Path) -> Iterator[str]:
    """Yield the open decisions, and properties of the draft."""
    from sfumato.data.guessing import shown

    if draft.added_na:
        yield t("notice.taken_missing", to=to, added_na=", ".join(map(shown, draft.added_na)))
    undecided = len(draft.of_role(None))
    if undecided:
        yield t("cli.undecided", undecided=counted(undecided, "column"), to=to)
    if not draft.of_role("quasi"):
        yield t("cli.no_quasi", to=to)
    elif not draft.of_role("sensitive"):
        yield t("notice.no_column_looks_sensitive")
    if draft.timing():
        yield "\n".join(draft.timing())


def policy(
    source: Annotated[str, typer.Argument(metavar="BASKETS")],
    baskets: options.OfBaskets,
    reading: options.TextFile,
    to: Annotated[Path, typer.Option()],
    rare: Annotated[int | None, typer.Option(min=2)] = None,
    chapter: list[str] | None = None,
    visits: Path | None = None,
    visit_columns: str = "id,visit,item",
    groups: int | None = None,
    force: bool = False,
    as_json: options.AsJson = False,
) -> None:
    """Make a file of privacy constraints (--rare, --chapter, --visits) or utility constraints (--groups) of baskets."""
    from sfumato.requirements.policy_files import joined, privacy_policy, utility_policy
    from sfumato.runtime.staging import check_targets

    known = {"--rare": rare, "--chapter": chapter, "--visits": visits}
    given = [name for name, value in known.items() if value]
    if groups is not None and given:
        raise refusal("groups_makes_utility_constraints", given=given[0])
    is_study = source.lower().endswith(".toml")
    declared = baskets.declared_in(source, reading) if is_study else baskets.declaration(source, reading)
    inputs = [*declared.files, *([] if visits is None else [visits])]
    check_targets([to], force, inputs)
    announce_first_run()
    opened = declared.open()
    tell(opened.notices)
    if groups is not None:
        made = utility_policy(opened, groups)
    else:
        made = privacy_policy(opened, rare, chapter or (), visits, joined([visit_columns]))
    made.write(to, force, inputs)
    say(made.values(to), made.lines(to), as_json)
