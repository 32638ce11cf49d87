"""Open tables and baskets of projects, cached for repeated requests; texts and values for pages.

**Cache.** The key contains the study's declarations and the files' sizes and times, so nothing stale is shown. Few
sources are kept, and each is used by one request at a time.

**Texts.** Lower packages write sentences for the command line, with options as `--name` and commands in backticks. On a
page the same sentence names the field, the role or the step (`[settings]` and `[commands]` of the texts). Options of
`serve` remain, since only the person who starts the workbench can set them.

**Values** are masked by default: a person looking at the screen sees their shape only.
"""

import atexit
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from sfumato.data.declaration import READING, DataDeclaration, TableDeclaration
from sfumato.data.hierarchies.declared import Filed
from sfumato.data.item_reading import EXAMPLE
from sfumato.data.items import Baskets
from sfumato.data.reading import Table
from sfumato.engines.protocol import Engine
from sfumato.texts.catalogue import t, texts
from sfumato.texts.html import pieces

MOST_KEPT = 4
"""Open sources."""

MOST_RESULTS = 12
"""Cached results per source."""


@dataclass
class OpenedSource:
    """An open source, with its cached results."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    rows: Engine | None = None
    results: OrderedDict[str, Any] = field(default_factory=OrderedDict)

    def result(self, key: str, make: Callable[[], Any]) -> Any:
        """Return a cached result, or compute it."""
        if key not in self.results:
            self.results[key] = make()
            while len(self.results) > MOST_RESULTS:
                self.results.popitem(last=False)
        self.results.move_to_end(key)
        return self.results[key]


_kept: OrderedDict[str, OpenedSource] = OrderedDict()
atexit.register(_kept.clear)  # a database that is open when Python ends prints an error
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
    """Return the rows of a table, independent of roles."""
    kept = _of(_reading_key(declared))
    with kept.lock:
        if kept.rows is None:
            kept.rows = declared.open_rows()
        yield kept.rows


def of_rows(declared: TableDeclaration, what: str, make: Callable[[Engine], Any]) -> Any:
    """Compute something from the rows of a table, once."""
    kept = _of(_reading_key(declared))
    with rows_of(declared) as rows:
        return kept.result(what, lambda: make(rows))


def of_table(declared: TableDeclaration, what: str, make: Callable[[Table], Any]) -> Any:
    """Compute something from a table with its roles and hierarchies, once."""
    kept, key = _of(_reading_key(declared)), _whole_key(declared)
    with rows_of(declared) as rows:
        table = kept.result(f"table {key}", lambda: declared.open(rows))
        return kept.result(f"{what} {key}", lambda: make(table))


def of_data(declared: DataDeclaration, what: str, make: Callable[[Any], Any]) -> Any:
    """Compute something from data, once."""
    if declared.items is None:
        return of_table(declared.rows, what, make)
    said = [None if declared.table is None else _whole_key(declared.table), declared.items.entries(None)]
    kept = _of(json.dumps([said, stamps(declared.files)], default=str))
    with kept.lock:
        data = kept.result("data", declared.open)
        return kept.result(what, lambda: make(data))


def _reading_key(declared: TableDeclaration) -> str:
    """Return the key of a source and how it is read."""
    said = [getattr(declared, name) for name in ("source", "na", *READING)]
    return json.dumps([said, stamps(declared.files)], default=str)


def _whole_key(declared: TableDeclaration) -> str:
    """Return the key of a whole declaration, including hierarchies."""
    said = {each.name: getattr(declared, each.name) for each in fields(declared)}
    return json.dumps(said, default=_plain)


def _plain(value: Any) -> Any:
    return [value.content, value.origin] if isinstance(value, Filed) else str(value)


def stamps(files: Iterable[Path]) -> tuple[tuple[str, int, int], ...]:
    """Return times and sizes of files; 0 for a missing one."""
    found = [(path, path.stat() if path.is_file() else None) for path in files]
    return tuple((str(path), at.st_mtime_ns if at else 0, at.st_size if at else 0) for path, at in found)


LIMITS = ("most-upload", "most-expanded", "most-memory", "most-seconds", "most-columns")
STARTING = ("allow-databases", "allow-servers", "port", *LIMITS)
"""Options of `serve`."""

TYPED = ("command", "question", "id", "maker")
"""Keys of answers whose values are commands or other typed text."""

OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?: [A-Z]{2,}\b| 60s\b)?")
"""An option, with the placeholder of its value in capitals; a search of 60 seconds is one button."""

IN_PYTHON = re.compile(r" \(in\sPython\s[^()]*\)")
LINKED = re.compile(r"\.[0-9a-f]{12}(\.[A-Za-z])")
"""The digest in the name of a link to an upload, before the extension (`Source.link`)."""

COMMAND = re.compile(r"sfumato ([a-z]+)\b")

Value = TypeVar("Value")


def in_forms(sentence: str) -> str:
    """Replace options and commands by the fields and steps of a page, and links by the names of uploads.

    >>> in_forms("x.csv exists already; choose another name or overwrite it with --force (in Python force=True)")
    'x.csv exists already; choose another name or overwrite it with “Replace files of the same name”'
    >>> in_forms("(--as-written COLUMN leaves them); start it with --allow-databases")
    '(“as_written” leaves them); start it with --allow-databases'
    >>> in_forms("run `sfumato explore study.toml --out .` again")
    'run the step “Run” again'
    """
    told = pieces(LINKED.sub(r"\1", IN_PYTHON.sub("", sentence)))
    return "".join(OPTION.sub(_setting, piece) if i % 2 == 0 else _command(piece) for i, piece in enumerate(told))


def all_in_forms(value: Value) -> Value:
    """Apply `in_forms` to every sentence of an answer, except for typed text."""
    made: Any = value
    if isinstance(value, str):
        made = in_forms(value)
    elif isinstance(value, dict):
        made = {name: each if name in TYPED else all_in_forms(each) for name, each in value.items()}
    elif isinstance(value, list | tuple):
        made = type(value)(map(all_in_forms, value))
    result: Value = made
    return result


def _setting(found: re.Match[str]) -> str:
    option = found[1].replace("-", "_")
    if found[1] in STARTING:
        return found[0]
    return t(f"settings.{option}") if f"settings.{option}" in texts() else f"“{option}”"


def _command(code: str) -> str:
    """Return the name of the step that corresponds to a command; other code is unchanged."""
    found = COMMAND.match(code)
    return t(f"commands.{found[1]}") if found and f"commands.{found[1]}" in texts() else f"`{code}`"


LONGEST = 24
"""The longest value that is shown."""

MISSING = "(missing)"


def masked(text: str | None) -> str:
    """Return the shape of a value: letters as x, digits as 9.

    >>> masked("Müller, Anna"), masked("1987-03-21"), masked(None)
    ('Xxxxxx, Xxxx', '9999-99-99', '(missing)')
    """
    return MISSING if text is None else "".join(map(_shape, text[:LONGEST])) + "…" * (len(text) > LONGEST)


def shown(text: str | None, plainly: bool) -> str:
    """Return a value masked, or unmasked on request."""
    return masked(text) if not plainly else MISSING if text is None else text


def _shape(character: str) -> str:
    if character.isdigit():
        return "9"
    return character if not character.isalpha() else "X" if character.isupper() else "x"


def notices_without_examples(baskets: Baskets) -> list[str]:
    """List the notices of reading baskets, without the one that shows an example."""
    return [notice for notice in baskets.notices if not notice.startswith(EXAMPLE)]
