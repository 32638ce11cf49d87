"""Lines of items: one set per line, separated by tabs, semicolons, commas or blanks, perhaps compressed.

Which of the four it is, a file shows once for all its lines: the first of them that occurs anywhere, so that names with
blanks survive beside tabs. A line is read by the csv rules, so a name with a comma may stand in quotes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from sfumato.engines.reading import existing_file, opened_text
from sfumato.errors import BadInputError

SEPARATORS = "\t;,"


def numbered_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers, without line ends."""
    existing_file(path, "give one with a basket per line")
    with opened_text(path, encoding) as stream:
        for number, line in enumerate(stream, start=1):
            if "\x00" in line:
                raise BadInputError(
                    f"{path}, line {number}: not a text file (it has zero bytes); is it UTF-16 (--encoding utf-16)?"
                )
            yield number, line.rstrip("\r\n")


def separator_of(lines: list[str]) -> str:
    """Find what separates items: a tab, semicolon or comma if there is any (in this order), else blanks."""
    return next((mark for mark in SEPARATORS if any(mark in line for line in lines)), " ")


def split_line(line: str, separator: str | None = None) -> list[str]:
    """Split a line into its items, without blanks around them; empty ones do not count."""
    mark = separator or separator_of([line])
    if mark == " ":
        return line.split()
    if '"' not in line:
        return [field for field in map(str.strip, line.split(mark)) if field]
    fields = next(csv.reader(io.StringIO(line, newline=""), delimiter=mark, skipinitialspace=True), [])
    return [field.strip() for field in fields if field.strip()]
