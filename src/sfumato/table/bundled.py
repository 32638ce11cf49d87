"""The tables that come with sfumato: Adult, with hierarchies of our own that are frozen (results depend on them)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files

import duckdb
import pyarrow as pa

from sfumato.errors import BadInputError
from sfumato.table.hierarchies.declared import Declared, read_hierarchies
from sfumato.table.table import Missing, Table, read

ADULT_QUASI = ("age", "workclass", "education", "marital-status", "race", "sex")


@dataclass(frozen=True)
class Dataset:
    """A bundled table and the roles it has unless others are asked for."""

    name: str
    records: int
    description: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    parts: tuple[str, ...]
    complete: bool
    """Whether records with a missing value are left out."""


DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "adult",
            45_222,
            "UCI Adult (US census 1994), the complete cases of both parts",
            ADULT_QUASI,
            ("occupation",),
            ("train", "test"),
            complete=True,
        ),
        Dataset(
            "adult-train",
            30_162,
            "UCI Adult, the complete cases of the training part",
            ADULT_QUASI,
            ("occupation",),
            ("train",),
            complete=True,
        ),
        Dataset(
            "adult-all",
            48_842,
            "UCI Adult, all records, with missing values",
            ADULT_QUASI,
            ("occupation",),
            ("train", "test"),
            complete=False,
        ),
    )
}


def load(
    name: str,
    *,
    quasi: Iterable[str] | None = None,
    sensitive: Iterable[str] | None = None,
    neutral: Iterable[str] = (),
    missing: Missing = "value",
) -> Table:
    """Load a bundled table, with its usual roles or others."""
    dataset = find(name)
    return read(
        frame(name),
        quasi=dataset.quasi if quasi is None else quasi,
        sensitive=dataset.sensitive if sensitive is None else sensitive,
        neutral=neutral,
        hierarchies=hierarchies(name),
        missing=missing,
    )


def find(name: str) -> Dataset:
    """Look a bundled table up by name."""
    if name not in DATASETS:
        raise BadInputError(f"there is no bundled table {name!r}; there are {', '.join(DATASETS)}")
    return DATASETS[name]


@cache
def frame(name: str) -> pa.Table:
    """Return the rows of a bundled table."""
    dataset = find(name)
    with as_file(files("sfumato.table") / "data" / "adult.parquet") as path:
        parts = ", ".join(f"'{part}'" for part in dataset.parts)
        query = f"SELECT * EXCLUDE (part) FROM read_parquet(?) WHERE part IN ({parts})"
        if dataset.complete:
            query += " AND COLUMNS(*) IS NOT NULL"
        with duckdb.connect() as connection:
            return connection.sql(query, params=[str(path)]).to_arrow_table()


@cache
def hierarchies(name: str) -> dict[str, Declared]:
    """Return the declared hierarchies of a bundled table."""
    find(name)
    with as_file(files("sfumato.table") / "data" / "adult.toml") as path:
        return read_hierarchies(path)
