"""Releases that are written as records of their own: drawn from noisy counts, perturbed, synthetic.

Their rows are not those of the table, so no engine recodes them; they are made as a small table of texts and written in
the order that `write_table` gives them, which tells nothing of how they were made.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

import pyarrow as pa

from sfumato.engines.formulas import escape_file
from sfumato.errors import BadInputError
from sfumato.release.frames import typed
from sfumato.release.release import Published
from sfumato.release.staging import check_targets, staged
from sfumato.release.writing import Format, format_of, inputs_of


class WrittenRecords(Published):
    """A release that is published as records of its own."""

    @property
    @abstractmethod
    def rows_written(self) -> int:
        """How many records are written."""

    @abstractmethod
    def record_table(self) -> pa.Table:
        """Return its records as texts, columns in the order of the input; raise where it may not be published."""

    def to_csv(self, path: str | Path, force: bool = False, escape_formulas: bool = False) -> list[Path]:
        """Write its records as CSV, all or nothing; an existing file is kept unless `force`.

        `escape_formulas` writes cells that a spreadsheet would run as formulas with `'` in front.
        """
        return self._write(Path(path), force, "csv", escape_formulas)

    def to_parquet(self, path: str | Path, force: bool = False) -> list[Path]:
        """Write its records as Parquet, all or nothing; likewise."""
        return self._write(Path(path), force, "parquet")

    def _write(self, path: Path, force: bool, format: Format, escape_formulas: bool = False) -> list[Path]:
        if format_of(path) != format:
            raise BadInputError(f"{path}: this name says {format_of(path)}, not {format}; choose another")
        check_targets([path], force, inputs_of(self))
        with staged([path]) as drafts:
            self.write_draft(drafts[0], format, escape_formulas)
        return [path]

    def write_draft(self, draft: Path, format: Format, escape_formulas: bool = False) -> int:
        """Write its records wherever they will be moved to; return how many."""
        rows = self.table.engine.write_table(self.record_table(), draft, format)
        if escape_formulas:
            escape_file(draft)
        return rows

    def to_arrow(self) -> pa.Table:
        """Return its records as an Arrow table, in an order that tells nothing."""
        engine = self.table.engine
        return typed(engine.shuffled_table(self.record_table()), engine.texts)
