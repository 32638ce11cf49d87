"""Row work: `open_rows` chooses an engine by name or by the notation of a source, and imports it at its first use."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from sfumato.engines.duckdb.engine import DuckDBEngine
from sfumato.engines.frames import frame_origin
from sfumato.engines.locations import check_secrets, is_server, is_spark_frame, shown_place
from sfumato.engines.protocol import Engine, Reading
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import refusal, t


@dataclass(frozen=True)
class DeferredEngine:
    """An engine that is imported when it opens a source."""

    name: str
    class_name: str
    takes: Callable[[Any], bool]

    def open(self, source: Any, reading: Reading) -> Engine:
        """Import the engine and open the source."""
        engine = getattr(import_module(f"{__name__}.{self.name}.engine"), self.class_name)
        return engine.open(source, reading)  # type: ignore[no-any-return]


ENGINES: list[type[Engine] | DeferredEngine] = [
    DuckDBEngine,
    DeferredEngine("spark", "SparkEngine", is_spark_frame),
    DeferredEngine("postgresql", "PostgreSQLEngine", is_server),
]
"""All engines: the last one that accepts a source opens it, unless one is named. DuckDB, the first, accepts all."""


def engine_for(source: Any, name: str | None = None) -> type[Engine] | DeferredEngine:
    """Return the engine that opens a source: the one of this name, or the last that takes it."""
    if name is None:
        return next(engine for engine in reversed(ENGINES) if engine.takes(source))
    named = {engine.name: engine for engine in ENGINES}
    if name not in named:
        raise refusal("no_engine", name=name, named=", ".join(named))
    return named[name]


def open_rows(source: Any, reading: Reading | None = None) -> Engine:
    """Open a file, many files, a URL, a frame with the Arrow interface, or another source of an engine."""
    reading = reading or Reading()
    if isinstance(source, str) and not source:
        raise refusal("table_no_name")
    if isinstance(source, str | Path) and str(source).lower().endswith(".toml"):
        raise refusal("engines.toml_as_table", source=source)
    check_secrets(source)
    origin = shown_place(source) if isinstance(source, str | Path) else frame_origin(source)
    engine = engine_for(source, reading.engine)
    rows = engine.open(source, replace(reading, origin=reading.origin or origin))
    if rows.row_count == 0 and not reading.empty:
        raise refusal("header_but_no_row", origin=rows.origin)
    return rows
