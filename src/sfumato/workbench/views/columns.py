"""The page of a table's columns: the guess about each with its reason, and its role, which can be changed."""

from collections.abc import Callable, Mapping
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
from sfumato.workbench.endpoints import Call, endpoint
from sfumato.workbench.errors import FieldError, MissingError, blamed
from sfumato.workbench.opened_data import of_data, of_rows, rows_of, shown
from sfumato.workbench.projects import Project
from sfumato.workbench.views.goals import mark_made, remade
from sfumato.workbench.views.items import items_form, items_or_columns, shown_items
from sfumato.workbench.views.open import READ_AS, named_first, reading_schema
from sfumato.workbench.views.options import put_parts
from sfumato.workbench.views.page import VERSION, changed, put_entries

ROLES = ("identifier", "quasi", "sensitive", "neutral")
UNPUBLISHED = "none"
ITEMS = "items"
"""The role of the column with sets of items."""

BESIDE_ITEMS = ("identifier", "quasi", "sensitive", ITEMS, UNPUBLISHED)
"""The roles of columns besides items; a neutral column would distinguish the records of a group."""

SAMPLE = 20_000
"""The number of records in which values are counted."""

FEW = 6
"""The number of values shown per column."""


@dataclass(frozen=True)
class Role:
    """The new role of a column."""

    column: Annotated[str, Option(takes="column")]
    """The name of the column."""

    role: Annotated[Literal["identifier", "quasi", "sensitive", "neutral", "items", "none"], Option()]
    """Its role; items: it contains sets of items (of tables with items); none: it is not published."""

    version: Annotated[str | None, VERSION] = None


@dataclass(frozen=True)
class TableSettings:
    """Declarations of a table besides roles; omitted ones are unchanged."""

    person: Annotated[str | None, Option(takes="column")] = None
    """The column that identifies the person of each record; empty: none."""

    one_record_per_person: Annotated[bool | None, Option()] = None
    """Whether every record is declared to be of another person."""

    household: Annotated[str | None, Option(takes="column")] = None
    """The column that identifies the household of each record; empty: none."""

    missing: Annotated[Literal["value", "drop"] | None, Option()] = None
    """The treatment of missing values: as a separate value, or dropped."""

    na: Annotated[tuple[str, ...] | None, Option()] = None
    """Texts that mean missing, besides the empty one."""

    weights: Annotated[Mapping[str, Any] | None, Option(takes="values")] = None
    """The weights of quasi-identifiers in a loss; default: 1."""

    reading: Annotated[Mapping[str, Any] | None, Option(takes="values")] = None
    """How the file is read, to correct wrong guesses."""

    version: Annotated[str | None, VERSION] = None


def mixed(project: Project) -> DataDeclaration | None:
    """Return the declaration of table and items, if the records of a project have items."""
    return project.study.data if project.study.section == "items" else None


def declared(project: Project) -> TableDeclaration:
    """Return the declaration of the project's table."""
    _ = project.study.table  # raise for sets of items
    return project.study.data.rows


def columns_by_role(table: TableDeclaration) -> dict[str, list[str]]:
    """List the columns of each role, also before there is a quasi-identifier."""
    try:
        given: Any = table.roles
    except BadInputError:
        given = table
    return {role: list(getattr(given, role)) for role in ROLES}


# -- the page --------------------------------------------------------------------------------------------------------


@endpoint("GET", "/projects/{project}/columns", query="show")
def columns(call: Call) -> Response:
    """Show the columns with their roles; for baskets a notice that there are none."""
    return items_or_columns("columns.html", call, "columns", lambda project: shown_columns(project, call.plainly))


def shown_columns(project: Project, plainly: bool = False) -> dict[str, Any]:
    """Return for each column its type, guess with reason, role and frequent values, masked by default."""
    table, notes, guesses = declared(project), project.notes(), project.guesses
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
    """Return the summary of the items, or the reason why the table cannot be opened, so that it can be corrected."""
    try:
        return {**shown_items(project, plainly), "wrong": None}
    except BadInputError as error:
        return {"wrong": project.in_page_words(str(error))}


def _few_values(rows: Engine) -> dict[str, list[tuple[str | None, int]]]:
    """List the most frequent values of each column among some records."""
    few = {}
    for name in rows.columns:
        if name in rows.nested:
            continue
        distinct = rows.sample(name, SAMPLE)
        pairs = zip(distinct.values, distinct.counts.tolist(), strict=True)
        few[name] = sorted(pairs, key=lambda pair: (-pair[1], pair[0] or ""))[:FEW]
    return few


