"""The allowed data sources: an uploaded file, a file under the folder, or bundled data.

URLs, external databases and paths outside the folder are refused. A project of an uploaded file has a link to it, and
its study names the link. The link remains when the upload is deleted, and works again after the file is uploaded again.

Also tables whose records have items: the column of items, a summary of them, and a first study.
"""

import os
import re
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Any, Literal

from sfumato.data.bundled import BASKETS, DATASETS
from sfumato.data.declaration import DataDeclaration, ItemsDeclaration, TableDeclaration
from sfumato.data.item_reading import UNLISTED
from sfumato.engines._text_files import DELIMITED, JSON, PARQUET
from sfumato.engines._workbooks import LABELLED, SHEETS
from sfumato.engines.locations import split_table
from sfumato.engines.protocol import Engine
from sfumato.texts.catalogue import refusal, t
from sfumato.tradeoff.study.draft import Draft, draft
from sfumato.tradeoff.study.presets import USUAL_KS, first_with_items
from sfumato.tradeoff.study.study import Study
from sfumato.workbench.errors import FieldError, RefusedError
from sfumato.workbench.opened_data import of_data, of_rows, rows_of
from sfumato.workbench.projects import NOTES, STUDY, Desk, Project

Origin = Literal["bundled", "upload", "folder"]

READABLE = (*DELIMITED, *PARQUET, *JSON, *SHEETS, *LABELLED, ".dat", ".data", ".basket")
"""Extensions of offered files, with or without `.gz`."""

OURS = ("points.json", "timings.json", "cache.jsonl", NOTES, STUDY)
"""Files of the program, which are not data."""


@dataclass(frozen=True)
class NamedSource:
    """A data source named by the user."""

    origin: Origin
    name: str
    """The name of the file or of the bundled data."""

    text: str
    """The text that opens it: a path, possibly with a table of a database."""

    @property
    def path(self) -> Path:
        """The file."""
        return Path(split_table(self.text)[0])

    @property
    def stem(self) -> str:
        """The name without its extension."""
        return self.name.partition(".")[0] or self.name

    def seen_from(self, folder: Path) -> str:
        """Return its name for a study in this folder; relative to it within the desk's folder."""
        if self.origin != "folder":
            return self.link if self.origin == "upload" else self.text
        table = split_table(self.text)[1]
        return Path(os.path.relpath(self.path, folder.resolve())).as_posix() + ("" if table is None else f"#{table}")

    @cached_property
    def digest(self) -> str:
        """A digest of the file."""
        with self.path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()

    @property
    def link(self) -> str:
        """The name of the link to an upload in its project."""
        return f"{self.stem[:60]}.{self.digest[:12]}{self.name[len(self.stem) :]}"

    def facts(self) -> dict[str, Any]:
        """Return the notes of it in a project: for an upload also the digest, which identifies the file later."""
        about = {"origin": self.origin, "name": self.name}
        return about | ({"digest": self.digest, "link": self.link} if self.origin == "upload" else {})

    def link_in(self, folder: Path) -> None:
        """Link a project to an upload, replacing a link to an earlier upload of the same file."""
        if self.origin == "upload":
            (folder / self.link).unlink(missing_ok=True)
            (folder / self.link).symlink_to(self.path)


def source_of(desk: Desk, text: str) -> NamedSource:
    """Find a named source; raise if there is no such file."""
    if text in DATASETS or text in BASKETS:
        return NamedSource("bundled", text, text)
    file, table = split_table(text)
    path = desk.inside(file)
    if not path.is_file():
        raise FieldError("source", t("open.no_file", file=file))
    desk.trust.check_place(str(path))
    origin: Origin = "upload" if path.is_relative_to(desk.uploads.resolve()) else "folder"
    return NamedSource(origin, path.name, str(path) + ("" if table is None else f"#{table}"))


def files_under(desk: Desk, text: str) -> dict[str, Any]:
    """List a folder of the desk: its folders, and the files that can be opened."""
    folder = desk.inside(text or ".")
    root = desk.folder.resolve()
    if not folder.is_relative_to(root) or not folder.is_dir():
        raise FieldError("folder", t("open.no_folder", text=text))
    inside = [path for path in sorted(folder.iterdir(), key=lambda path: path.name.lower()) if _is_offered(path, root)]
    return {
        "folder": "" if folder == root else folder.relative_to(root).as_posix(),
        "above": None if folder == root else folder.parent.relative_to(root).as_posix().removeprefix("."),
        "folders": [
            {"name": path.name, "folder": path.relative_to(root).as_posix()} for path in inside if path.is_dir()
        ],
        "files": [
            {"name": path.name, "source": path.relative_to(root).as_posix(), "bytes": path.stat().st_size}
            for path in inside
            if path.is_file()
        ],
    }


