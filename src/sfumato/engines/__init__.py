"""Who does the heavy lifting on rows: one protocol of few verbs, DuckDB behind it."""

from sfumato.engines.duckdb import DuckDBEngine
from sfumato.engines.protocol import (
    Coding,
    ColumnFacts,
    CountedCodes,
    DistinctValues,
    Engine,
    Layout,
    Pairs,
    Placement,
    Texts,
    Tuples,
    column_pairs,
)

__all__ = [
    "Coding",
    "ColumnFacts",
    "CountedCodes",
    "DistinctValues",
    "DuckDBEngine",
    "Engine",
    "Layout",
    "Pairs",
    "Placement",
    "Texts",
    "Tuples",
    "column_pairs",
]
