"""The page of a project's items, of baskets or of a table's records: format, tree, sensitive items.

Their declaration is a section of the study (`[baskets]`, `[items]`), edited by a form made from JSON Schema. A change
is tried on the data before anything is written.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from starlette.responses import Response

from sfumato.config.options import Option
from sfumato.data.hierarchies.declared import is_classification
from sfumato.data.items import Baskets
from sfumato.errors import SfumatoError
from sfumato.texts.catalogue import refusal, t
from sfumato.tradeoff.catalogue import Entry
from sfumato.workbench.endpoints import Call, endpoint
from sfumato.workbench.errors import FieldError, blamed
from sfumato.workbench.opened_data import notices_without_examples, of_data, shown
from sfumato.workbench.projects import Project
from sfumato.workbench.views._hierarchy_edits import tree_values
from sfumato.workbench.views.page import VERSION, changed, data_page, put_entries

FIELDS = {
    "baskets": ("id", "item", "column", "separator", "tree", "encoding"),
    "items": ("separator", "tree", "sensitive", "source", "id", "item"),
}
"""By section of a study, the fields of its form; the column of items is set among the columns."""

FILES = ("source", "tree")
FREQUENT = 12
"""The number of shown items: the most frequent ones."""


@dataclass(frozen=True)
class ItemSettings:
    """The declaration of items; omitted options are removed."""

    values: Annotated[Mapping[str, Any], Option(takes="values")]
    """The options of the section by their keys."""

    version: Annotated[str | None, VERSION] = None


def section_of(project: Project) -> Any:
    """Return the declaration of items in a study; raise for a table alone."""
    if project.study.data.items is None:
        raise refusal("items.none", project=project.name)
    return project.study.data.items


def items_form(project: Project) -> dict[str, Any]:
    """Return the form of the items as JSON Schema, with the current values."""
    section, declared = project.study.section, section_of(project)
    schema, entries = Entry(section, type(declared)).schema(), declared.entries(project.folder)
    names: tuple[str, ...] = FIELDS[section]
    if section == "items" and declared.column is not None:
        names = tuple(name for name in names if name not in ("source", "id", "item"))
    if section == "baskets" and declared.is_bundled:
        names = ("tree",)
    return {
        "schema": {**schema, "properties": {name: schema["properties"][name] for name in names}, "required": []},
        "values": {name: entries[name] for name in names if name in entries},
    }


def of_items(project: Project, what: str, make: Any) -> Any:
    """Compute something from the item sets of a project, once; raise if it has none."""
    section_of(project)
    data = project.study.data
    return of_data(data, what, make if data.table is None else lambda opened: make(opened.baskets))


# -- the page --------------------------------------------------------------------------------------------------------


def items_or_columns(template: str, call: Call, step: str, values: Callable[[Project], dict[str, Any]]) -> Response:
    """Return a page about the columns of a table; for baskets, a page about their items.

    It shows how they are read, the frequent ones, and their tree.
    """

    def items(project: Project) -> dict[str, Any]:
        return {**shown_items(project, call.plainly), "data": {"items": items_form(project), "columns": []}}

    with suppress(SfumatoError):  # the page reports it
        if call.project.study.data.table is None:
            return data_page("items.html", call, step, items)
    return data_page(template, call, step, values)


def shown_items(project: Project, plainly: bool = False) -> dict[str, Any]:
    """Return the number of items, the most frequent ones, and their tree."""
    content: dict[str, Any] = of_items(project, f"items {plainly}", lambda baskets: _of(baskets, plainly))
    return {**content, "notices": list(map(project.in_page_words, content["notices"]))}


def _of(baskets: Baskets, plainly: bool) -> dict[str, Any]:
    order = np.argsort(-baskets.supports, kind="stable")[:FREQUENT].tolist()
    return {
        "records": baskets.size,
        "items": len(baskets.items),
        "frequent": [
            {
                "item": shown(baskets.items[code], plainly),
                "records": int(baskets.supports[code]),
                "share": float(baskets.supports[code] / baskets.size),
            }
            for code in order
        ],
        "tree": None if baskets.tree is None else tree_values(baskets.tree, baskets.items, baskets.supports),
        "shown": plainly,
        "notices": notices_without_examples(baskets),
    }


@endpoint("GET", "/api/projects/{project}/items", query="show")
def items_values(call: Call) -> dict[str, Any]:
    """Return the declaration and a summary of the items."""
    content = shown_items(call.project, call.plainly)
    return {**content, **items_form(call.project), "version": call.project.version}


# -- changes ---------------------------------------------------------------------------------------------------------


@endpoint("POST", "/api/projects/{project}/items", ItemSettings)
def settle_items(call: Call) -> dict[str, Any]:
    """Change how items are read, their tree, and the sensitive ones; an invalid declaration is refused."""
    project, wanted = call.project, call.body
    said = _said(project, wanted.values)
    _try(project, said)
    section = project.study.section
    return changed(project, wanted.version, t("items.changed"), lambda study: put_entries(study[section], said))


def _said(project: Project, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changed declarations as in a study; None removes one."""
    known = items_form(project)["schema"]["properties"]
    for name in values:
        if name not in known:
            raise FieldError(name, t("items.no_field", name=name, known=", ".join(known)))
    given = {name: values.get(name) for name in known}
    return {
        name: None if value in (None, "", []) else _file(project, name, value) if name in FILES else value
        for name, value in given.items()
    }


def _file(project: Project, name: str, text: Any) -> Any:
    """Return the name of a file relative to the project; it is next to the study, or under the folder."""
    if not isinstance(text, str) or (name == "tree" and is_classification(text)):
        return text
    root = project.desk.folder.resolve()
    beside = (project.folder / text).resolve()
    path = beside if beside.is_relative_to(root) and beside.is_file() else project.desk.inside(text)
    if not path.is_file():
        raise FieldError(name, t("files.nowhere", name=text))
    project.desk.trust.check_place(str(path))
    return Path(os.path.relpath(path.resolve(), project.folder.resolve())).as_posix()


def _try(project: Project, said: Mapping[str, Any]) -> None:
    """Raise, with the invalid field, unless the items can be read."""
    declared = section_of(project)
    entries = {name: value for name, value in declared.entries(project.folder).items() if name not in said}
    given = {**entries, **{name: value for name, value in said.items() if value is not None}}
    with blamed(lambda sentence: _blamed(sentence, said), (SfumatoError,)):
        tried = type(declared).of(given, project.folder)
        of_data(replace(project.study.data, items=tried), "opened", lambda data: None)


def _blamed(sentence: str, said: Mapping[str, Any]) -> str:
    """Return the field of an error: one whose value it names, else the first that is set."""
    given = {name: value for name, value in said.items() if value is not None}
    options = {name: f"--{'sensitive-items' if name == 'sensitive' else name}" for name in given}
    named = [name for name in given if options[name] in sentence]
    for name, value in given.items():
        texts = value if isinstance(value, list) else [Path(value).name if name in FILES else value]
        named += [name for text in texts if repr(text) in sentence or (name in FILES and str(text) in sentence)]
    return next(iter([*named, *given]), "")
