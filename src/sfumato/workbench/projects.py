"""The desk: a folder whose sub-folders are projects. Nothing outside of it can be reached.

A project is a folder of `sfumato explore --out`: `study.toml`, and after a run `points.json`, reports and
`cache.jsonl`. The workbench adds `workbench.json`: guesses with reasons, earlier texts of the study for undo, wishes,
the last run, and the settings of publications.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from sfumato.config.documents import read_json, read_text
from sfumato.errors import BadInputError
from sfumato.runtime.cancellation import unfinished
from sfumato.runtime.staging import PRIVATE, writable
from sfumato.texts.catalogue import refusal, t
from sfumato.tradeoff.study.study import read_study, study_from_toml
from sfumato.workbench.errors import ConflictError, MissingError, RefusedError
from sfumato.workbench.opened_data import in_forms
from sfumato.workbench.trust import Trust

if TYPE_CHECKING:
    from sfumato.tradeoff.study.study import Study

STUDY = "study.toml"
NOTES = "workbench.json"
MAPPED = "mapped"
"""The note of a run that made a map: the study's version, and the time of the map."""

SETTLING = 25
"""The number of checks whether a folder has its study, at intervals of 1/50 second."""

MOST_UNDONE = 100
"""Earlier texts of a study that are kept."""


WRITTEN = (NOTES, "cache.jsonl", "points.json", "search.npz")
"""Files of a project with fixed names; a link with such a name is refused because it would lead elsewhere."""

UPLOADED = "upload:"
"""The prefix of an uploaded source; its path among the uploads follows."""


@dataclass(frozen=True)
class Desk:
    """The folder of one person, and a private one for uploads, which is deleted when the workbench ends."""

    folder: Path
    uploads: Path
    databases: bool = False
    """Whether studies may open databases and use Spark."""

    servers: bool = False
    """Whether studies may ask servers."""

    @property
    def trust(self) -> Trust:
        """The permissions of studies."""
        folders = (str(self.folder.resolve()), str(self.uploads.resolve()))
        return Trust(folders, self.databases, self.servers)

    def projects(self) -> Iterator[Project]:
        """List the projects, by name."""
        for folder in sorted(self.folder.iterdir()):
            if _is_project(folder):
                yield Project(self, folder)

    def project(self, name: str) -> Project:
        """Return a project by the name of its folder; a study that exceeds its permissions is refused."""
        folder = self.folder / name
        if name != folder.name or not _is_settled(folder):
            raise MissingError(t("desk.no_project", name=name))
        linked = next((file for file in WRITTEN if (folder / file).is_symlink()), None)
        if linked is not None:
            raise RefusedError(t("error.linked", file=linked, project=name))
        project = Project(self, folder)
        with suppress(BadInputError):  # the reader of an unreadable study reports it
            project.study  # noqa: B018
        return project

    def locally(self, sentence: str, project: str = "") -> str:
        """Return a sentence with file names relative to the folder or a project; uploads have only their name."""
        uploads = re.escape(str(self.uploads.resolve()))
        for folder in {str(self.folder), str(self.folder.resolve())}:
            for prefix in (f"{folder}/{project}/../", f"{folder}/{project}/", f"{folder}/"):
                sentence = sentence.replace(prefix, "") if project or prefix == f"{folder}/" else sentence
        return re.sub(rf"{uploads}/[0-9a-f]+/", "", sentence)

    def inside(self, text: str) -> Path:
        """Return a path under the folder or the uploads; raises if `..` or links lead outside."""
        uploaded = text.startswith(UPLOADED)
        place = (self.uploads if uploaded else self.folder).resolve()
        try:
            path = (place / text.removeprefix(UPLOADED if uploaded else "")).resolve()
            path.is_file()
        except (OSError, ValueError, RuntimeError):  # a name too long, with a null character, or circular links
            raise RefusedError(t("desk.no_name", text=text)) from None
        if not path.is_relative_to(place):
            raise RefusedError(t("desk.outside", text=text))
        return path


def _is_settled(folder: Path) -> bool:
    """Return whether a folder has a study; the end of a run replaces the files, which takes a moment."""
    for _ in range(SETTLING):
        if _is_project(folder) or not _is_folder(folder):
            break
        time.sleep(0.02)
    return _is_project(folder)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir() and not path.is_symlink()
    except (OSError, ValueError):  # an invalid name
        return False


def _is_project(folder: Path) -> bool:
    """Return whether a folder has a study; links are not followed."""
    try:
        if folder.name.startswith(".") or not _is_folder(folder):
            return False
        return (folder / STUDY).is_file() and not (folder / STUDY).is_symlink()
    except (OSError, ValueError):
        return False


_locks: dict[Path, threading.RLock] = {}
_locking = threading.Lock()


def lock_of(folder: Path) -> threading.RLock:
    """Return the lock of a folder: one change at a time from all tabs."""
    with _locking:
        return _locks.setdefault(folder.resolve(), threading.RLock())


