"""The editor of hierarchies: one page for all quasi-identifiers, one call for all changes.

A change is checked against the table before anything is written. An error appears next to the hierarchy, and the study
is unchanged.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import tomlkit
from starlette.responses import Response

from sfumato.config.documents import parse_toml, to_plain
from sfumato.config.options import Option
from sfumato.data.declaration import TableDeclaration
from sfumato.data.hierarchies.declared import Filed
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.written import entry_of
from sfumato.errors import BadInputError, SfumatoError
from sfumato.texts.catalogue import t
from sfumato.tradeoff.hierarchy_levels import ColumnHierarchy, hierarchy
from sfumato.workbench.endpoints import Call, endpoint
from sfumato.workbench.errors import FieldError, MissingError, blamed
from sfumato.workbench.opened_data import of_table, rows_of
from sfumato.workbench.projects import Project
from sfumato.workbench.views import _hierarchy_edits as edits
from sfumato.workbench.views._hierarchy_edits import Branch, branches_of, shown
from sfumato.workbench.views.columns import columns_by_role, declared
from sfumato.workbench.views.items import items_or_columns, shown_items
from sfumato.workbench.views.page import VERSION, changed, state

OnTrees = Literal["rename", "move", "merge", "split"]
OnLines = Literal["rename", "add-cut", "move-cut", "remove-cut", "add-level", "remove-level"]
Do = Literal[OnTrees, OnLines, "propose", "text"]
Proposal = Literal["guess", "automatic", "similar"]
LISTS = ("values", "children", "rows", "groups")
"""Keys of an entry whose lists are written on separate lines."""


@dataclass(frozen=True)
class Change:
    """One change of a hierarchy; the used fields depend on the kind of change."""

    column: Annotated[str, Option(takes="column")]
    """The column of the hierarchy."""

    do: Annotated[Do, Option()]
    """The kind of change."""

    paths: Annotated[tuple[str, ...], Option()] = ()
    """For trees: the groups or values, each as its places from the root down, such as 0,2,1."""

    into: Annotated[str | None, Option()] = None
    """The group to move to, as a path; empty: no group."""

    to: Annotated[str | None, Option()] = None
    """The value of a new cut."""

    level: Annotated[int | None, Option(least=0)] = None
    """For cuts and levels: the level, counted from the values (0)."""

    node: Annotated[int | None, Option(least=0)] = None
    """The interval of the level, counted from 0."""

    value: Annotated[str | None, Option()] = None
    """The value of an existing cut."""

    label: Annotated[str | None, Option()] = None
    """The new label of the group or interval."""

    proposal: Annotated[Proposal | None, Option()] = None
    """The proposal: the first guess, an automatic one, one by similarity."""

    text: Annotated[str | None, Option()] = None
    """The hierarchy as the TOML of a study."""

    version: Annotated[str | None, VERSION] = None


# -- the page --------------------------------------------------------------------------------------------------------


@endpoint("GET", "/projects/{project}/hierarchies", query="column")
def hierarchies(call: Call) -> Response:
    """Show the hierarchy of a quasi-identifier for editing."""
    column = call.query.get("column")
    return items_or_columns("hierarchies.html", call, "hierarchies", lambda project: _content(project, column))


def _content(project: Project, column: str | None) -> dict[str, Any]:
    quasi = columns_by_role(declared(project))["quasi"]
    items = project.study.data.beside.name if project.study.section == "items" else None
    about = {"quasi": quasi, "items": items, "item_tree": None, "content": None}
    if items is not None and column == items:
        return {**about, "column": items, "item_tree": shown_items(project)["tree"], "data": {"column": items}}
    chosen = column if column in quasi else next(iter(quasi), None)
    content = None if chosen is None else column_values(project, chosen)
    data = {"column": chosen, "content": content, "version": project.version}
    return {**about, **data, "data": data}


def column_values(project: Project, column: str) -> dict[str, Any]:
    """Return the view of a column's hierarchy; for an invalid one only the error and its text."""
    table = declared(project)
    if column not in table.roles.quasi:
        raise MissingError(t("hierarchies.not_quasi", column=column))
    with rows_of(table) as rows:
        if column not in rows.columns:
            raise MissingError(t("columns.no_column", column=column))
    given, wrong, values, scale = _entry_in(table, column), None, {}, None
    try:
        view = looked_at(table, column)
        scale, values = view.hierarchy.scale, shown(view)
        with suppress(BadInputError):  # a hierarchy that cannot be written in a study
            given = view.entry() if given is None else given
    except BadInputError as error:
        wrong = project.in_page_words(str(error))
    return {"wrong": wrong, **values, "text": _text(given), "proposals": _proposals(project, table, column, scale)}


