"""Opening data (an upload, a file under the folder, or bundled data) and drafting a first study of it.

Also the first page: the projects of the folder.
"""

import json
import re
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tomlkit
from starlette.responses import Response

from sfumato.config.options import Option
from sfumato.data.bundled import BASKETS, DATASETS
from sfumato.data.declaration import READING, BasketsDeclaration, DataDeclaration, ItemsDeclaration, TableDeclaration
from sfumato.data.guessing import Guess
from sfumato.data.hierarchies.declared import is_classification
from sfumato.data.items import Baskets
from sfumato.engines._text_files import DELIMITED, PARQUET
from sfumato.engines.item_files import are_ragged, field_counts, named_rows
from sfumato.engines.protocol import Engine, KeepsOrder
from sfumato.errors import SfumatoError
from sfumato.texts.catalogue import counted, t
from sfumato.tradeoff.catalogue import Entry
from sfumato.tradeoff.study.draft import Draft, draft, draft_items
from sfumato.tradeoff.study.study import read_study
from sfumato.workbench import data_sources
from sfumato.workbench.endpoints import Call, a_list, an_object, endpoint, flag, text
from sfumato.workbench.errors import ConflictError, FieldError, blamed
from sfumato.workbench.opened_data import in_forms, notices_without_examples, of_data, of_rows, shown
from sfumato.workbench.projects import STUDY, Desk, Project
from sfumato.workbench.runs import STATES
from sfumato.workbench.views.goals import mark_made
from sfumato.workbench.views.page import page

Kind = Literal["table", "baskets", "items"]
KINDS: tuple[Kind, ...] = ("table", "baskets", "items")

SAMPLED = 8
"""The number of records in a preview."""

ITEMS = 12
"""The number of items shown of a basket."""

READ_AS: dict[str, tuple[str, ...]] = {
    "table": (*(name for name in READING if name not in ("engine", "memory", "spill")), "na"),
    "baskets": ("id", "item", "column", "separator", "lines", "tree", "encoding"),
    "items": (*data_sources.OF_ITEMS, *(name for name in READING if name not in ("engine", "memory", "spill")), "na"),
}
"""By kind of data, the options of reading."""

SOURCE = Option("A file under the folder, one that was uploaded, or the name of bundled data.", takes="file")
KIND = Option("A table, sets of items (baskets), or a table whose records have items; guessed by default.")
AS_READ = Option(
    "How the file is read, to correct wrong guesses: delimiter, encoding, header, dates, ...", takes="values"
)


PROJECT = an_object(name=text, explored=flag, section=text, state={"enum": list(STATES)}, wrong=text)


@dataclass(frozen=True)
class Preview:
    """The options of a preview before a project is created."""

    source: Annotated[str, SOURCE]
    kind: Annotated[Kind | None, KIND] = None
    reading: Annotated[Mapping[str, Any], AS_READ] = field(default_factory=dict)
    show: Annotated[bool, Option()] = False
    """Whether values are unmasked."""


@dataclass(frozen=True)
class NewProject:
    """The options of a new project."""

    source: Annotated[str, SOURCE]
    name: Annotated[str | None, Option()] = None
    """The name of the project; default: that of its data."""

    kind: Annotated[Kind | None, KIND] = None
    reading: Annotated[Mapping[str, Any], AS_READ] = field(default_factory=dict)


@dataclass(frozen=True)
class Again:
    """The file of a project, uploaded again."""

    source: Annotated[str, Option(takes="file")]
    """The file, as the upload named it."""


# -- looking ---------------------------------------------------------------------------------------------------------


def reading_schema(kind: Kind) -> dict[str, Any]:
    """Return the form of reading options, as JSON Schema."""
    schema = Entry(kind, BasketsDeclaration if kind == "baskets" else TableDeclaration).schema()
    known = schema["properties"] | (Entry(kind, ItemsDeclaration).schema()["properties"] if kind == "items" else {})
    return {**schema, "properties": {name: known[name] for name in READ_AS[kind]}, "required": []}


