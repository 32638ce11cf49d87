"""Files of items: one list per line or one item per row, separated by tabs, semicolons, commas or blanks.

**Lines.** The separator is the first of the four that occurs anywhere, so that names with blanks are possible with
tabs. A line is parsed by the csv rules, so a name with a comma may be quoted. A published file is parsed as its readers
would: a quoted name may contain a line end, and a file that ends in .csv is separated by commas.

**Rows.** A file has one item per row if every line has the same number of fields, and:
- The first line is a header: its texts are no numbers and occur nowhere else. - One column identifies the owner of an
item: by its name (`invoice`), or its values repeat, each in one run of rows. - One other column has the items: by its
name, or no other column varies among the rows of an owner. If only some of these signs are present, the file is
ambiguous and refused. Comments, a header of one word and the marks of SPMF (`-1`, `-2`) are no items.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple, Self

import pyarrow as pa

from sfumato.engines._text_files import (
    csv_line,
    escaped,
    existing_file,
    is_formula,
    opened_text,
    unescaped,
    wide_fields,
)
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import refusal, t

SEPARATORS = "\t;,"
MARKS = (*SEPARATORS, "|")
LOOKED_AT = 100_000
"""The number of lines that are examined."""

FEWEST = 5
"""The least number of rows after a header that distinguish it from a basket."""

FEWEST_BARE = 20
"""The least number of lines for suspecting rows without a header, or a number before every basket."""

LARGEST_SHARE = 50
"""The most rows per distinct value of an owner column."""

FEW_LINES = 100
LENGTHS = 4
"""The least number of different line lengths in a file of sets; a table has one."""

COMMENTS = "#%@"
MOST_COMMENTS = 20
"""The least number of lines per comment."""

SPMF = ("-1", "-2")
ONE_WORD = re.compile("items?|itemsets?|baskets?|transactions?|products?|articles?")
EVENT = re.compile(
    "invoice|receipt|order|basket|transaction|trans|ticket|bill|bon|rechnung|beleg|visit|encounter|session|stay|record|"
    "cart|purchase|tid"
)
PERSON = re.compile("customer|client|member|patient|user|person|household|kunde|klient|owner")
ITEM = re.compile("items?|product|produkt|article|artikel|stockcode|sku|code|diagnosis|diag|icd|drug|description|good")
NO_KEY = re.compile(
    "date|time|datum|day|month|year|timestamp|quantity|qty|menge|anzahl|count|price|preis|amount|betrag|total|sum|cost|"
    "discount|unit"
)
"""Words in column names: of events and persons that have items, of items, and of other facts."""

WORDS = re.compile(r"[A-Z]?[a-zäöüß]+|[A-Z]+(?![a-z])")
NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*")


class ItemRows(NamedTuple):
    """The format of rows of one item: separator, owner column, item column."""

    separator: str
    who: str
    item: str
    are_named: bool
    """Whether the names of both columns are clear, and all others are times, amounts or names of the items."""


@dataclass(frozen=True)
class FieldTable:
    """The first rows of a text file with equal numbers of fields."""

    separator: str
    header: Sequence[str]
    columns: Sequence[Sequence[str]]

    def without(self, place: int) -> Self:
        """Leave a column out."""
        return replace(
            self,
            header=[*self.header[:place], *self.header[place + 1 :]],
            columns=[*self.columns[:place], *self.columns[place + 1 :]],
        )

    def repeats(self, place: int) -> bool:
        """Return whether the values of a column repeat like those of a key: many values, some in several rows."""
        values = set(self.columns[place])
        rows = len(self.columns[place])
        return "" not in values and 1 < len(values) < rows <= LARGEST_SHARE * len(values)

    def is_in_runs(self, place: int) -> bool:
        """Return whether the rows of each value of a column are consecutive."""
        return sum(1 for _ in groupby(self.columns[place])) == len(set(self.columns[place]))

    def varies_within(self, place: int, owner: int) -> bool:
        """Return whether some owner has several values of a column."""
        pairs = set(zip(self.columns[owner], self.columns[place], strict=True))
        return len(pairs) > len(set(self.columns[owner]))

    def is_numeric(self, place: int) -> bool:
        """Return whether all values of a column are numbers."""
        return all(NUMBER.fullmatch(value) for value in self.columns[place] if value)


def find_rows(
    path: Path, encoding: str | None = None, separator: str | None = None, person: str | None = None
) -> ItemRows | None:
    """Return the format of a text file with one item per row; None if its lines are sets. Raises if it is ambiguous.

    The column `person` identifies the person of a set, so it is neither the owner nor the item column.
    """
    existing_file(path, t("notice.give_basket_per_line"))
    with opened_text(path, encoding) as stream:
        lines = [line.rstrip("\r\n") for line in islice(stream, LOOKED_AT)]
    own, comments = split_comments([line for line in lines if line.strip()])
    table = _table_of(own, separator)
    if table is not None and person in table.header:
        table = table.without(table.header.index(person))
    if table is None:
        _check_first_fields(path, own, separator)
        return None
    found = _rows_in(path, table)
    if found is not None and comments:
        raise refusal("engines.above_names", path=path, comments=comments[0])
    return found


def has_columns(path: Path, names: Sequence[str | None], encoding: str | None = None) -> bool:
    """Return whether the first line of a text file has all of some names."""
    with suppress(BadInputError), opened_text(path, encoding) as stream:
        first = stream.readline().strip()
        return any(set(names) <= set(row) for mark in MARKS for row in _fields([first], mark))
    return False


def named_rows(path: Path, encoding: str | None = None, separator: str | None = None) -> ItemRows | None:
    """Return the format of rows of one item by the names of their columns alone; None if these are unclear."""
    with suppress(BadInputError):
        found = find_rows(path, encoding, separator)
        return found if found is not None and found.are_named else None
    return None


def _table_of(lines: Sequence[str], separator: str | None) -> FieldTable | None:
    """Split lines into equal numbers of fields; None if no separator does."""
    marks: Iterable[str] = MARKS if any(mark in line for line in lines[:1] for mark in MARKS) else " "
    for mark in marks if separator is None else [separator]:
        rows = list(_fields(lines, mark))
        if len(rows) > FEWEST and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1:
            header, *body = rows
            return FieldTable(mark, header, list(zip(*body, strict=True)))
    return None


def _fields(lines: Sequence[str], mark: str) -> Iterator[list[str]]:
    if mark == " ":
        yield from (line.split() for line in lines)
        return
    with wide_fields():
        for row in csv.reader(lines, delimiter=mark, skipinitialspace=True):
            yield [field.strip() for field in row]


def _rows_in(path: Path, table: FieldTable) -> ItemRows | None:
    """Return the columns of rows of one item; None if the lines are sets of equal length."""
    places = range(len(table.header))
    later = set().union(*table.columns)
    if any(not name or NUMBER.fullmatch(name) or name in later for name in table.header):
        runs = [place for place in places if table.repeats(place) and table.is_in_runs(place)]
        if len(table.columns[0]) >= FEWEST_BARE and runs:
            raise refusal("engines.rows_without_names", path=path, count=len(places), runs=runs[0] + 1)
        return None
    owners = _owners(table)
    item = None if len(owners) != 1 else _item(table, owners[0])
    if item is not None:
        others = [place for place in places if place not in (owners[0], item)]
        are_named = _says(table, owners[0], EVENT, PERSON) and _says(table, item, ITEM)
        are_named = are_named and all(_says(table, place, NO_KEY, ITEM) for place in others)
        return ItemRows(table.separator, table.header[owners[0]], table.header[item], are_named)
    if len(owners) < 2 and len(table.columns[0]) < FEWEST_BARE and not _is_disjoint(table):
        return None
    ways = [_way(table, owner) for owner in owners if len(owners) > 1]
    which = f". Here {', '.join(ways)}" if ways else ""
    raise refusal("engines.rows_or_lines", path=path, header=", ".join(map(repr, table.header)), which=which)


def _way(table: FieldTable, owner: int) -> str:
    """Describe one reading of rows of one item, with its number of sets."""
    item, sets = _item(table, owner), len(set(table.columns[owner]))
    named = "" if item is None else f" --item {_quoted(table.header[item])}"
    return t("notice.id_makes_sets", quoted=_quoted(table.header[owner]), named=named, sets=sets)


def _owners(table: FieldTable) -> list[int]:
    """List the possible owner columns; those that make the same sets count once."""
    keys = [place for place in range(len(table.header)) if table.repeats(place) and not _says(table, place, NO_KEY)]
    named = [place for place in keys if _says(table, place, EVENT, PERSON)]
    others = [place for place in keys if not _says(table, place, ITEM)]
    found = named or [place for place in others if table.is_in_runs(place)]
    if not found and len(table.header) == 2 and any(_says(table, place, ITEM) for place in (0, 1)):
        found = others
    distinct: list[int] = []
    for place in found:
        if not any(_same_sets(table, place, other) for other in distinct):
            distinct.append(place)
    return distinct


def _same_sets(table: FieldTable, place: int, other: int) -> bool:
    return not table.varies_within(place, other) and not table.varies_within(other, place)


def _item(table: FieldTable, owner: int) -> int | None:
    """Return the column of items."""
    varying = [
        place
        for place in range(len(table.header))
        if place != owner and table.varies_within(place, owner) and not _says(table, place, NO_KEY)
    ]
    named = [place for place in varying if _says(table, place, ITEM)]
    texts = [place for place in varying if not table.is_numeric(place)]
    return named[0] if named else next((some[0] for some in (varying, texts) if len(some) == 1), None)


def _says(table: FieldTable, place: int, *words: re.Pattern[str]) -> bool:
    """Return whether the name of a column contains one of some words."""
    return any(each.fullmatch(word.lower()) for word in WORDS.findall(table.header[place]) for each in words)


def _is_disjoint(table: FieldTable) -> bool:
    """Return whether no text is in two columns, as in a table."""
    return sum(len({*column} - {""}) for column in table.columns) == len(set().union(*table.columns) - {""})


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name


def _check_first_fields(path: Path, lines: Sequence[str], separator: str | None) -> None:
    """Raise if the first field of every line occurs nowhere else: it looks like a record number."""
    mark = separator or next((mark for mark in SEPARATORS if any(mark in line for line in lines)), " ")
    rows = [row for row in _fields(lines, mark) if row]
    first = {row[0] for row in rows}
    if len(rows) < FEWEST_BARE or len(first) < len(rows) or any(len(row) < 2 for row in rows[1:]):
        return
    if first.isdisjoint(field for row in rows for field in row[1:]):
        raise refusal("engines.record_numbers", path=path, rows=rows[-1][0])


def field_counts(path: Path, encoding: str | None = None) -> list[int]:
    """Count the fields of the first lines of a text, for any separator; empty if some are quoted."""
    with opened_text(path, encoding) as stream:
        lines = [line.strip() for line in islice(stream, FEW_LINES) if line.strip()]
    if not lines or any('"' in line for line in lines):
        return []
    marks: list[str | None] = [mark for mark in SEPARATORS if mark in "".join(lines)]
    counts = [[len(line.split(mark)) for line in lines] for mark in marks or [None]]
    return next((each for each in counts if len(set(each)) == 1 and each[0] > 1), counts[0])


def are_ragged(counts: Sequence[int]) -> bool:
    """Return whether lines with these numbers of fields are sets of items rather than rows."""
    return len(set(counts)) >= LENGTHS or any(count > counts[0] for count in counts)


# -- lines of items ------------------------------------------------------------------------------------------------


def split_comments(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate lines from comments: few lines at the start that begin with the same comment mark."""
    first = lines[0].lstrip()[:1] if lines else ""
    comments = [line for line in lines if first and first in COMMENTS and line.lstrip().startswith(first)]
    if not comments or (len(comments) > 1 and len(comments) * MOST_COMMENTS > len(lines)):
        return list(lines), []
    return [line for line in lines if not line.lstrip().startswith(first)], comments


