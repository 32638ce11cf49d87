"""The columns of a table: what each seems to be and why, and its role, corrected by clicking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import tomlkit
from starlette.responses import Response

from sfumato.config.options import Option, check_number
from sfumato.data.declaration import READING, DataDeclaration, TableDeclaration
from sfumato.data.reading import check_columns
from sfumato.engines.protocol import Engine
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import t
from sfumato.workbench.endpoints import Call, Endpoint
from sfumato.workbench.errors import FieldError, MissingError
from sfumato.workbench.opened_data import in_forms, of_data, of_rows, rows_of, shown
from sfumato.workbench.projects import Project
from sfumato.workbench.views.edits import VERSION, changed
from sfumato.workbench.views.goals import mark_made, remade
from sfumato.workbench.views.items import items_form, items_or_columns, shown_items
from sfumato.workbench.views.open import READ_AS, named_first, reading_schema
from sfumato.workbench.views.options import put_parts

ROLES = ("identifier", "quasi", "sensitive", "neutral")
UNPUBLISHED = "none"
ITEMS = "items"
"""The role of the column that holds the sets of items, where records have such."""

BESIDE_ITEMS = ("identifier", "quasi", "sensitive", ITEMS, UNPUBLISHED)
"""The roles of columns beside items: what is published as it is would tell the records of a group apart."""

SAMPLE = 20_000
"""Records among which values are looked for."""

FEW = 6
"""Values that are shown of a column."""

COLUMN = Option("The name of the column.", takes="column")


@dataclass(frozen=True)
class Role:
    """The role that a column shall have."""

    column: Annotated[str, COLUMN]
    role: Annotated[
        Literal["identifier", "quasi", "sensitive", "neutral", "items", "none"],
        Option("Its role; items: it holds sets of items (of tables with items); none: it is not published."),
    ]
    version: Annotated[str | None, VERSION] = None


@dataclass(frozen=True)
class TableSettings:
    """What is said of a table besides roles; what is left out stays as it is."""

    person: Annotated[str | None, Option("The column that says whose record it is; empty: none.", takes="column")] = (
        None
    )
    one_record_per_person: Annotated[bool | None, Option("Whether every record is declared to be another person.")] = (
        None
    )
    household: Annotated[
        str | None, Option("The column that says who lives together; empty: none.", takes="column")
    ] = None
    missing: Annotated[
        Literal["value", "drop"] | None, Option("What a missing value is: a value of its own, or a reason to drop.")
    ] = None
    na: Annotated[tuple[str, ...] | None, Option("Texts that mean missing, beside the empty one.")] = None
    weights: Annotated[
        Mapping[str, Any] | None,
        Option("How much a loss in a quasi-identifier counts; 1 where nothing is said.", takes="values"),
    ] = None
    reading: Annotated[
        Mapping[str, Any] | None, Option("How the file is read, where that is guessed wrongly.", takes="values")
    ] = None
    version: Annotated[str | None, VERSION] = None


def mixed(project: Project) -> DataDeclaration | None:
    """Say where the table and its items are, where the records of a project have items."""
    return project.study.data if project.study.section == "items" else None


def declared(project: Project) -> TableDeclaration:
    """Say where the project's table is; what names items or persons in it is read as it is written."""
    _ = project.study.table  # raise for sets of items
    return project.study.data.rows


def columns_by_role(table: TableDeclaration) -> dict[str, list[str]]:
    """List the columns of every role, also where there is no quasi-identifier yet, with which nothing can be done."""
    try:
        given: Any = table.roles
    except BadInputError:
        given = table
    return {role: list(getattr(given, role)) for role in ROLES}


# -- the page --------------------------------------------------------------------------------------------------------


def columns(call: Call) -> Response:
    """Show the columns with their roles, or of baskets that they have none."""
    plainly = call.query.get("show") == "yes"
    return items_or_columns("columns.html", call, "columns", lambda project: shown_columns(project, plainly))


def shown_columns(project: Project, plainly: bool = False) -> dict[str, Any]:
    """Say of every column what it is, what was guessed and why, which role it has; frequent items, masked or not."""
    table, notes = declared(project), project.notes()
    guesses = {guess["column"]: guess for guess in notes.get("guesses", [])}
    values = of_rows(table, "few-values", _few_values)
    by_column = {name: role for role, columns in columns_by_role(table).items() for name in columns}
    both = mixed(project)
    held = None if both is None else both.beside.column
    roles: tuple[str, ...] = (*ROLES, UNPUBLISHED) if both is None else BESIDE_ITEMS
    if held is not None:
        by_column[held] = ITEMS
        guesses.pop(held, None)
    elif both is not None:
        roles = tuple(role for role in roles if role != ITEMS)
    with rows_of(table) as rows:
        names, nested, records = list(rows.columns), dict(rows.nested), rows.row_count
    entries = [
        {
            "name": name,
            "role": by_column.get(name, UNPUBLISHED),
            "guess": guesses.get(name),
            "type": guesses[name]["type"] if name in guesses else nested.get(name, ""),
            "nested": nested.get(name),
            "values": [shown(value, False) for value, _ in values.get(name, [])],
            "weight": table.weights.get(name, 1),
        }
        for name in names
    ]
    schema, reads = reading_schema("table"), [name for name in READ_AS["table"] if name != "na"]
    said = table if both is None else both.table
    count = {role: sum(entry["role"] == role for entry in entries) for role in (*ROLES, ITEMS, UNPUBLISHED)}
    return {
        "columns": entries,
        "roles": roles,
        "items": None if both is None else _items_of(project, plainly),
        "owner": None if both is None else both.beside.id,
        "counts": count,
        "records": records,
        "person": table.person,
        "one_record_per_person": table.one_record_per_person,
        "household": table.household,
        "missing": table.missing,
        "na": list(table.na),
        "added_na": [text for text in notes.get("added_na", []) if text in table.na],
        "notices": notes.get("read_notices", []),
        "data": {
            "columns": names,
            "reading": {name: value for name in reads if (value := getattr(said, name)) not in (None, ())},
            "schema": {**schema, "properties": {name: schema["properties"][name] for name in reads}},
            "items": None if both is None else items_form(project),
        },
    }


