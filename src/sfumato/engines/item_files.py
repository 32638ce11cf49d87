"""Files of items: one list on every line, separated by tabs, semicolons, commas or blanks, perhaps compressed.

Which of the four it is, a file shows once for all its lines: the first of them that occurs anywhere, so that names with
blanks survive beside tabs. A line is read by the csv rules, so a name with a comma may stand in quotes. A published
file is read as its readers would: a quoted name may hold a line end, and a file that ends in .csv is separated by
commas, whatever else stands in it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from sfumato.engines._item_layouts import SEPARATORS, without_header, without_marks
from sfumato.engines._text_files import csv_line, existing_file, opened_text, wide_fields
from sfumato.engines.formulas import escaped, is_formula, unescaped
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError

FIELD_SEPARATOR = ";"
"""What stands between the items of one field, in a text file that has other columns, too."""

LONG = {"who": "record", "item": "item"}
"""The columns of a file that has a row for every item, as those who read it name them."""


def lines_of_items(path: Path, reading: Reading) -> tuple[pa.Array, tuple[str, ...]]:
    """Read one list of items per line; an empty line is a list without items. Return also what was noticed."""
    mark = reading.delimiter
    if mark is not None and len(mark) != 1:
        raise BadInputError(f"a separator is one character, not {mark!r}")
    notices: list[str] = []
    if reading.as_it_stands:
        lists = list(_published(path, reading))
    else:
        lines = [text for _, text in numbered_lines(path, reading.encoding)]
        lines, notices = (lines, []) if reading.every_line else without_header(lines)
        mark = mark or separator_of(lines)
        lists = [split_line(line, mark) for line in lines]
        lists, more = (lists, []) if reading.every_line else without_marks(lists)
        notices += more
    return pa.array(lists, pa.list_(pa.string())), tuple(f"{path}: {notice}" for notice in notices)


def numbered_lines(path: Path, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers, without line ends."""
    existing_file(path, "give one with a basket per line")
    with opened_text(path, encoding) as stream:
        for number, line in enumerate(stream, start=1):
            if "\x00" in line:
                raise BadInputError(
                    f"{path}, line {number}: not a text file (it has zero bytes); is it UTF-16 (--encoding utf-16)?"
                )
            yield number, line.rstrip("\r\n")


def separator_of(lines: Sequence[str]) -> str:
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


def _published(path: Path, reading: Reading) -> Iterator[list[str]]:
    """Yield the items of every record of a published file, without blanks around them; empty ones do not count."""
    with opened_text(path, reading.encoding) as stream:
        text = stream.read()
    named_csv = path.name.lower().removesuffix(".gz").endswith(".csv")
    mark = reading.delimiter or ("," if named_csv else separator_of([text]))
    if mark == " ":
        yield from (line.split() for line in text.splitlines())
        return
    with wide_fields():  # a set may list thousands of items
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark):
            cells = [cell for field in row if (cell := field.strip())]
            if reading.escaped and any(map(is_formula, cells)):
                bare = next(filter(is_formula, cells))
                raise BadInputError(
                    f"{path}: {bare!r} is a formula, so this file was not written with --escape-formulas; leave "
                    "--escaped-formulas out"
                )
            yield [unescaped(cell) for cell in cells] if reading.escaped else cells


def write_lists(lists: Sequence[Sequence[str]], path: Path, format: str, layout: str, escape: bool = False) -> None:
    """Write lists of items: as `lines`, as `long` rows, or as a Parquet column; `escape` is for formulas."""
    if format == "parquet":
        from pyarrow import parquet  # slow to import, and needed for Parquet files alone

        items = pa.array([list(record) for record in lists], pa.list_(pa.string()))
        parquet.write_table(pa.table({"items": items}), path)
        return
    if escape:
        lists = [tuple(map(escaped, record)) for record in lists]
    with path.open("w", encoding="utf-8", newline="") as stream:
        if layout == "lines":
            stream.writelines(csv_line(record or ("",)) for record in lists)
            return
        stream.write(csv_line(tuple(LONG.values())))
        for number, record in enumerate(lists, start=1):
            stream.writelines(csv_line((str(number), item)) for item in record or ("",))


def write_rows_with_items(
    names: Sequence[str], rows: Sequence[tuple[Sequence[str], Sequence[str]]], path: Path, format: str, items: int
) -> None:
    """Write rows of single texts with a list of items each, whose column has the place `items` among the names.

    In a text file the items of a row are one field with `;` between them, quoted where they hold one; an empty text is
    a missing value. In Parquet they are a list.
    """
    if format == "parquet":
        from pyarrow import parquet  # slow to import, and needed for Parquet files alone

        columns = {
            name: pa.array([texts[place] or None for texts, _ in rows], pa.string())
            for place, name in enumerate(name for number, name in enumerate(names) if number != items)
        }
        columns[names[items]] = pa.array([list(listed) for _, listed in rows], pa.list_(pa.string()))
        parquet.write_table(pa.table({name: columns[name] for name in names}), path)
        return
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(csv_line(names))
        for texts, listed in rows:
            field = FIELD_SEPARATOR.join(map(_item_field, listed))
            stream.write(csv_line([*texts[:items], field, *texts[items:]]))


def _item_field(item: str) -> str:
    """Write an item as one of several in a field."""
    return (
        '"' + item.replace('"', '""') + '"'
        if any(mark in item for mark in (FIELD_SEPARATOR, '"', "\n", "\r"))
        else item
    )