@endpoint("GET", "/open", query="folder")
def opening(call: Call) -> Response:
    """Show the possible sources of data."""
    reading = {kind: reading_schema(kind) for kind in KINDS}
    sizes = [(each, counted(each.records, "record")) for each in DATASETS.values()]
    sizes += [(each, counted(each.records, t("open.set"), t("open.sets"))) for each in BASKETS.values()]  # type: ignore[misc]
    bundled = [{"name": each.name, "about": each.description, "size": size} for each, size in sizes]
    return page("open.html", call, files=browse(call), bundled=bundled, data={"reading": reading})


@endpoint("GET", "/api/files", query="folder")
def browse(call: Call) -> dict[str, Any]:
    """List the files and folders in a folder under the workbench's own."""
    return data_sources.files_under(call.desk, call.query.get("folder", ""))


@endpoint("POST", "/api/previews", Preview)
def preview(call: Call) -> dict[str, Any]:
    """Return how a file would be read, with a few records, masked by default."""
    few: dict[str, Any] = call.apart(_previewed, call.desk, call.body)
    return few


def _previewed(desk: Desk, wanted: Preview) -> dict[str, Any]:
    source = data_sources.source_of(desk, wanted.source)
    guessed, reason = guess_kind(source)
    kind = wanted.kind or guessed
    about = {"source": wanted.source, "name": source.stem, "origin": source.origin, "kind": kind}
    about |= {"guessed": guessed, "why": reason}
    declared = declaration(desk, source, kind, wanted.reading)
    with blamed(lambda sentence: named_first(sentence, READ_AS[kind])):
        few = _few(declared, wanted.show)
    return {**about, **few, "notices": [in_forms(desk.locally(notice)) for notice in few["notices"]]}


def _few(declared: DataDeclaration, plainly: bool) -> dict[str, Any]:
    """Return the sizes of data and a few records."""
    what = f"preview {plainly}"
    if declared.table is None:
        return dict(of_data(declared, what, lambda baskets: _few_baskets(baskets, plainly)))
    few = dict(of_rows(declared.rows, what, lambda rows: _few_rows(rows, plainly)))
    if isinstance(declared.items, ItemsDeclaration):
        held = data_sources.items_seen(declared)
        few |= {"item_column": declared.items.column, "held": held, "notices": [*few["notices"], *held["notices"]]}
    return few


def _few_rows(rows: Engine, plainly: bool) -> dict[str, Any]:
    names = [name for name in rows.columns if name not in rows.nested]
    records: list[list[str]] = []
    if isinstance(rows, KeepsOrder) and names:
        first = rows.texts_in_order(names, SAMPLED)
        columns = [first.column(i).to_pylist() for i in range(len(names))]
        records = [[shown(value, plainly) for value in record] for record in zip(*columns, strict=True)]
    return {
        "records": rows.row_count,
        "columns": names,
        "all_columns": list(rows.columns),
        "notices": list(rows.notices),
        "rows": records,
        "shown": plainly,
    }


def _few_baskets(baskets: Baskets, plainly: bool) -> dict[str, Any]:
    few = [
        baskets.codes[baskets.starts[i] : baskets.starts[i + 1]].tolist()
        for i in range(min(SAMPLED, len(baskets.starts) - 1))
    ]
    items = [[shown(baskets.items[code], plainly) for code in codes[:ITEMS]] for codes in few]
    more = [["…"] if len(codes) > ITEMS else [] for codes in few]
    return {
        "records": baskets.size,
        "items": len(baskets.items),
        "columns": [],
        "all_columns": [],
        "notices": notices_without_examples(baskets),
        "rows": [[", ".join([*some, *rest])] for some, rest in zip(items, more, strict=True)],
        "shown": plainly,
    }


