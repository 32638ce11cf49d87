"""The embedded engine, the default: DuckDB."""
