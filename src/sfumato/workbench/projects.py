"""Where somebody works: a folder whose sub-folders are projects. Nothing outside of it can be reached.

A project is a folder as `sfumato explore --out` leaves it: `study.toml`, and once it was run `points.json`, reports and
`cache.jsonl`. The workbench keeps `workbench.json` beside them: what was guessed and why, earlier texts of the study to
go back to, wishes, the last run, and how files were published.
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
from sfumato.texts.catalogue import t
from sfumato.tradeoff.study.study import read_study, study_from_toml
from sfumato.workbench.errors import ConflictError, MissingError, RefusedError
from sfumato.workbench.opened_data import in_forms
from sfumato.workbench.trust import Trust

if TYPE_CHECKING:
    from sfumato.tradeoff.study.study import Study

STUDY = "study.toml"
NOTES = "workbench.json"
MAPPED = "mapped"
"""What is kept of a run that made a map: the study's version, and when the map was written."""

SETTLING = 25
"""How often it is looked again whether a folder has its study, a fiftieth of a second apart."""

MOST_UNDONE = 100
"""Earlier texts of a study that are kept."""


WRITTEN = (NOTES, "cache.jsonl", "points.json", "search.npz")
"""What is read and written in a project by its name: a link by such a name would lead elsewhere."""

UPLOADED = "upload:"
"""How the source of what was uploaded begins; behind it stands where it lies among the uploads."""


@dataclass(frozen=True)
class Desk:
    """The folder of one person, and a private one for what is uploaded, which goes when the workbench ends."""

    folder: Path
    uploads: Path
    databases: bool = False
    """Whether studies may open databases and use Spark."""

    servers: bool = False
    """Whether studies may ask servers."""

    @property
    def trust(self) -> Trust:
        """What studies may do here."""
        folders = (str(self.folder.resolve()), str(self.uploads.resolve()))
        return Trust(folders, self.databases, self.servers)

    def projects(self) -> Iterator[Project]:
        """List the projects, by name."""
        for folder in sorted(self.folder.iterdir()):
            if _is_project(folder):
                yield Project(self, folder)

    def project(self, name: str) -> Project:
        """Return a project by the name of its folder; one whose study wants more than it may is refused."""
        folder = self.folder / name
        if name != folder.name or not _is_settled(folder):
            raise MissingError(t("desk.no_project", name=name))
        linked = next((file for file in WRITTEN if (folder / file).is_symlink()), None)
        if linked is not None:
            raise RefusedError(t("error.linked", file=linked, project=name))
        project = Project(self, folder)
        with suppress(BadInputError):  # a study that cannot be read: whoever reads it will say why
            project.study  # noqa: B018
        return project

    def locally(self, sentence: str, project: str = "") -> str:
        """Name files in a sentence as they are seen from the folder, or from a project; uploads by their name alone."""
        uploads = re.escape(str(self.uploads.resolve()))
        for folder in {str(self.folder), str(self.folder.resolve())}:
            for prefix in (f"{folder}/{project}/../", f"{folder}/{project}/", f"{folder}/"):
                sentence = sentence.replace(prefix, "") if project or prefix == f"{folder}/" else sentence
        return re.sub(rf"{uploads}/[0-9a-f]+/", "", sentence)

    def inside(self, text: str) -> Path:
        """Return the path of a file under the folder (or among the uploads); neither `..` nor links lead out of it."""
        uploaded = text.startswith(UPLOADED)
        place = (self.uploads if uploaded else self.folder).resolve()
        try:
            path = (place / text.removeprefix(UPLOADED if uploaded else "")).resolve()
            path.is_file()
        except (OSError, ValueError, RuntimeError):  # a name too long, with a zero in it, or links in a circle
            raise RefusedError(t("desk.no_name", text=text)) from None
        if not path.is_relative_to(place):
            raise RefusedError(t("desk.outside", text=text))
        return path


def _is_settled(folder: Path) -> bool:
    """Say whether a folder is one of a study; a run that ends lays its files out anew, which takes a moment."""
    for _ in range(SETTLING):
        if _is_project(folder) or not _is_folder(folder):
            break
        time.sleep(0.02)
    return _is_project(folder)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir() and not path.is_symlink()
    except (OSError, ValueError):  # a name that none can have
        return False


