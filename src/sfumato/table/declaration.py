"""Where a table is and what its columns are: everything needed to open it, as a value that can be written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.configuration import check_choice
from sfumato.engines import Engine, Reading
from sfumato.errors import BadInputError
from sfumato.table import bundled
from sfumato.table.hierarchies.declared import Declared, Filed, level_table_of, level_tables, read_hierarchies
from sfumato.table.hierarchies.hierarchy import Hierarchy
from sfumato.table.table import Missing, Roles, Table, with_roles

IN_STUDY = "[table.hierarchy] of the study"
"""Where hierarchies of single columns stand, for whoever has to correct one."""


@dataclass(frozen=True)
class TableDeclaration:
    """A file or a bundled table with the roles of its columns; a bundled table has usual roles and hierarchies."""

    source: str
    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()
    identifier: tuple[str, ...] = ()
    household: str | None = None
    """The column that says which records belong to one household."""

    hierarchies: str | None = None
    """A TOML file or a folder of level tables."""

    hierarchy: Mapping[str, Declared] = field(default_factory=dict)
    """Hierarchies of single columns, which come before those of the file or folder."""

    missing: Missing = "value"
    na: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        for name in ("quasi", "sensitive", "neutral", "identifier", "na"):
            value = getattr(self, name)
            if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
                raise BadInputError(f"{name} must be a list of texts, not {value!r}")
        for name in ("source", "encoding"):
            if not isinstance(getattr(self, name), str):
                raise BadInputError(f"{name} must be a text, not {getattr(self, name)!r}")
        for name in ("household", "hierarchies", "delimiter"):
            if not isinstance(getattr(self, name), str | None):
                raise BadInputError(f"{name} must be a text, not {getattr(self, name)!r}")
        if not isinstance(self.hierarchy, Mapping):
            raise BadInputError(f"hierarchy must map columns to hierarchies, not be {self.hierarchy!r}")
        check_choice("missing", self.missing, ("value", "drop"))

    @property
    def is_bundled(self) -> bool:
        """Whether the source names a table that comes with sfumato."""
        return bundled.names_bundled(self.source)

    @property
    def files(self) -> list[Path]:
        """The files that opening the table reads."""
        files = [] if self.is_bundled else [Path(self.source)]
        if self.hierarchies is not None:
            files += level_tables(Path(self.hierarchies)) or [Path(self.hierarchies)]
        named = map(level_table_of, self.hierarchy.values())
        return files + [path for path in named if path is not None]

    def open_rows(self) -> Engine:
        """Open the rows, whatever roles their columns have."""
        return bundled.open_source(self.source, Reading(self.na, self.delimiter, self.encoding))

    def open(self, rows: Engine | None = None) -> Table:
        """Open the table."""
        given: dict[str, Declared] = bundled.hierarchies(self.source) if self.is_bundled else {}
        if self.hierarchies is not None:
            given |= read_hierarchies(Path(self.hierarchies))
        for column, own in self.hierarchy.items():
            given[column] = own if isinstance(own, Filed | Hierarchy) else Filed(own, IN_STUDY)
        return with_roles(rows or self.open_rows(), self.roles, given, self.missing)

    @property
    def roles(self) -> Roles:
        """The roles of the columns, those of a bundled table filled in."""
        quasi, sensitive = self.quasi, self.sensitive
        if self.is_bundled:
            usual = bundled.find(self.source)
            quasi, sensitive = quasi or usual.quasi, sensitive or usual.sensitive
        return Roles(quasi, sensitive, self.neutral, self.identifier, self.household)