def looked_at(table: TableDeclaration, column: str) -> ColumnHierarchy:
    """Return the hierarchy of a column as in the study, with its levels."""
    view: ColumnHierarchy = of_table(table, f"hierarchy {column}", lambda opened: hierarchy(opened, column))
    return view


@endpoint("GET", "/api/projects/{project}/hierarchies", query="column")
def hierarchy_values(call: Call) -> dict[str, Any]:
    """Return the hierarchy of a column."""
    return {**column_values(call.project, call.query.get("column", "")), **state(call.project)}


def _proposals(project: Project, table: TableDeclaration, column: str, scale: str | None = None) -> list[str]:
    """List the possible proposals of a hierarchy."""
    guessed = project.guesses.get(column, {}).get("hierarchy") is not None and not table.is_bundled
    similar = len(table.roles.quasi) > 1 and scale in (None, "category")
    return [*(["guess"] if guessed else []), "automatic", *(["similar"] if similar else [])]


def _entry_in(table: TableDeclaration, column: str) -> Any:
    """Return the declaration of a column's hierarchy in the study."""
    given = table.hierarchy.get(column)
    return given.content if isinstance(given, Filed) else given


def _text(entry: Any) -> str:
    """Return an entry as TOML; nested lists as the children of a tree."""
    if entry is None or isinstance(entry, str):
        return ""
    return tomlkit.dumps(_item(entry)).strip() + "\n"


def _item(entry: Any) -> Any:
    """Return an entry as a table of a TOML file, long lists on separate lines."""
    table = tomlkit.table()
    content = entry if isinstance(entry, Mapping) else {"type": "tree", "children": list(entry)}
    for key, value in content.items():
        item = tomlkit.item(to_plain(value))
        table.add(key, item.multiline(True) if key in LISTS else item)
    return table


# -- changes ---------------------------------------------------------------------------------------------------------


@endpoint("POST", "/api/projects/{project}/hierarchies", Change)
def change(call: Call) -> dict[str, Any]:
    """Change a hierarchy: build it, check it against the table, and only then write it into the study."""
    project, wanted = call.project, call.body
    table = declared(project)
    if wanted.column not in table.roles.quasi:
        raise FieldError("column", t("hierarchies.not_quasi_change", column=wanted.column))
    entry = _new_entry(project, table, wanted)
    _hold_against(table, wanted.column, entry)
    why = t("hierarchies.did_" + wanted.do.replace("-", "_"), column=wanted.column)
    answer = changed(project, wanted.version, why, lambda document: put_entry(document, wanted.column, entry))
    return {**answer, **column_values(project, wanted.column)}


def _new_entry(project: Project, table: TableDeclaration, wanted: Change) -> Any:
    """Return the entry after a change; None: the automatic one."""
    if wanted.do == "propose":
        return _proposed(project, table, wanted)
    if wanted.do == "text":
        return _read(wanted.text or "")
    view = looked_at(table, wanted.column)
    tree = view.hierarchy.without_missing() if view.grown else view.hierarchy
    if wanted.do in TREES and (tree.scale == "category" or wanted.paths):
        root = TREES[wanted.do](branches_of(tree), wanted)
        marks = {name: True for name in ("observed", "missing") if getattr(tree, name)}
        return {"type": "tree", "children": [child.nested() for child in root.children], **marks}
    if wanted.do not in LINES:
        raise FieldError("do", t("hierarchies.for_categories", do=wanted.do, column=wanted.column))
    if tree.scale == "category" and wanted.do != "remove-level":
        raise FieldError("do", t("hierarchies.for_numbers", do=wanted.do, column=wanted.column))
    return entry_of(LINES[wanted.do](tree, wanted))