def _is_project(folder: Path) -> bool:
    """Say whether a folder is one of a study; links are not followed."""
    try:
        if folder.name.startswith(".") or not _is_folder(folder):
            return False
        return (folder / STUDY).is_file() and not (folder / STUDY).is_symlink()
    except (OSError, ValueError):
        return False


_locks: dict[Path, threading.RLock] = {}
_locking = threading.Lock()


def lock_of(folder: Path) -> threading.RLock:
    """Return the lock of a folder: one change at a time, in whatever tab it is made."""
    with _locking:
        return _locks.setdefault(folder.resolve(), threading.RLock())


_run: set[Path] = set()


def hold(folder: Path) -> None:
    """Say that a study is being run: it is not to change until it is let go."""
    with lock_of(folder):
        _run.add(folder.resolve())


def let_go(folder: Path) -> None:
    """Say that a study is not being run any more."""
    _run.discard(folder.resolve())


@dataclass(frozen=True)
class Project:
    """A study on disk, with its map once it was run."""

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
        """The study as a value; raises where its file cannot be read, or wants more than it may."""
        study = read_study(str(self.file))
        self.desk.trust.check(study)
        return study

    @property
    def version(self) -> str:
        """What tells this text of the study from every other: a change says of which it is."""
        return sha256(self.file.read_bytes()).hexdigest()[:16]

    @property
    def is_explored(self) -> bool:
        """Whether there is a map."""
        return (self.folder / "points.json").is_file()

    def mapped(self) -> dict[str, Any]:
        """Say what the map is of: the study as it stands, and when the map was written."""
        return {"version": self.version, "at": (self.folder / "points.json").stat().st_mtime_ns}

    def locally(self, sentence: str) -> str:
        """Name files in a sentence as they are seen from here."""
        return self.desk.locally(sentence, self.name)

    def told(self, sentence: str) -> str:
        """Write a sentence as a page of the project has it: its files, and what one clicks."""
        return in_forms(self.locally(sentence))

    def document(self) -> tomlkit.TOMLDocument:
        """Return the study as it is written, comments and all."""
        return tomlkit.parse(read_text(self.file))

    @property
    def guesses(self) -> dict[str, dict[str, Any]]:
        """What was guessed of the columns when the study was drafted, by column."""
        return {guess["column"]: guess for guess in self.notes().get("guesses", [])}

    def notes(self) -> dict[str, Any]:
        """Return what the workbench keeps beside the study."""
        path = self.folder / NOTES
        notes: dict[str, Any] = read_json(path, t("desk.notes")) if path.is_file() else {}
        return notes

    def note(self, **entries: Any) -> None:
        """Keep something beside the study."""
        with lock_of(self.folder):
            self._write({self.folder / NOTES: json.dumps({"schema": 1, **self.notes(), **entries}, indent=1)})

    def change(self, why: str, edit: Callable[[tomlkit.TOMLDocument], None]) -> None:
        """Change the study's text, comments and all; what it was before can be had back (`undo`).

        A text that is no study is refused, and nothing is changed.
        """
        with lock_of(self.folder):
            before = read_text(self.file)
            try:
                document = tomlkit.parse(before)
                edit(document)
                after = tomlkit.dumps(document)
            except TOMLKitError as error:
                raise BadInputError(t("desk.unwritable", why=error)) from None
            if after == before:
                return
            undone = [*self.notes().get("undo", []), {"why": why, "text": before}][-MOST_UNDONE:]
            self._put(after, undo=undone, redo=[])

    def undo(self) -> str:
        """Take the last change back; return what it was."""
        return self._step("undo", "redo", t("changes.nothing_to_undo"))

    def redo(self) -> str:
        """Make the change again that was taken back last; return what it was."""
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
        """Write another text of the study, with what is to be kept beside it."""
        if self.folder.resolve() in _run:
            raise ConflictError(t("run.unchanged", project=self.name))
        self.desk.trust.check(study_from_toml(text, str(self.file)))
        notes = json.dumps({"schema": 1, **self.notes(), **entries}, indent=1)
        self._write({self.folder / NOTES: notes, self.file: text})
        self.__dict__.pop("study", None)

    def _write(self, texts: dict[Path, str]) -> None:
        """Write files, each replaced at once: whoever reads meanwhile finds what was there before, or what is now."""
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