def _is_offered(path: Path, root: Path) -> bool:
    """Return whether a file or folder is offered: no hidden ones, files of the program, or links to the outside."""
    if path.name.startswith(".") or path.name in OURS or not path.resolve().is_relative_to(root):
        return False
    if path.is_dir():
        return not (path / STUDY).is_file()
    return path.is_file() and path.name.lower().removesuffix(".gz").endswith(READABLE)


# -- deleted uploads -----------------------------------------------------------------------------------------------


def is_gone(project: Project) -> bool:
    """Return whether the project's upload was deleted at the end of an earlier run of the workbench."""
    link = _link(project)
    return link is not None and not link.is_file()


def _link(project: Project) -> Path | None:
    """Return the link to an upload, if the project has one in its own folder."""
    name = project.notes().get("source", {}).get("link")
    if name is None:
        return None
    link = project.folder / str(name)
    if Path(str(name)).name != name or (link.exists() and not link.is_symlink()):
        raise RefusedError(t("gone.no_link", notes=NOTES, name=name))
    return link


def give_again(project: Project, source: NamedSource) -> None:
    """Link a project to its file, uploaded again; raise if it is another file."""
    facts, link = project.notes().get("source", {}), _link(project)
    if link is None:
        raise refusal("gone.nothing")
    if source.origin != "upload" or source.digest != facts.get("digest"):
        raise refusal("gone.another", file=source.name, made_of=facts.get("name"))
    link.unlink(missing_ok=True)
    link.symlink_to(source.path)


OF_ITEMS = ("column", "separator", "tree", "source", "id", "item")
"""The settings of a table's items; its rows have those of every table."""

ROLES = ("identifier", "quasi", "sensitive")
"""The guessed roles of columns besides items."""

LOOKED_AT_VALUES = 2_000
"""The number of values by which a column of item sets is recognized."""

SEVERAL = re.compile(r"[^;|]+[;|][^;|]+|^\s*\[")
"""A text of several items, or a list."""

MOSTLY = 0.2
"""The least share of such texts in a column of item sets."""


def with_items(table: TableDeclaration, items: dict[str, Any]) -> DataDeclaration:
    """Declare the items of a table; without a column, the one that looks like item sets."""
    if "column" not in items and "source" not in items:
        column = of_rows(table, "items", guess_items)
        if column is None:
            raise FieldError("column", t("open.which_column"))
        items = {**items, "column": column}
    return DataDeclaration(table, ItemsDeclaration(**items))


def guess_items(rows: Engine) -> str | None:
    """Return the column that seems to contain item sets: lists, or mostly texts of several words."""
    lists = [name for name, kind in rows.nested.items() if kind.endswith("[]")]
    if lists:
        return lists[0]
    shares = {}
    for name in rows.columns:
        distinct = rows.sample(name, LOOKED_AT_VALUES)
        pairs = list(zip(distinct.values, distinct.counts.tolist(), strict=True))
        several = sum(count for text, count in pairs if text is not None and SEVERAL.search(text))
        shares[name] = several / max(1, sum(count for _, count in pairs))
    best = max(shares, key=lambda name: shares[name], default=None)
    return best if best is not None and shares[best] >= MOSTLY else None


def items_seen(declared: DataDeclaration) -> dict[str, Any]:
    """Summarize the items before columns have roles, with the first other column as quasi-identifier."""
    with rows_of(declared.rows) as rows:
        first = next(
            (name for name in rows.columns if name != declared.beside.column and name not in rows.nested), None
        )
    if first is None:
        raise FieldError("column", t("open.only_items"))
    flat = declared.with_table(quasi=(first,), sensitive=(), neutral=(), identifier=(), hierarchy={})
    found: dict[str, Any] = of_data(
        flat,
        "items-seen",
        lambda data: {
            "items": len(data.baskets.items),
            "notices": [each for each in data.notices if not each.startswith(UNLISTED)],
        },
    )
    return found


def drafted_with_items(declared: DataDeclaration, name: str) -> tuple[Draft, Study]:
    """Draft the first study of a table with items: roles as for a table, candidates as for items."""
    drafted = draft(declared.rows)
    held = (declared.beside.column, declared.beside.id)
    guesses = tuple(each for each in drafted.guesses if each.column not in held)
    names = {role: tuple(each.column for each in guesses if each.role == role) for role in ROLES}
    coded = {each.column: dict(each.hierarchy) for each in guesses if each.hierarchy is not None and each.role}
    said: dict[str, Any] = {**names, "hierarchy": coded, "as_written": declared.rows.as_written}
    ks = [k for k in USUAL_KS if k <= drafted.records] or [1]
    study = first_with_items(name, replace(declared, table=replace(drafted.declaration, **said)), ks)
    return replace(drafted, guesses=guesses), study
