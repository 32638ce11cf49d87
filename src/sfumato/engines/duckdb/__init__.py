"""The embedded engine, the default: DuckDB."""

__all__ = ["DuckDBEngine"]
