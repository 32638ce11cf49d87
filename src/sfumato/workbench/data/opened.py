"""Tables and baskets of projects, opened once and kept for a while: pages ask for them many times.

What is kept is keyed by what the study says of the data and by the files' sizes and times, so nothing stale is shown;
few are kept, and whoever works with one has it for himself meanwhile.
"""

from __future__ import annotations

import atexit
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sfumato.engines import Engine
from sfumato.mixed.declaration import DataDeclaration
from sfumato.table import Table, TableDeclaration
from sfumato.table.declaration import READING
from sfumato.table.hierarchies.declared import Filed

MOST_KEPT = 4
"""Sources that stay open."""

MOST_RESULTS = 12
"""Answers about one of them that are kept."""


@dataclass
class OpenedSource:
    """An opened source, with what was worked out of it."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    rows: Engine | None = None
    results: OrderedDict[str, Any] = field(default_factory=OrderedDict)

    def result(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what was worked out before, or work it out."""
        if key not in self.results:
            self.results[key] = make()
            while len(self.results) > MOST_RESULTS:
                self.results.popitem(last=False)
        self.results.move_to_end(key)
        return self.results[key]


_kept: OrderedDict[str, OpenedSource] = OrderedDict()
atexit.register(_kept.clear)  # a database that is open when Python ends makes it complain
_keeping = threading.Lock()


def _of(key: str) -> OpenedSource:
    with _keeping:
        kept = _kept.setdefault(key, OpenedSource())
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
        return kept


@contextmanager
def rows_of(declared: TableDeclaration) -> Iterator[Engine]:
    """Lend the rows of a table, whatever roles its columns have."""
    kept = _of(_reading_key(declared))
    with kept.lock:
        if kept.rows is None:
            kept.rows = declared.open_rows()
        yield kept.rows


def of_rows(declared: TableDeclaration, what: str, make: Callable[[Engine], Any]) -> Any:
    """Work something out of the rows of a table, once."""
    kept = _of(_reading_key(declared))
    with rows_of(declared) as rows:
        return kept.result(what, lambda: make(rows))


def of_table(declared: TableDeclaration, what: str, make: Callable[[Table], Any]) -> Any:
    """Work something out of a table with its roles and hierarchies, once."""
    kept, key = _of(_reading_key(declared)), _whole_key(declared)
    with rows_of(declared) as rows:
        table = kept.result(f"table {key}", lambda: declared.open(rows))
        return kept.result(f"{what} {key}", lambda: make(table))


def of_data(declared: DataDeclaration, what: str, make: Callable[[Any], Any]) -> Any:
    """Work something out of data, once."""
    if declared.items is None:
        return of_table(declared.rows, what, make)
    said = [None if declared.table is None else _whole_key(declared.table), declared.items.entries(None)]
    kept = _of(json.dumps([said, stamps(declared.files)], default=str))
    with kept.lock:
        data = kept.result("data", declared.open)
        return kept.result(what, lambda: make(data))


def _reading_key(declared: TableDeclaration) -> str:
    """Tell readings of sources apart."""
    said = [getattr(declared, name) for name in ("source", "na", *READING)]
    return json.dumps([said, stamps(declared.files)], default=str)


def _whole_key(declared: TableDeclaration) -> str:
    """Tell declarations of one source apart, hierarchies and all."""
    said = {each.name: getattr(declared, each.name) for each in fields(declared)}
    return json.dumps(said, default=_plain)


def _plain(value: Any) -> Any:
    return [value.content, value.origin] if isinstance(value, Filed) else str(value)


def stamps(files: Iterable[Path]) -> tuple[tuple[str, int, int], ...]:
    """Say of which time and size files are; one that is not there is of none."""
    found_stamps = []
    for path in files:
        found = path.stat() if path.is_file() else None
        found_stamps.append((str(path), 0, 0) if found is None else (str(path), found.st_mtime_ns, found.st_size))
    return tuple(found_stamps)
