"""The embedded engine, the default: DuckDB."""

from sfumato.engines.duckdb.engine import DuckDBEngine

__all__ = ["DuckDBEngine"]