def _items_of(project: Project, plainly: bool) -> dict[str, Any]:
    """Say what the items are; where the table cannot be opened as it is declared, why, so that it can be corrected."""
    try:
        return {**shown_items(project, plainly), "wrong": None}
    except BadInputError as error:
        return {"wrong": in_forms(project.locally(str(error)))}


def _few_values(rows: Engine) -> dict[str, list[tuple[str | None, int]]]:
    """List the most frequent values of every column among some records."""
    few = {}
    for name in rows.columns:
        if name in rows.nested:
            continue
        distinct = rows.sample(name, SAMPLE)
        pairs = zip(distinct.values, distinct.counts.tolist(), strict=True)
        few[name] = sorted(pairs, key=lambda pair: (-pair[1], pair[0] or ""))[:FEW]
    return few


def columns_values(call: Call) -> dict[str, Any]:
    """Say the same as plain values."""
    content = shown_columns(call.project)
    return {**{name: value for name, value in content.items() if name != "data"}, "version": call.project.version}


def values(call: Call) -> dict[str, Any]:
    """Show the most frequent values of a column as they are."""
    table, name = declared(call.project), call.query.get("column", "")
    few = of_rows(table, "few-values", _few_values)
    if name not in few:
        raise MissingError(t("columns.no_values", name=name))
    return {"column": name, "values": [{"text": shown(value, True), "records": count} for value, count in few[name]]}


# -- changes ---------------------------------------------------------------------------------------------------------


def give_role(call: Call) -> dict[str, Any]:
    """Give a column a role, or none."""
    project, wanted = call.project, call.body
    table = declared(project)
    with rows_of(table) as rows:
        if wanted.column not in rows.columns:
            raise FieldError("column", t("columns.no_column", column=wanted.column))
        if wanted.column in rows.nested and wanted.role in ("quasi", "sensitive"):
            raise FieldError("role", t("columns.nested", column=wanted.column))
    _check_items(mixed(project), wanted)
    before = columns_by_role(table)
    after = {role: [name for name in names if name != wanted.column] for role, names in before.items()}
    if wanted.role in after:
        after[wanted.role].append(wanted.column)
    others = None
    if after["sensitive"] != before["sensitive"]:
        weights = {name: weight for name, weight in table.weights.items() if name in after["quasi"]}
        lists = {role: tuple(names) for role, names in after.items()}
        others = remade(project, replace(table, **lists, weights=weights))  # type: ignore[arg-type]

    def edit(document: tomlkit.TOMLDocument) -> None:
        section: Any = document["table"]
        for role, names in after.items():
            _set_names(section, role, names)
        for hidden in ("household", "person"):
            if section.get(hidden) == wanted.column and wanted.role not in ("identifier", UNPUBLISHED):
                del section[hidden]
        if wanted.role != "quasi" and wanted.column in section.get("weights", {}):
            del section["weights"][wanted.column]
        if wanted.role == ITEMS:
            section_of_items: Any = document["items"]
            section_of_items["column"] = wanted.column
            section_of_items.pop("separator", None)
        if others is not None:
            put_parts(document, {"axes": others["axes"], "candidates": others["candidates"]}, whole_scales=False)

    role = t(f"columns.role_{wanted.role}")
    answer = changed(project, wanted.version, t("columns.changed_role", column=wanted.column, role=role), edit)
    if others is not None:
        mark_made(project)
    return answer


