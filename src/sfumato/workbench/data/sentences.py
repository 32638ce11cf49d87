"""Sentences that were written for the command line, as they are read on a page: settings by what one clicks there.

Rooms above name a setting as `--name`, and a command in backticks; that is how a terminal is read. On a page the same
sentence names the field, the role or the step (`[settings]` and `[commands]` of the texts); fields of forms are called
as their options are. What only whoever starts the workbench can set, by an option of `serve`, stays as it is.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from sfumato.pages.render import pieces
from sfumato.texts.catalogue import t, texts

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
