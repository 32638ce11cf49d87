"""Where a table is and what its columns are: everything needed to open it, as a value that can be written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from sfumato.configuration import check_options, described
from sfumato.engines import Engine, Frame, Reading, frame_kind
from sfumato.engines.notations import DayOrder
from sfumato.engines.places import check_secrets, input_files
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
