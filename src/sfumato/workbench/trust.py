"""The permissions of a study that the workbench opens.

A study may come from somebody else. It names files to read, and may name a database or a server. A study may read only
files under the folder with which the workbench was started, unless the person who started it allowed more.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from sfumato.config.options import described
from sfumato.data.declaration import TableDeclaration
from sfumato.data.hierarchies.declared import level_table_of, read_hierarchies
from sfumato.engines.frames import Frame
from sfumato.engines.locations import MANY, is_database, scheme_of, shown_place, split_table
from sfumato.measures.analysis.analysis import Analysis
from sfumato.texts.catalogue import t
from sfumato.workbench.errors import RefusedError


@dataclass(frozen=True)
class Trust:
    """The folders that a study may name, and whether it may open databases and query servers."""

    folders: tuple[str, ...]
    databases: bool = False
    servers: bool = False

    def check(self, study: Any) -> None:
        """Raise if a study exceeds its permissions; links of files are followed."""
        if not self.databases and any(getattr(each, "engine", None) == "spark" for each in _values(study)):
            raise RefusedError(t("trust.spark"))
        for place in _places(study):
            self.check_place(place)
        if any(isinstance(each, Analysis) and each.file is not None for each in _values(study)):
            raise RefusedError(t("trust.code"))
        for each in _values(study):
            if isinstance(each, TableDeclaration):
                self._check_hierarchies(each.hierarchies)

    def _check_hierarchies(self, file: str | None) -> None:
        """Raise if a file of hierarchies names a table outside the folders."""
        for entry in {} if file is None or Path(file).is_dir() else read_hierarchies(Path(file)).values():
            if (table := level_table_of(entry)) is not None:
                self.check_place(str(table))

    def check_place(self, place: str) -> None:
        """Raise if rows or files may not be read from a place."""
        if scheme_of(place) is not None:
            if not self.servers:
                raise RefusedError(t("trust.server", place=shown_place(place)))
            return
        if is_database(place) and not self.databases:
            raise RefusedError(t("trust.database", place=place))
        path = Path(split_table(place)[0])
        if _is_nowhere(path):
            return  # opening it reports the error
        for file in _files(path):
            if not self.holds(file):
                raise RefusedError(t("trust.outside", place=place))

    def holds(self, path: Path) -> bool:
        """Return whether a path, with links followed, is in one of the folders."""
        resolved = path.resolve()
        return any(resolved.is_relative_to(folder) for folder in self.folders)


def files_of(study: Any) -> Iterator[Path]:
    """Yield every file of this machine that a study reads."""
    for place in _places(study):
        if scheme_of(place) is None:
            yield from (file for file in _files(Path(split_table(place)[0])) if file.is_file())


def _is_nowhere(path: Path) -> bool:
    """Return whether a path relative to the study does not exist; other places are never revealed."""
    climbs = path.is_absolute() or ".." in path.parts
    return not climbs and not any(mark in str(path) for mark in MANY) and not path.exists()


def _files(path: Path) -> Iterator[Path]:
    """Yield a path, and the content of a folder or the matches of a pattern, because a link among them may lead out."""
    parts = path.parts
    plain = next((i for i, part in enumerate(parts) if any(mark in part for mark in MANY)), len(parts))
    if plain < len(parts) and not path.exists():
        start = Path(*parts[:plain])
        yield start
        yield from start.glob("/".join(parts[plain:]))
        return
    yield path
    if path.is_dir():
        yield from path.rglob("*")


def _values(value: Any) -> Iterator[Any]:
    """Yield a configuration and every configuration in it."""
    if isinstance(value, Frame):
        return
    if is_dataclass(value) and not isinstance(value, type):
        yield value
        for each in fields(value):
            yield from _values(getattr(value, each.name))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _values(each)


def _places(study: Any) -> Iterator[str]:
    """Yield every file, folder, pattern and address in a study."""
    for each in _values(study):
        for name, option in described(type(each)).items():
            value = getattr(each, name)
            if option.option.takes == "hierarchies":
                yield from (str(table) for table in map(level_table_of, value.values()) if table is not None)
            elif option.option.takes == "file" and isinstance(value, str) and not _is_bundled(each, name):
                yield value


def _is_bundled(declared: Any, name: str) -> bool:
    return name == "source" and bool(getattr(declared, "is_bundled", False))