def _check_items(both: DataDeclaration | None, wanted: Role) -> None:
    """Raise where a role cannot be had beside items, or the column cannot be the one that holds them."""
    held = None if both is None else both.beside.column
    if wanted.role == ITEMS and held is None:
        raise FieldError("role", t("columns.no_items" if both is None else "columns.items_in_file"))
    if both is None:
        return
    if wanted.role == "neutral":
        raise FieldError("role", t("columns.neutral_beside", column=wanted.column))
    if wanted.column == held and wanted.role != ITEMS:
        raise FieldError("role", t("columns.holds_items", column=wanted.column))
    if wanted.column == both.beside.id and wanted.role not in ("identifier", UNPUBLISHED):
        raise FieldError("role", t("columns.names_persons", column=wanted.column))
    if wanted.role == ITEMS and wanted.column != held:
        lists = {role: tuple(name for name in getattr(both.rows, role) if name != wanted.column) for role in ROLES}
        held_now = replace(both.beside, column=wanted.column, separator=None)
        try:
            of_data(replace(both.with_table(**lists), items=held_now), "opened", lambda data: None)
        except BadInputError as error:
            raise FieldError("role", str(error)) from None


def _set_names(section: Any, role: str, names: list[str]) -> None:
    """Write a list of columns; those that stay keep their comments, as far as the list can be edited in place."""
    present = section.get(role)
    if present is None:
        if names:
            section[role] = names
        return
    for name in [name for name in present if name not in names]:
        present.remove(name)
    for name in [name for name in names if name not in present]:
        present.append(name)


def settle(call: Call) -> dict[str, Any]:
    """Say what holds of the table as a whole; what it could not be read with is refused."""
    project, wanted = call.project, call.body
    table = declared(project)
    with rows_of(table) as rows:
        names = list(rows.columns)
    _check_settings(wanted, table, names, mixed(project) is not None)
    said = _said(wanted)
    tried = _try(table, said)
    others = None if tried.person == table.person else remade(project, tried)

    def edit(document: tomlkit.TOMLDocument) -> None:
        section: Any = document["table"]
        for name, value in said.items():
            if value is not None:
                section[name] = value
            elif name in section:
                del section[name]
        if others is not None:
            put_parts(document, {"axes": others["axes"], "candidates": others["candidates"]}, whole_scales=False)

    answer = changed(project, wanted.version, t("columns.changed_settings"), edit)
    if others is not None:
        mark_made(project)
    return answer


def _said(wanted: TableSettings) -> dict[str, Any]:
    """List what is said anew, as it stands in a study; None: nothing is said of it any more."""
    said: dict[str, Any] = {}
    if wanted.person is not None:
        said["person"] = wanted.person or None
    if wanted.one_record_per_person is not None:
        said["one_record_per_person"] = wanted.one_record_per_person or None
    if wanted.household is not None:
        said["household"] = wanted.household or None
    if wanted.missing is not None:
        said["missing"] = wanted.missing
    if wanted.na is not None:
        said["na"] = [text for text in wanted.na if text] or None
    if wanted.weights is not None:
        said["weights"] = {name: value for name, value in wanted.weights.items() if value != 1} or None
    return said | {name: None if value in ("", []) else value for name, value in (wanted.reading or {}).items()}


def _try(table: TableDeclaration, said: Mapping[str, Any]) -> TableDeclaration:
    """Return the table with what is said; raise unless it can be read so, and has the columns that have roles."""
    usual = TableDeclaration(table.source)
    given: dict[str, Any] = {name: getattr(usual, name) if value is None else value for name, value in said.items()}
    try:
        tried = replace(table, **given)
        with rows_of(tried) as rows:
            check_columns(rows, tried.roles)
        return tried
    except BadInputError as error:
        raise FieldError(
            named_first(str(error), (*READ_AS["table"], "person", "household", "missing")), str(error)
        ) from None


def _check_settings(wanted: TableSettings, table: TableDeclaration, names: list[str], beside_items: bool) -> None:
    for field, column in (("household", wanted.household), ("person", wanted.person)):
        if column and beside_items:
            raise FieldError(field, t(f"columns.{field}_beside"))
        if column and column not in names:
            raise FieldError(field, t("columns.no_column", column=column))
        if column in (*table.roles.quasi, *table.roles.sensitive, *table.roles.neutral):
            raise FieldError(field, t(f"columns.{field}_has_role", column=column))
    for name, value in (wanted.weights or {}).items():
        if name not in table.roles.quasi:
            raise FieldError(f"weight {name}", t("columns.weight_of_quasi", column=name))
        try:
            check_number(t("columns.weight", column=name), value, least=0)
        except BadInputError as error:
            raise FieldError(f"weight {name}", str(error)) from None
    for name in wanted.reading or {}:
        if name not in READING or name not in READ_AS["table"]:
            raise FieldError(name, t("columns.not_reading", name=name))


ENDPOINTS = (
    Endpoint("GET", "/projects/{project}/columns", "Shows the columns with their roles.", columns, query=("show",)),
    Endpoint(
        "GET", "/api/projects/{project}/columns", "Lists the columns: type, guess and reason, role.", columns_values
    ),
    Endpoint(
        "GET",
        "/api/projects/{project}/values",
        "Shows the most frequent values of a column.",
        values,
        query=("column",),
    ),
    Endpoint("POST", "/api/projects/{project}/roles", "Gives a column a role, or none.", give_role, Role),
    Endpoint(
        "POST",
        "/api/projects/{project}/table",
        "Says what holds of the table as a whole: households, missing.",
        settle,
        TableSettings,
    ),
)