def declaration(
    desk: Desk, source: data_sources.NamedSource, kind: Kind, reading: Mapping[str, Any]
) -> DataDeclaration:
    """Return the declaration of data; an invalid option raises with its field."""
    allowed = READ_AS[kind]
    for name in reading:
        if name not in allowed:
            raise FieldError(name, t("open.not_reading", name=name, kind=kind, known=", ".join(allowed)))
    given: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in reading.items()}
    given = {name: value for name, value in given.items() if value not in (None, "", ())}
    for name in ("tree", "source"):
        if isinstance(given.get(name), str) and not is_classification(given[name]):
            path = desk.inside(given[name])
            desk.trust.check_place(str(path))
            given[name] = str(path)
    with blamed(lambda sentence: named_first(sentence, allowed)):
        if kind == "baskets":
            return DataDeclaration(items=BasketsDeclaration(source.text, **given))
        items = {name: given.pop(name) for name in data_sources.OF_ITEMS if name in given}
        table = TableDeclaration(source.text, **given)
        return data_sources.with_items(table, items) if kind == "items" else DataDeclaration(table)


def named_first(sentence: str, names: tuple[str, ...]) -> str:
    """Return the field of an error: one among its first words, else the source."""
    return next((name for name in names if re.match(rf"(\w+ ){{0,2}}{name}\b", sentence)), "source")


# -- what it is ------------------------------------------------------------------------------------------------------


def guess_kind(source: data_sources.NamedSource) -> tuple[Kind, str]:
    """Guess whether data are a table or sets of items, with the reason."""
    if source.origin == "bundled":
        return ("baskets" if source.name in BASKETS else "table"), t("open.why_bundled")
    name = source.name.lower().removesuffix(".gz")
    if name.endswith((".dat", ".basket")):
        return "baskets", t("open.why_ending", ending=Path(name).suffix)
    if name.endswith(DELIMITED) and not source.name.lower().endswith(".gz"):
        counts = field_counts(source.path)
        if are_ragged(counts):
            return "baskets", t("open.why_lengths", shortest=min(counts), longest=max(counts))
        if rows := named_rows(source.path):
            return "baskets", t("open.why_rows", who=rows.who, item=rows.item)
    if name.endswith(PARQUET):
        nested = of_rows(TableDeclaration(source.text), "lists", _lists)
        if nested is not None:
            return nested, t("open.why_lists" if nested == "baskets" else "open.why_list")
    return "table", t("open.why_table")


def _lists(rows: Engine) -> Kind | None:
    """Return the kind of a table with list columns only, or with some; None without lists."""
    lists = [rows.nested.get(name, "").endswith("[]") for name in rows.columns]
    return "baskets" if all(lists) else "items" if any(lists) else None


# -- a project of it -------------------------------------------------------------------------------------------------


@endpoint("POST", "/api/projects", NewProject, gives=an_object(project=text))
def make(call: Call) -> dict[str, Any]:
    """Create the folder of a project and draft its study; every guess is kept with its reason."""
    wanted: NewProject = call.body
    source = data_sources.source_of(call.desk, wanted.source)
    folder = _new_folder(call.desk, wanted.name, source)
    kind, text, notes = call.apart(_first_study, call.desk, wanted, folder)
    folder.mkdir()
    try:
        source.link_in(folder)
        (folder / STUDY).write_text(text, encoding="utf-8", newline="\n")
        project = call.desk.project(folder.name)
        notes |= {"read_notices": [in_forms(call.desk.locally(notice)) for notice in notes.get("read_notices", [])]}
        project.note(kind=kind, source=source.facts(), **notes)
        mark_made(project)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return {"project": folder.name}


def _first_study(desk: Desk, wanted: NewProject, folder: Path) -> tuple[Kind, str, dict[str, Any]]:
    """Open the data of a new project: return their kind, the text of the first study, and its notes."""
    source = data_sources.source_of(desk, wanted.source)
    kind = wanted.kind or guess_kind(source)[0]
    text, notes = _drafted(declaration(desk, source, kind, wanted.reading), source, folder)
    return kind, desk.locally(text), notes


