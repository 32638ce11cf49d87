"""Where data may come from: a file that was uploaded, a file under the folder, or what comes with sfumato.

Nothing else can be named: no URL, no database elsewhere, no path that leads out. A project of an uploaded file has a
link to it, by which its study names it: the link stays when the upload goes, and leads to it again once it is given
again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Any, Literal

from sfumato.engines.labelled_files import LABELLED
from sfumato.engines.places import split_table
from sfumato.engines.text_files import DELIMITED, JSON, PARQUET
from sfumato.engines.workbooks import SHEETS
from sfumato.errors import BadInputError
from sfumato.table import DATASETS
from sfumato.texts.catalogue import t
from sfumato.transactions.files.bundled import BASKETS
from sfumato.workbench.desk import NOTES, STUDY, Desk, Project
from sfumato.workbench.errors import FieldError, RefusedError

Origin = Literal["bundled", "upload", "folder"]

READABLE = (*DELIMITED, *PARQUET, *JSON, *SHEETS, *LABELLED, ".dat", ".data", ".basket")
"""How the names of files end that are offered, `.gz` behind them or not."""

OURS = ("points.json", "timings.json", "cache.jsonl", NOTES, STUDY)
"""Files of ours, which are no data."""


@dataclass(frozen=True)
class NamedSource:
    """Data that somebody named, and where they are."""

    origin: Origin
    name: str
    """The name of the file, or of what comes with sfumato."""

    text: str
    """What opens it: a path, perhaps with a table of a database in it."""

    @property
    def path(self) -> Path:
        """The file."""
        return Path(split_table(self.text)[0])

    @property
    def stem(self) -> str:
        """The name without what it ends in."""
        return self.name.partition(".")[0] or self.name

    def seen_from(self, folder: Path) -> str:
        """Name it in a study of this folder: what is under the desk's folder is named from there."""
        if self.origin != "folder":
            return self.link if self.origin == "upload" else self.text
        table = split_table(self.text)[1]
        return Path(os.path.relpath(self.path, folder.resolve())).as_posix() + ("" if table is None else f"#{table}")

    @cached_property
    def digest(self) -> str:
        """What tells the file from all others."""
        with self.path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()

    @property
    def link(self) -> str:
        """What the link to an upload is called in its project."""
        return f"{self.stem[:60]}.{self.digest[:12]}{self.name[len(self.stem) :]}"

    def facts(self) -> dict[str, Any]:
        """Say what is kept of it beside the study: of an upload what tells the same file when it is given again."""
        about = {"origin": self.origin, "name": self.name}
        return about | ({"digest": self.digest, "link": self.link} if self.origin == "upload" else {})

    def link_in(self, folder: Path) -> None:
        """Let a project lead to an upload; one that led to an earlier upload of the same file leads here now."""
        if self.origin == "upload":
            (folder / self.link).unlink(missing_ok=True)
            (folder / self.link).symlink_to(self.path)


def source_of(desk: Desk, text: str) -> NamedSource:
    """Find what somebody named; raise where there is no such file here."""
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
    """Say whether a file or folder can be chosen: hidden ones, files of ours and links that lead out cannot."""
    if path.name.startswith(".") or path.name in OURS or not path.resolve().is_relative_to(root):
        return False
    if path.is_dir():
        return not (path / STUDY).is_file()
    return path.is_file() and path.name.lower().removesuffix(".gz").endswith(READABLE)


# -- uploads that are gone -----------------------------------------------------------------------------------------


def is_gone(project: Project) -> bool:
    """Say whether the project's file was uploaded, and went with the run of the workbench that had it."""
    link = _link(project)
    return link is not None and not link.is_file()


def _link(project: Project) -> Path | None:
    """Return the link to an upload, if the project has one: in its own folder, and no file of somebody's."""
    name = project.notes().get("source", {}).get("link")
    if name is None:
        return None
    link = project.folder / str(name)
    if Path(str(name)).name != name or (link.exists() and not link.is_symlink()):
        raise RefusedError(t("gone.no_link", notes=NOTES, name=name))
    return link


def give_again(project: Project, source: NamedSource) -> None:
    """Let a project go on with its file, uploaded again; raise where it is another one."""
    facts, link = project.notes().get("source", {}), _link(project)
    if link is None:
        raise BadInputError(t("gone.nothing"))
    if source.origin != "upload" or source.digest != facts.get("digest"):
        raise BadInputError(t("gone.another", file=source.name, made_of=facts.get("name")))
    link.unlink(missing_ok=True)
    link.symlink_to(source.path)
