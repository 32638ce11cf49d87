"""Who does the heavy lifting on rows: one protocol of few verbs, DuckDB behind it."""

from sfumato.engines.factory import ENGINES, open_rows
from sfumato.engines.protocol import (
    Coding,
    ColumnFacts,
    CountedCodes,
    CountedLists,
    DistinctValues,
    Engine,
    Layout,
    Pairs,
    Placement,
    Reading,
    Texts,
    Tuples,
    column_pairs,
)

__all__ = [
    "ENGINES",
    "Coding",
    "ColumnFacts",
    "CountedCodes",
    "CountedLists",
    "DistinctValues",
    "Engine",
    "Layout",
    "Pairs",
    "Placement",
    "Reading",
    "Texts",
    "Tuples",
    "column_pairs",
    "open_rows",
]