def without_header(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate lines of items from comments and a header of one word; return also notices."""
    own, comments = split_comments(lines)
    notices = []
    if comments:
        few = t("notice.comment_line") if len(comments) == 1 else t("notice.comment_lines", comments=len(comments))
        notices.append(t("notice.not_read", few=few, comments=comments[0].strip()))
    name = own[0].strip().strip('"') if own else ""
    if ONE_WORD.fullmatch(name.lower()) and len(own) > 1 and not any(_has(line, name) for line in own[1:]):
        notices.append(t("notice.first_line", name=name))
        own = own[1:]
    return own, notices


def _has(line: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line) is not None


def without_marks(lists: Sequence[Sequence[str]]) -> tuple[list[list[str]], list[str]]:
    """Remove the marks with which SPMF ends items and lines; return also notices."""
    some = [record for record in lists if record]
    if not some or any(record[-1] not in SPMF for record in some):
        return [list(record) for record in lists], []
    notice = t("notice.marks_spmf")
    return [[item for item in record if item not in SPMF] for record in lists], [notice]


FIELD_SEPARATOR = ";"
"""The separator of the items of one field, in a text file with other columns."""

LONG = {"who": "record", "item": "item"}
"""The names of the columns in a file with one row per item."""


def lines_of_items(path: Path, reading: Reading) -> tuple[pa.Array, tuple[str, ...]]:
    """Read one list of items per line; an empty line is an empty list. Return also notices."""
    mark = reading.delimiter
    if mark is not None and len(mark) != 1:
        raise refusal("separator_character", mark=mark)
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
    existing_file(path, t("notice.give_basket_per_line"))
    with opened_text(path, encoding) as stream:
        for number, line in enumerate(stream, start=1):
            if "\x00" in line:
                raise refusal("engines.zero_bytes", path=path, number=number)
            yield number, line.rstrip("\r\n")


def separator_of(lines: Sequence[str]) -> str:
    """Return the separator of items: a tab, semicolon or comma if there is any (in this order), else blanks."""
    return next((mark for mark in SEPARATORS if any(mark in line for line in lines)), " ")


def split_line(line: str, separator: str | None = None) -> list[str]:
    """Split a line into its items, without blanks around them; empty ones are skipped."""
    mark = separator or separator_of([line])
    if mark == " ":
        return line.split()
    if '"' not in line:
        return [field for field in map(str.strip, line.split(mark)) if field]
    fields = next(csv.reader(io.StringIO(line, newline=""), delimiter=mark, skipinitialspace=True), [])
    return [field.strip() for field in fields if field.strip()]


def _published(path: Path, reading: Reading) -> Iterator[list[str]]:
    """Yield the items of each record of a published file, without blanks around them; empty ones are skipped."""
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
                raise refusal("engines.file_not_escaped", path=path, bare=bare)
            yield [unescaped(cell) for cell in cells] if reading.escaped else cells


def write_lists(lists: Sequence[Sequence[str]], path: Path, format: str, layout: str, escape: bool = False) -> None:
    """Write lists of items: as `lines`, as `long` rows, or as a Parquet column; `escape` is for formulas."""
    if format == "parquet":
        from pyarrow import parquet  # importing is slow, and only Parquet files need it

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
    """Write rows of texts with a list of items each, whose column has the index `items` among the names.

    In a text file the items of a row are one field with `;` between them, quoted if they contain one; an empty text is
    a missing value. In Parquet they are a list.
    """
    if format == "parquet":
        from pyarrow import parquet  # importing is slow, and only Parquet files need it

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
    """Return an item as one of several in a field."""
    return (
        '"' + item.replace('"', '""') + '"'
        if any(mark in item for mark in (FIELD_SEPARATOR, '"', "\n", "\r"))
        else item
    )
