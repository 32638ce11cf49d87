"""The bundled tables: Adult, with frozen hierarchies of our own, because results depend on them.

The bundled baskets: Online Retail, the purchases of each customer of a British gift shop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sfumato.config.documents import bundled_facts
from sfumato.data.hierarchies.declared import Declared, read_hierarchies
from sfumato.data.reading import Missing, read
from sfumato.engines import ENGINES, engine_for, open_rows
from sfumato.engines.duckdb.sources import parquet_part
from sfumato.engines.frames import Frame
from sfumato.engines.protocol import Engine, Reading
from sfumato.texts.catalogue import refusal

if TYPE_CHECKING:
    from sfumato.data.items import Baskets


@dataclass(frozen=True)
class Dataset:
    """A bundled table with its default roles."""

    name: str
    records: int
    description: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    parts: tuple[str, ...]
    complete: bool
    """Whether records with a missing value are dropped."""

    def __post_init__(self) -> None:
        for name in ("quasi", "sensitive", "parts"):
            object.__setattr__(self, name, tuple(getattr(self, name)))


DATASETS = {name: Dataset(name, **said) for name, said in bundled_facts("bundled")["tables"].items()}


def load(
    name: str,
    *,
    quasi: Iterable[str] | None = None,
    sensitive: Iterable[str] | None = None,
    neutral: Iterable[str] = (),
    missing: Missing = "value",
) -> Any:
    """Load bundled data: a table with its default roles or others, or sets of items."""
    if name in BASKETS:
        return load_baskets(name)
    dataset = find(name)
    return read(
        frame(name),
        quasi=dataset.quasi if quasi is None else quasi,
        sensitive=dataset.sensitive if sensitive is None else sensitive,
        neutral=neutral,
        hierarchies=hierarchies(name),
        missing=missing,
    )


def names_bundled(source: Any) -> bool:
    """Return whether a source is the name of a bundled table and of no file."""
    return isinstance(source, str | Path) and str(source) in DATASETS and not Path(source).is_file()


def open_source(source: Any, reading: Reading) -> Engine:
    """Open the rows of any source: a bundled table by its name, a frame, or a source of an engine."""
    if isinstance(source, Frame):
        return open_rows(source.content, replace(reading, origin=source.origin))
    if names_bundled(source):
        return open_rows(frame(str(source)), replace(reading, origin=str(source)))
    if isinstance(source, str | Path) and engine_for(source, reading.engine) is ENGINES[0]:
        check_named(source, "table", DATASETS)
    return open_rows(source, reading)


def check_named(source: str | Path, what: str, bundled: Iterable[str]) -> None:
    """Raise if a name is neither that of a file nor of bundled data."""
    path = Path(source)
    if not path.exists() and path.name == str(source) and not path.suffix:
        known = ", ".join(bundled)
        raise refusal("no_such_file_bundled", path=path, what=what, known=known)


def find(name: str) -> Dataset:
    """Return a bundled table by name."""
    if name not in DATASETS:
        raise refusal("no_bundled_table", name=name, DATASETS=", ".join(DATASETS))
    return DATASETS[name]


@cache
def frame(name: str) -> pa.Table:
    """Return the rows of a bundled table."""
    dataset = find(name)
    with as_file(files("sfumato.data") / "files" / "adult.parquet") as path:
        return parquet_part(path, "part", dataset.parts, dataset.complete)


def hierarchies(name: str) -> dict[str, Declared]:
    """Return a copy of the declared hierarchies of a bundled table."""
    return dict(_declared(name))


@cache
def _declared(name: str) -> Mapping[str, Declared]:
    find(name)
    with as_file(files("sfumato.data") / "files" / "adult.toml") as path:
        return read_hierarchies(path)


@dataclass(frozen=True)
class BundledBaskets:
    """Bundled baskets with their number."""

    name: str
    records: int
    items: int
    description: str
    file: str


BASKETS = {name: BundledBaskets(name, **said) for name, said in bundled_facts("bundled")["baskets"].items()}


@cache
def load_baskets(name: str) -> Baskets:
    """Load bundled baskets by name."""
    from sfumato.data.item_reading import read_baskets

    if name not in BASKETS:
        raise refusal("no_bundled_baskets", name=name, BASKETS=", ".join(BASKETS))
    with as_file(files("sfumato.data") / "files" / BASKETS[name].file) as path:
        return replace(read_baskets(path), origin=name)