@endpoint("GET", "/api/projects/{project}/columns")
def columns_values(call: Call) -> dict[str, Any]:
    """List the columns: type, guess and reason, role."""
    content = shown_columns(call.project)
    return {**{name: value for name, value in content.items() if name != "data"}, "version": call.project.version}


@endpoint("GET", "/api/projects/{project}/values", query="column")
def values(call: Call) -> dict[str, Any]:
    """Show the most frequent values of a column unmasked."""
    table, name = declared(call.project), call.query.get("column", "")
    few = of_rows(table, "few-values", _few_values)
    if name not in few:
        raise MissingError(t("columns.no_values", name=name))
    return {"column": name, "values": [{"text": shown(value, True), "records": count} for value, count in few[name]]}


# -- changes ---------------------------------------------------------------------------------------------------------


@endpoint("POST", "/api/projects/{project}/roles", Role)
def give_role(call: Call) -> dict[str, Any]:
    """Change the role of a column."""
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
    weights = {name: weight for name, weight in table.weights.items() if name in after["quasi"]}
    lists = {role: tuple(names) for role, names in after.items()}
    tried = replace(table, **lists, weights=weights) if after["sensitive"] != before["sensitive"] else None  # type: ignore[arg-type]

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

    role = t(f"columns.role_{wanted.role}")
    return _changed(project, wanted.version, t("columns.changed_role", column=wanted.column, role=role), edit, tried)


def _changed(
    project: Project,
    version: str | None,
    why: str,
    edit: Callable[[tomlkit.TOMLDocument], None],
    tried: TableDeclaration | None,
) -> dict[str, Any]:
    """Change a study; automatic axes and candidates follow the changed table."""
    others = None if tried is None else remade(project, tried)

    def with_others(document: tomlkit.TOMLDocument) -> None:
        edit(document)
        if others is not None:
            put_parts(document, {"axes": others["axes"], "candidates": others["candidates"]}, whole_scales=False)

    answer = changed(project, version, why, with_others)
    if others is not None:
        mark_made(project)
    return answer


def _check_items(both: DataDeclaration | None, wanted: Role) -> None:
    """Raise if a role is not possible with items, or the column cannot contain them."""
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
        with blamed("role"):
            of_data(replace(both.with_table(**lists), items=held_now), "opened", lambda data: None)


def _set_names(section: Any, role: str, names: list[str]) -> None:
    """Write a list of columns; remaining ones keep their comments if the list can be edited in place."""
    present = section.get(role)
    if present is None:
        if names:
            section[role] = names
        return
    for name in [name for name in present if name not in names]:
        present.remove(name)
    for name in [name for name in names if name not in present]:
        present.append(name)


@endpoint("POST", "/api/projects/{project}/table", TableSettings)
def settle(call: Call) -> dict[str, Any]:
    """Change declarations of the whole table: households, missing values; an unreadable result is refused."""
    project, wanted = call.project, call.body
    table = declared(project)
    with rows_of(table) as rows:
        names = list(rows.columns)
    _check_settings(wanted, table, names, mixed(project) is not None)
    said = _said(wanted)
    tried = _try(table, said)
    return _changed(
        project,
        wanted.version,
        t("columns.changed_settings"),
        lambda document: put_entries(document["table"], said),
        None if tried.person == table.person else tried,
    )


def _said(wanted: TableSettings) -> dict[str, Any]:
    """Return the changed declarations as in a study; None removes one."""
    said = {name: getattr(wanted, name) for name in ("person", "one_record_per_person", "household", "missing", "na")}
    said = {name: value or None for name, value in said.items() if value is not None}
    if wanted.na is not None:
        said["na"] = [text for text in wanted.na if text] or None
    if wanted.weights is not None:
        said["weights"] = {name: value for name, value in wanted.weights.items() if value != 1} or None
    return said | {name: None if value in ("", []) else value for name, value in (wanted.reading or {}).items()}


def _try(table: TableDeclaration, said: Mapping[str, Any]) -> TableDeclaration:
    """Return the table with changed declarations; raise unless it can be read and has the columns with roles."""
    usual = TableDeclaration(table.source)
    given: dict[str, Any] = {name: getattr(usual, name) if value is None else value for name, value in said.items()}
    names = (*READ_AS["table"], "person", "household", "missing")
    with blamed(lambda sentence: named_first(sentence, names)):
        tried = replace(table, **given)
        with rows_of(tried) as rows:
            check_columns(rows, tried.roles)
        return tried


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
        with blamed(f"weight {name}"):
            check_number(t("columns.weight", column=name), value, least=0)
    for name in wanted.reading or {}:
        if name not in READING or name not in READ_AS["table"]:
            raise FieldError(name, t("columns.not_reading", name=name))
