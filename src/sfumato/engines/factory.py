"""The one factory that opens rows, and the list of engines it chooses from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.engines.duckdb import DuckDBEngine
from sfumato.engines.frames import frame_origin
from sfumato.engines.postgresql import PostgreSQLEngine
from sfumato.engines.protocol import Engine, Reading
from sfumato.errors import BadInputError

ENGINES: list[type[Engine]] = [DuckDBEngine, PostgreSQLEngine]
"""All engines: the last one that takes a source opens it. DuckDB, the first, takes everything."""


def engine_for(source: Any) -> type[Engine]:
    """Return the engine that opens a source."""
    return next(engine for engine in reversed(ENGINES) if engine.takes(source))


def open_rows(source: Any, reading: Reading | None = None) -> Engine:
    """Open a file, a frame that speaks the Arrow interface, or whatever else an engine takes."""
    reading = reading or Reading()
    origin = str(Path(source)) if isinstance(source, str | Path) else frame_origin(source)
    rows = engine_for(source).open(source, replace(reading, origin=reading.origin or origin))
    if rows.row_count == 0 and not reading.empty:
        raise BadInputError(f"{rows.origin}: there is a header but no row; give a table with records")
    return rows
