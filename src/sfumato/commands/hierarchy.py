"""`sfumato hierarchy`: the tree of one column with counts, as editable TOML, and the effect of each level on k."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands._options import AsJson, OfTable, Others, RoleOptions, TableReading, columns, refuse
from sfumato.commands._output import announce_first_run, say, tell
from sfumato.config.options import SOURCE
from sfumato.texts.catalogue import t

if TYPE_CHECKING:
    from sfumato.data.declaration import TableDeclaration


def hierarchy(
    table: Annotated[str, typer.Argument(help=f"A study.toml, or: {SOURCE.meaning}")],
    column: str,
    others: Others,
    about: OfTable,
    reading: TableReading,
    level: int | None = None,
    similar: bool = False,
    to: Path | None = None,
    force: bool = False,
    as_json: AsJson = False,
) -> None:
    """Show the hierarchy of a column with counts and the effect of each level on k, as editable TOML."""
    from sfumato.report.check_summary import hierarchy_in_words
    from sfumato.runtime.staging import check_targets
    from sfumato.tradeoff.hierarchy_levels import hierarchy as looked_at

    declared = _declaration(table, column, others, about, reading)
    if to is not None:
        check_targets([to], force, declared.files)
    announce_first_run()
    view = looked_at(declared.open(), column, similar)
    tell(view.notices)
    values, lines = view.to_dict(level), list(hierarchy_in_words(view, level))
    if to is not None:
        view.write(to, force, tuple(declared.files))
        values["to"], lines = str(to), [*lines, "", t("notice.edit_then_give_back", to=to)]
    say(values, lines, as_json)


def _declaration(name: str, column: str, others: Others, about: OfTable, reading: TableReading) -> TableDeclaration:
    """Return the declaration of the table and its quasi-identifiers; a study contains these."""
    from sfumato.tradeoff.study.study import of_table, read_study

    if name.lower().endswith(".toml"):
        given = {**others.given(), **about.given(), **reading.given()}
        refuse(given, t("notice.belongs_table", name=name))
        declared = of_table(read_study(name)).table
    else:
        declared = about.declaration(name, RoleOptions(), reading)
        declared = replace(declared, quasi=columns(others.quasi, declared.open_rows().columns))
    return _with_role(declared, column)


def _with_role(declared: TableDeclaration, column: str) -> TableDeclaration:
    """Return the declaration with a column that has no hierarchy by its role as a quasi-identifier."""
    quasi = declared.roles.quasi if declared.quasi or declared.is_bundled else ()
    if quasi and column in (*quasi, *declared.roles.sensitive):
        return declared
    sensitive = tuple(name for name in declared.sensitive if name != column)
    persons = {"person": None, "one_record_per_person": False, "household": None}
    alone = replace(declared, neutral=(), identifier=(), weights={}, **persons)  # type: ignore[arg-type]
    return replace(alone, quasi=(column, *quasi), sensitive=sensitive)