def _proposed(project: Project, table: TableDeclaration, wanted: Change) -> Any:
    if wanted.proposal == "guess":
        entry = project.guesses.get(wanted.column, {}).get("hierarchy")
        if not isinstance(entry, Mapping):  # a guess is never a file
            raise FieldError("proposal", t("hierarchies.no_guess"))
        return entry
    if wanted.proposal != "similar":
        return None
    what = f"similar {wanted.column}"
    return of_table(table, what, lambda opened: hierarchy(opened, wanted.column, similar=True)).entry()


def _read(text: str) -> Any:
    """Parse an entry that the user wrote."""
    entry = parse_toml(text, t("hierarchies.written"))
    if not entry:
        raise FieldError("text", t("hierarchies.no_text"))
    if any(isinstance(value, str) and key not in ("type", "first", "last") for key, value in entry.items()):
        raise FieldError("text", t("hierarchies.no_files"))
    return entry


def _hold_against(table: TableDeclaration, column: str, entry: Any) -> None:
    """Raise unless the table can be opened with this hierarchy."""
    others = {name: given for name, given in table.hierarchy.items() if name != column}
    tried = replace(table, hierarchy=others if entry is None else {**others, column: entry})
    with blamed("hierarchy", (SfumatoError,)):
        of_table(tried, "opened", lambda opened: None)


def put_entry(document: tomlkit.TOMLDocument, column: str, entry: Any) -> None:
    """Write the entry of a column into a study, or remove it."""
    section: Any = document["table"]
    if entry is not None and "hierarchy" not in section:
        section.add("hierarchy", tomlkit.table(is_super_table=True))
    if entry is not None:
        section["hierarchy"][column] = _item(entry)
    elif column in section.get("hierarchy", {}):
        del section["hierarchy"][column]
        if not len(section["hierarchy"]):
            del section["hierarchy"]


def _paths(wanted: Change) -> list[tuple[int, ...]]:
    """Parse the paths of groups."""
    paths = [_path("paths", path) for path in wanted.paths]
    if not paths:
        raise FieldError("paths", t("hierarchies.choose"))
    return paths


def _path(field: str, text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"(\d{1,6}(,\d{1,6})*)?", text, re.ASCII):
        raise FieldError(field, t("hierarchies.bad_path", text=text))
    return tuple(map(int, text.split(","))) if text else ()


def _label(wanted: Change) -> str:
    if not wanted.label or not wanted.label.strip():
        raise FieldError("label", t("hierarchies.no_label"))
    return wanted.label.strip()


def _level(wanted: Change) -> int:
    if wanted.level is None:
        raise FieldError("level", t("hierarchies.no_level_given"))
    return wanted.level


def _inner_level(tree: Hierarchy, wanted: Change) -> int:
    level = _level(wanted)
    if not 0 < level < tree.height:
        raise FieldError("level", t("hierarchies.no_cuts"))
    return level


def _cut(tree: Hierarchy, text: Any, field: str) -> int:
    with blamed(field):
        return edits.leaf_at(tree, str(text))


TREES: Mapping[str, Callable[[Branch, Change], Branch]] = {
    "rename": lambda root, wanted: edits.renamed(root, _paths(wanted)[0], _label(wanted)),
    "move": lambda root, wanted: edits.moved(root, _paths(wanted), _path("into", wanted.into or "")),
    "merge": lambda root, wanted: edits.merged(root, _paths(wanted), _label(wanted)),
    "split": lambda root, wanted: edits.dissolved(root, _paths(wanted)[0]),
}
"""Changes of groups of categories."""

LINES: Mapping[str, Callable[[Hierarchy, Change], Hierarchy]] = {
    "rename": lambda tree, wanted: edits.called(tree, _level(wanted), wanted.node or 0, _label(wanted)),
    "add-cut": lambda tree, wanted: edits.with_cut(tree, _inner_level(tree, wanted), _cut(tree, wanted.to, "to")),
    "move-cut": lambda tree, wanted: edits.moved_cut(
        tree, _inner_level(tree, wanted), _cut(tree, wanted.value, "value"), _cut(tree, wanted.to, "to")
    ),
    "remove-cut": lambda tree, wanted: edits.without_cut(
        tree, _inner_level(tree, wanted), _cut(tree, wanted.value, "value")
    ),
    "add-level": lambda tree, wanted: edits.with_level(tree, _level(wanted)),
    "remove-level": lambda tree, wanted: edits.without_level(tree, _level(wanted)),
}
"""Changes of intervals of numbers and days; a level of any hierarchy can be removed."""
