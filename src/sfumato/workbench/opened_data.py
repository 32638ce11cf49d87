"""Tables and baskets of projects, opened once and kept for a while: pages ask for them many times.

What is kept is keyed by what the study says of the data and by the files' sizes and times, so nothing stale is shown;
few are kept, and whoever works with one has it for himself meanwhile.

Sentences that were written for the command line, as they are read on a page: settings by what one clicks there.

Rooms above name a setting as `--name`, and a command in backticks; that is how a terminal is read. On a page the same
sentence names the field, the role or the step (`[settings]` and `[commands]` of the texts); fields of forms are called
as their options are. What only whoever starts the workbench can set, by an option of `serve`, stays as it is.

Values as a stranger may see them over a shoulder: what they look like, not what they are.
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
    found = [(path, path.stat() if path.is_file() else None) for path in files]
    return tuple((str(path), at.st_mtime_ns if at else 0, at.st_size if at else 0) for path, at in found)


LIMITS = ("most-upload", "most-expanded", "most-memory", "most-seconds", "most-columns")
STARTING = ("allow-databases", "allow-servers", "port", *LIMITS)
"""What only whoever starts the workbench can set."""

TYPED = ("command", "question", "id", "maker")
"""What is shown as one types it, by the names under which answers have it."""

OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?: [A-Z]{2,}\b| 60s\b)?")
"""An option, with the word in capitals that stands for its value; a search of 60 seconds is one button."""

IN_PYTHON = re.compile(r" \(in\sPython\s[^()]*\)")
LINKED = re.compile(r"\.[0-9a-f]{12}(\.[A-Za-z])")
"""What the link to an upload has in its name, before its ending, to tell it from others (`Source.link`)."""

COMMAND = re.compile(r"sfumato ([a-z]+)\b")

Value = TypeVar("Value")


def in_forms(sentence: str) -> str:
    """Name what one clicks in place of options and commands, and uploads as they were called.

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
    """Do so with every sentence of a value that is answered, but for what is typed."""
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
    """Name the step of the walk that does what a command does; other code stays code."""
    found = COMMAND.match(code)
    return t(f"commands.{found[1]}") if found and f"commands.{found[1]}" in texts() else f"`{code}`"


LONGEST = 24
"""Characters that are shown of a value."""

MISSING = "(missing)"


def masked(text: str | None) -> str:
    """Write a value by its shape: letters as x, digits as 9.

    >>> masked("Müller, Anna"), masked("1987-03-21"), masked(None)
    ('Xxxxxx, Xxxx', '9999-99-99', '(missing)')
    """
    return MISSING if text is None else "".join(map(_shape, text[:LONGEST])) + "…" * (len(text) > LONGEST)


def shown(text: str | None, plainly: bool) -> str:
    """Write a value masked, or plainly where somebody asked for it."""
    return masked(text) if not plainly else MISSING if text is None else text


def _shape(character: str) -> str:
    if character.isdigit():
        return "9"
    return character if not character.isalpha() else "X" if character.isupper() else "x"


def notices_without_examples(baskets: Baskets) -> list[str]:
    """List what was noticed while reading baskets, without the notice that shows one of them."""
    return [notice for notice in baskets.notices if not notice.startswith(EXAMPLE)]