def _drafted(declared: DataDeclaration, source: data_sources.NamedSource, folder: Path) -> tuple[str, dict[str, Any]]:
    """Return the first study, and its notes."""
    if declared.section == "items":
        drafted, study = data_sources.drafted_with_items(declared, source.stem)
        return _with_source(study.to_toml(folder), "table", source, folder), _seen(drafted)
    if declared.table is None:
        bundled = source.origin == "bundled"
        study = read_study(source.name) if bundled else draft_items(declared, declared.open()).study
        return _with_source(study.to_toml(), "baskets", source, folder), {}
    if source.origin == "bundled":
        roles = declared.table.roles
        drafted = draft(TableDeclaration(source.text, quasi=roles.quasi, sensitive=roles.sensitive))
        return read_study(source.name).to_toml(), _seen(drafted, (*roles.quasi, *roles.sensitive))
    drafted = draft(declared.table)
    return _with_source(drafted.to_toml(), "table", source, folder), _seen(drafted)


def _guess_values(guess: Guess, bundled: bool) -> dict[str, Any]:
    """Return the guess about a column as plain values; a bundled table has given roles."""
    return {
        "column": guess.column,
        "role": guess.role,
        "type": guess.type,
        "reason": t("columns.bundled") if bundled else guess.reason,
        "advice": "" if bundled else in_forms(guess.advice),
        "given": bundled,
        "hierarchy": None if guess.hierarchy is None else json.loads(json.dumps(dict(guess.hierarchy), default=str)),
        "distinct": guess.distinct,
    }


def _seen(drafted: Draft, given: Collection[str] = ()) -> dict[str, Any]:
    """Return the guesses about columns, and notices about the table; some columns have given roles."""
    return {
        "guesses": [_guess_values(each, each.column in given) for each in drafted.guesses],
        "records": drafted.records,
        "sampled": drafted.sampled,
        "added_na": list(drafted.added_na),
        "read_notices": list(drafted.notices),
        "left_out": list(drafted.first.left_out),
    }


def _with_source(text: str, section: str, source: data_sources.NamedSource, folder: Path) -> str:
    """Set the source of the data, relative to the project."""
    document: Any = tomlkit.parse(text)
    document[section]["source"] = source.seen_from(folder)
    return tomlkit.dumps(document)


def _new_folder(desk: Desk, name: str | None, source: data_sources.NamedSource) -> Path:
    """Return a new folder; a given name is used unchanged or refused."""
    if name is not None:
        bad = next((mark for mark in "/\\\0\n\r" if mark in name), None)
        if not name.strip() or name.startswith(".") or bad or len(name.encode()) > 120 or name != name.strip():
            raise FieldError("name", t("open.bad_name"))
        if (desk.folder / name).exists():
            raise FieldError("name", t("open.taken", taken=name))
        return desk.folder / name
    stem = re.sub(r"[/\\\x00-\x1f]", "-", source.stem).strip(". ")[:60] or "project"
    names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    free = next((desk.folder / each for each in names if not (desk.folder / each).exists()), None)
    if free is None:
        raise ConflictError(t("open.taken", taken=stem))
    return free


@endpoint("POST", "/api/projects/{project}/source", Again, gives=an_object(project=text))
def again(call: Call) -> dict[str, Any]:
    """Link a project to its file, uploaded again."""
    data_sources.give_again(call.project, data_sources.source_of(call.desk, call.body.source))
    return {"project": call.names["project"]}


@endpoint("GET", "/api/projects", gives=an_object(projects=a_list(PROJECT)))
def projects(call: Call) -> dict[str, Any]:
    """List the projects with their states."""
    return {"projects": [_told(call, each) for each in call.desk.projects()]}


def _told(call: Call, project: Project) -> dict[str, Any]:
    """Return the state of a project, or the reason why its study cannot be used."""
    wrong, section = "", ""
    try:
        section = call.desk.project(project.name).study.section
        state = call.house.runs.progress(project).state
    except SfumatoError as error:
        wrong, state = project.in_page_words(str(error)), "idle"
    return {"name": project.name, "explored": project.is_explored, "section": section, "state": state, "wrong": wrong}


@endpoint("GET", "/")
def home(call: Call) -> Response:
    """Show the projects, and a link to create one."""
    return page("home.html", call, **projects(call))