_run: set[Path] = set()


def hold(folder: Path) -> None:
    """Mark a study as running, so that it cannot be changed."""
    with lock_of(folder):
        _run.add(folder.resolve())


def let_go(folder: Path) -> None:
    """Mark a study as no longer running."""
    _run.discard(folder.resolve())


@dataclass(frozen=True)
class Project:
    """A study on disk, with its map after a run."""

    desk: Desk
    folder: Path

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def file(self) -> Path:
        """The study."""
        return self.folder / STUDY

    @cached_property
    def study(self) -> Study:
        """The study as a value; raises if its file is unreadable or exceeds its permissions."""
        study = read_study(str(self.file))
        self.desk.trust.check(study)
        return study

    @property
    def version(self) -> str:
        """A digest of the study's text; each change names the version to which it applies."""
        return sha256(self.file.read_bytes()).hexdigest()[:16]

    @property
    def is_explored(self) -> bool:
        """Whether there is a map."""
        return (self.folder / "points.json").is_file()

    def mapped(self) -> dict[str, Any]:
        """Return the version of the study and the time of its map."""
        return {"version": self.version, "at": (self.folder / "points.json").stat().st_mtime_ns}

    def locally(self, sentence: str) -> str:
        """Return a sentence with file names relative to the project."""
        return self.desk.locally(sentence, self.name)

    def in_page_words(self, sentence: str) -> str:
        """Return a sentence for a page of the project: relative file names, fields instead of options."""
        return in_forms(self.locally(sentence))

    def document(self) -> tomlkit.TOMLDocument:
        """Return the study's document, with comments."""
        return tomlkit.parse(read_text(self.file))

    @property
    def guesses(self) -> dict[str, dict[str, Any]]:
        """The guesses about columns in the draft, by column."""
        return {guess["column"]: guess for guess in self.notes().get("guesses", [])}

    def notes(self) -> dict[str, Any]:
        """Return the notes of the workbench about the study."""
        path = self.folder / NOTES
        notes: dict[str, Any] = read_json(path, t("desk.notes")) if path.is_file() else {}
        return notes

    def note(self, **entries: Any) -> None:
        """Add notes about the study."""
        with lock_of(self.folder):
            self._write({self.folder / NOTES: json.dumps({"schema": 1, **self.notes(), **entries}, indent=1)})

    def change(self, why: str, edit: Callable[[tomlkit.TOMLDocument], None]) -> None:
        """Change the study's text, keeping comments; `undo` restores the old text.

        An invalid study is refused, and nothing is changed.
        """
        with lock_of(self.folder):
            before = read_text(self.file)
            try:
                document = tomlkit.parse(before)
                edit(document)
                after = tomlkit.dumps(document)
            except TOMLKitError as error:
                raise refusal("desk.unwritable", why=error) from None
            if after == before:
                return
            undone = [*self.notes().get("undo", []), {"why": why, "text": before}][-MOST_UNDONE:]
            self._put(after, undo=undone, redo=[])

    def undo(self) -> str:
        """Undo the last change; return its description."""
        return self._step("undo", "redo", t("changes.nothing_to_undo"))

    def redo(self) -> str:
        """Redo the last undone change; return its description."""
        return self._step("redo", "undo", t("changes.nothing_to_redo"))

    def _step(self, taken: str, given: str, nothing: str) -> str:
        with lock_of(self.folder):
            notes = self.notes()
            if not notes.get(taken):
                raise BadInputError(nothing)
            *rest, last = notes[taken]
            kept = [*notes.get(given, []), {"why": last["why"], "text": read_text(self.file)}]
            self._put(last["text"], **{taken: rest, given: kept})
            return str(last["why"])

    def _put(self, text: str, **entries: Any) -> None:
        """Write another text of the study, with notes."""
        if self.folder.resolve() in _run:
            raise ConflictError(t("run.unchanged", project=self.name))
        self.desk.trust.check(study_from_toml(text, str(self.file)))
        notes = json.dumps({"schema": 1, **self.notes(), **entries}, indent=1)
        self._write({self.folder / NOTES: notes, self.file: text})
        self.__dict__.pop("study", None)

    def _write(self, texts: dict[Path, str]) -> None:
        """Write files, each replaced atomically, so that readers see the old or the new one."""
        drafts = {path: path.with_name(f".{token_hex(4)}-{path.name}") for path in texts}
        with writable(self.folder), unfinished(*drafts.values()):
            try:
                for path, draft in drafts.items():
                    draft.touch(PRIVATE if path.name == NOTES else 0o666)
                    draft.write_text(texts[path], encoding="utf-8", newline="\n")
                for path, draft in drafts.items():
                    draft.replace(path)
            finally:
                for draft in drafts.values():
                    draft.unlink(missing_ok=True)
