"""Where a table is and what its columns are: everything needed to open it, as a value that can be written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from sfumato.config.sections import known_keys
from sfumato.configuration import check_options, described, shortened
from sfumato.engines import Engine, Frame, Reading, frame_kind
from sfumato.engines.notations import DayOrder
from sfumato.engines.places import beside, check_secrets, input_files, seen_from
from sfumato.errors import BadInputError
from sfumato.process.memory import read_size
from sfumato.table import bundled
from sfumato.table.budget import usual_most_cells
from sfumato.table.hierarchies.declared import Declared, Filed, level_table_of, level_tables, read_hierarchies
from sfumato.table.hierarchies.hierarchy import Hierarchy
from sfumato.table.table import AllowedRanges, Missing, Roles, Table, with_roles
from sfumato.vocabulary import (
    AS_WRITTEN,
    COLUMNS,
    DATES,
    DECIMAL_COMMA,
    DECIMAL_POINT,
    DELIMITER,
    ENCODING,
    ENGINE,
    HEADER,
    HEADER_ROW,
    HIERARCHIES,
    HIERARCHY,
    HOUSEHOLD,
    IDENTIFIER,
    MEMORY,
    MISSING_VALUES,
    MOST_CELLS,
    NA,
    NEUTRAL,
    ONE_RECORD_PER_PERSON,
    PERSON,
    QUASI,
    RANGES,
    SENSITIVE,
    SHEET,
    SOURCE,
    SPILL,
    WEIGHTS,
)

READING = (
    "delimiter",
    "encoding",
    "sheet",
    "header",
    "header_row",
    "columns",
    "decimal_comma",
    "decimal_point",
    "dates",
    "as_written",
    "engine",
    "memory",
    "spill",
)
"""The fields that say how a source is read, where that is not to be found out."""

IN_STUDY = "[table.hierarchy] of the study"
"""Where hierarchies of single columns stand, for whoever has to correct one."""


@dataclass(frozen=True)
class TableDeclaration:
    """A file, frame or bundled table with the roles of its columns; a bundled one has usual roles and hierarchies."""

    source: Annotated[str | Frame, SOURCE]
    """In Python also a path, or a frame, which is then held as one."""

    quasi: Annotated[tuple[str, ...], QUASI] = ()
    sensitive: Annotated[tuple[str, ...], SENSITIVE] = ()
    neutral: Annotated[tuple[str, ...], NEUTRAL] = ()
    identifier: Annotated[tuple[str, ...], IDENTIFIER] = ()
    person: Annotated[str | None, PERSON] = None
    one_record_per_person: Annotated[bool, ONE_RECORD_PER_PERSON] = False
    household: Annotated[str | None, HOUSEHOLD] = None
    hierarchies: Annotated[str | None, HIERARCHIES] = None
    hierarchy: Annotated[Mapping[str, Declared], HIERARCHY] = field(default_factory=dict, repr=False)
    """Not printed: what was drafted lists values that records have."""

    weights: Annotated[Mapping[str, float], WEIGHTS] = field(default_factory=dict)
    missing: Annotated[Missing, MISSING_VALUES] = "value"
    na: Annotated[tuple[str, ...], NA] = ()
    delimiter: Annotated[str | None, DELIMITER] = None
    encoding: Annotated[str | None, ENCODING] = None
    sheet: Annotated[str | None, SHEET] = None
    header: Annotated[bool | None, HEADER] = None
    header_row: Annotated[int | None, HEADER_ROW] = None
    columns: Annotated[tuple[str, ...], COLUMNS] = ()
    decimal_comma: Annotated[tuple[str, ...], DECIMAL_COMMA] = ()
    decimal_point: Annotated[tuple[str, ...], DECIMAL_POINT] = ()
    dates: Annotated[DayOrder | None, DATES] = None
    as_written: Annotated[tuple[str, ...], AS_WRITTEN] = ()
    engine: Annotated[str | None, ENGINE] = None
    memory: Annotated[str | None, MEMORY] = None
    spill: Annotated[str | None, SPILL] = None
    most_cells: Annotated[int | None, MOST_CELLS] = None
    ranges: Annotated[AllowedRanges | None, RANGES] = None

    section: ClassVar[str] = "table"

    def __post_init__(self) -> None:
        if not isinstance(self.source, str | Frame):
            source = str(self.source) if isinstance(self.source, Path) else Frame.of(self.source)
            object.__setattr__(self, "source", source)
        for name, option in described(type(self)).items():
            if option.several and isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        check_options(self)
        check_secrets(self.source)
        if self.memory is not None:
            read_size("memory", self.memory)
        for name, what in (("hierarchy", "hierarchies"), ("weights", "numbers")):
            if not isinstance(getattr(self, name), Mapping):
                raise BadInputError(f"{name} must map columns to {what}, not be {getattr(self, name)!r}")

    @property
    def is_bundled(self) -> bool:
        """Whether the source names a table that comes with sfumato."""
        return bundled.names_bundled(self.source)

    @property
    def files(self) -> list[Path]:
        """The files that opening the table reads."""
        files = [] if self.is_bundled else input_files(self.source)
        if self.hierarchies is not None:
            files += level_tables(Path(self.hierarchies)) or [Path(self.hierarchies)]
        named = map(level_table_of, self.hierarchy.values())
        return files + [path for path in named if path is not None]

    @property
    def reading(self) -> Reading:
        """How the source is read."""
        return Reading(na=self.na, **{name: getattr(self, name) for name in READING})

    def open_rows(self) -> Engine:
        """Open the rows, whatever roles their columns have."""
        return bundled.open_source(self.source, self.reading)

    def open(self, rows: Engine | None = None) -> Table:
        """Open the table."""
        given: dict[str, Declared] = bundled.hierarchies(str(self.source)) if self.is_bundled else {}
        if self.hierarchies is not None:
            given |= read_hierarchies(Path(self.hierarchies))
        for column, entry in self.hierarchy.items():
            given[column] = entry if isinstance(entry, Filed | Hierarchy) else Filed(entry, IN_STUDY)
        most = usual_most_cells(self.memory) if self.most_cells is None else self.most_cells
        table = with_roles(rows or self.open_rows(), self.roles, given, self.missing, most_cells=most)
        kind = frame_kind(self.source.content) if isinstance(self.source, Frame) else table.kind
        return replace(table, kind=kind, ranges=self.ranges)

    @property
    def roles(self) -> Roles:
        """The roles of the columns, those of a bundled table filled in."""
        quasi, sensitive = self.quasi, self.sensitive
        if self.is_bundled:
            usual = bundled.find(str(self.source))
            quasi, sensitive = quasi or usual.quasi, sensitive or usual.sensitive
        return Roles(
            quasi,
            sensitive,
            self.neutral,
            self.identifier,
            self.household,
            tuple(self.weights.items()),
            self.person,
            self.one_record_per_person,
        )

    @classmethod
    def of(cls, entries: Mapping[str, Any], folder: Path) -> Self:
        """Read the section of a study; files are named from its folder."""
        known_keys("[table]", entries, described(cls))
        if "source" not in entries:
            raise BadInputError("[table] needs source: a file, or the name of a bundled table")
        if not isinstance(entries["source"], str):
            raise BadInputError(f"source must be a text, not {shortened(entries['source'])}")
        values: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in entries.items()}
        for key in ("source", "hierarchies", "spill"):
            bundle = key == "source" and values[key] in bundled.DATASETS and not (folder / values[key]).is_file()
            if isinstance(values.get(key), str) and not bundle:
                values[key] = beside(folder, values[key])
        if isinstance(values.get("hierarchy"), dict):
            values["hierarchy"] = _with_files(values["hierarchy"], lambda file: beside(folder, file))
        return cls(**values)

    def entries(self, folder: Path | None) -> dict[str, Any]:
        """Write the section of a study; files named as seen from a folder, if one is given."""
        if isinstance(self.source, Frame):
            raise BadInputError(
                f"this study is about a {self.source.origin} in memory, which no file can name; write the frame to a "
                "file and give the study that: study.with_table(source='table.parquet')"
            )
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        entries: dict[str, Any] = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in given.items()
            if value is not None and value != {}
        }
        if "hierarchy" in entries:
            entries["hierarchy"] = {name: _hierarchy_entry(name, one) for name, one in self.hierarchy.items()}
        if folder is not None:
            named = [*([] if self.is_bundled else ["source"]), "hierarchies", "spill"]
            entries |= {key: seen_from(folder, entries[key]) for key in named if key in entries}
            if "hierarchy" in entries:
                entries["hierarchy"] = _with_files(entries["hierarchy"], lambda file: seen_from(folder, file))
        return entries


def _with_files(hierarchies: Mapping[str, Any], place: Callable[[str], str]) -> dict[str, Any]:
    """Name the files of hierarchies as seen from somewhere else."""
    return {column: place(one) if isinstance(one, str) else one for column, one in hierarchies.items()}


def _hierarchy_entry(column: str, given: Any) -> Any:
    if isinstance(given, Hierarchy):
        raise BadInputError(
            f"the hierarchy of column {column!r} was made in Python and cannot be written to a study; "
            "declare it as a table of its type, as nested lists or as a file"
        )
    if isinstance(given, Filed):
        return given.content
    return str(given) if isinstance(given, Path) else given
