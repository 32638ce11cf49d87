"""A second engine, all verbs in plain Python over lists of texts: it proves that the protocol is honest.

It reads comma-separated text, Parquet and frames. Slow and short: what every verb means can be read off here.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import hashlib
import math
import re
from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.engines._text_files import unescaped
from sfumato.engines.protocol import ColumnFacts, CountedCodes, CountedLists, DistinctValues, Pairs, Tuples
from sfumato.errors import BadInputError

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def missing_last(texts):
    return [(text is None, text or "") for text in texts]


def shuffle_key(texts):
    """A digest of what a row shows, then what it shows."""
    shown = "".join("-" if text is None else f"{len(text)}:{text}" for text in texts)
    return hashlib.md5(shown.encode()).hexdigest(), missing_last(texts)


def ruled(text, rule):
    """What a rule makes of a text."""
    if text is None or rule is None:
        return text
    if rule.kind == "prefix":
        return text[: rule.number]
    if rule.kind == "day":
        return text[:10] if re.fullmatch(r"\d{4}-\d{2}-\d{2}([ T].*)?", text, re.ASCII | re.DOTALL) else text
    fits = NUMBER.fullmatch(text)
    return str(float(math.floor(float(text) / rule.number) * rule.number)) if fits else text


def as_text(value):
    """The text of a value, as the protocol defines it."""
    match value:
        case None | list():
            return value
        case bool():
            return str(value).lower()
        case float() | np.float32():
            return repr(float(str(value)))
        case decimal.Decimal():
            return f"{value:f}"
        case datetime.datetime() | datetime.time():
            return without_zeros(str(value)).replace("+00:00", "+00")
    return str(value)


def without_zeros(text):
    return re.sub(r"(\.\d*?)0+(?!\d)", r"\1", text)


def column_texts(column):
    """The texts of a column of Arrow; numbers of 32 bits keep them, so that they have no digits of 64."""
    single = pa.types.is_float32(column.type)
    return [as_text(np.float32(v) if single and v is not None else v) for v in column.to_pylist()]


class PlainEngine:
    """Rows as lists of texts, column by column."""

    name = "plain"

    def __init__(self, columns, nested, reading):
        self.held, self.nested, self.reading = columns, nested, reading
        self.columns, self.origin, self.na = tuple(columns), reading.origin, reading.na
        self.notices, self.notations, self.texts = (), {}, frozenset(reading.as_written)
        self.row_count = len(next(iter(columns.values())))
        self.links = []

    @classmethod
    def takes(cls, source):
        return True

    @classmethod
    def open(cls, source, reading):
        nested = {}
        if isinstance(source, str | Path) and Path(source).suffix == ".csv":
            with Path(source).open(encoding=reading.encoding, newline="") as stream:
                lines = list(csv.reader(stream, delimiter=reading.delimiter or ","))
            if reading.layout == "lines":
                columns, nested = (
                    {"items": [[item.strip() for item in line if item] for line in lines]},
                    {"items": "[]"},
                )
            else:
                columns = {name: [line[i] or None for line in lines[1:]] for i, name in enumerate(lines[0])}
        else:
            table = pq.read_table(source) if isinstance(source, str | Path) else pa.table(source)
            nested = {field.name: "[]" for field in table.schema if pa.types.is_list(field.type)}
            columns = {name: column_texts(table[name]) for name in table.column_names}
        for name in columns.keys() - nested.keys():
            columns[name] = [None if text in reading.missing else text for text in columns[name]]
        if reading.escaped:
            columns = {unescaped(name): [text and unescaped(text) for text in texts] for name, texts in columns.items()}
        return cls(columns, nested, reading)

    def rows(self, columns):
        return list(zip(*(self.held[name] for name in columns), strict=True)) if columns else [()] * self.row_count

    def complete_rows(self, complete):
        return [None not in row for row in self.rows(complete)]

    def digest(self, columns=()):
        names = sorted(columns or self.columns)
        total = sum(int(shuffle_key(row)[0][:15], 16) for row in self.rows(names))
        return hashlib.sha256(repr((names, self.row_count, total)).encode()).hexdigest()

    def distinct(self, column, complete=()):
        return self.counted(column, self.complete_rows(complete))

    def distinct_by(self, rule, column, complete=()):
        return self.counted(column, self.complete_rows(complete), rule)

    def all_different(self, columns):
        return [name for name in columns if len(set(self.held[name])) == self.row_count]

    def sample(self, column, rows):
        every = -(-self.row_count // rows)
        return self.counted(column, [number % every == 0 for number in range(self.row_count)])

    def counted(self, column, kept, rule=None):
        first, counts, kinds = {}, Counter(), {}
        for number, (whole, is_kept) in enumerate(zip(self.held[column], kept, strict=True), start=1):
            if is_kept:
                text = ruled(whole, rule)
                kinds.setdefault(text, set()).add(whole)
                first.setdefault(text, number)
                counts[text] += 1
        values = sorted(counts, key=lambda text: missing_last([text]))
        told = None if rule is None else np.array([len(kinds[v] - {None}) for v in values])
        numbers = (np.array([of[v] for v in values]) for of in (counts, first))
        return DistinctValues(values, *numbers, told)

    def facts(self, column):
        texts = [text for text in self.held[column] if text is not None]
        numbers = [t for t in map(str.strip, texts) if NUMBER.fullmatch(t) and not re.fullmatch(r"0\d+", t)]
        numbers = [t for t in numbers if np.isfinite(float(t))]
        decimals = [99 if "e" in t.lower() else len(t.partition(".")[2].rstrip("0")) for t in numbers]
        days = [day for day in map(day_of, map(str.strip, texts)) if day is not None]
        values, lengths = list(map(float, numbers)), list(map(len, texts))
        ends = (min(values), max(values)) if values else (None, None)
        days_ends = (min(days), max(days)) if days else (None, None)
        lengths = (min(lengths, default=0), max(lengths, default=0))
        counted = (len(texts), len(set(texts)), *lengths, len(values), *ends, max(decimals, default=0), len(days))
        return ColumnFacts(*counted, *days_ends)

    def count_texts(self, columns, complete=()):
        kept = self.complete_rows(complete)
        counts = Counter(row for row, is_kept in zip(self.rows(columns), kept, strict=True) if is_kept)
        listed = [pa.array([row[i] for row in counts], pa.string()) for i in range(len(columns))]
        names = [*(f"t{i}" for i in range(len(columns))), "n"]
        yield pa.RecordBatch.from_arrays([*listed, pa.array(counts.values(), pa.int64())], names)

    def count_cells(self, codings):
        rows = self.rows([coding.column for coding in codings])
        coded = [
            tuple(coding.codes.get(ruled(text, coding.rule)) for coding, text in zip(codings, row, strict=True))
            for row in rows
        ]
        counts = Counter(row for row in coded if None not in row)
        cells = sorted(counts)
        number = {cell: i for i, cell in enumerate(cells)}
        self.links.append([number.get(row) for row in coded])
        codes = np.array(cells, np.int32).reshape(len(cells), len(codings))
        numbers = np.array([counts[cell] for cell in cells], np.int64)
        return CountedCodes(codes, numbers, self.row_count - int(numbers.sum()), str(len(self.links) - 1))

    def cell_number(self, codings):
        return len(self.count_cells(codings).counts)

    def tuples(self, columns, link):
        linked = zip(self.links[int(link)], self.rows(columns), strict=True)
        counts = Counter((cell, row) for cell, row in linked if cell is not None)
        order = sorted(counts, key=lambda pair: (pair[0], missing_last(pair[1])))
        texts = [list(dict.fromkeys(row[i] for _, row in order)) for i in range(len(columns))]
        values = [[texts[i].index(row[i]) for i in range(len(columns))] for _, row in order]
        cells, numbers = np.array([cell for cell, _ in order]), np.array([counts[pair] for pair in order])
        return Tuples(cells, np.array(values).reshape(len(order), len(columns)), numbers, texts)

    def pairs(self, column, link, most):
        values = [row[0] for row in self.rows([column])]
        place = {text: number for number, text in enumerate(sorted({*values} - {None}))}
        linked = zip(self.links[int(link)], values, strict=True)
        counts = Counter((cell, place[text]) for cell, text in linked if cell is not None and text is not None)
        assert len(counts) <= most
        cells, numbers = np.array(list(counts), np.int64).reshape(-1, 2).T
        return Pairs(cells, numbers, np.array(list(counts.values())))

    def write(self, placement, layout, path, format):
        return self.save(self.placed(placement, layout), path, format)

    def placed_rows(self, placement, layout):
        return as_table(self.placed(placement, layout))

    def placed(self, placement, layout):
        of_cell = {}
        for row, cell in enumerate(self.links[int(placement.link)]):
            of_cell.setdefault(cell, []).append(row)
        neutral = self.rows(layout.neutral)
        for rows in of_cell.values():
            rows.sort(key=lambda row: missing_last(neutral[row]), reverse=True)  # the first is the last to be taken
        placed = []
        for cell, group, number in sorted(zip(placement.cell, placement.group, placement.count, strict=True)):
            placed += [(of_cell[cell].pop(), int(cell), int(group)) for _ in range(number)]
        shown = {name: [self.held[name][row] for row, _, _ in placed] for name in layout.neutral}
        for columns, place in ((layout.by_cell, 1), (layout.by_group, 2)):
            shown |= {own.name: [own.texts[own.codes[entry[place]]] for entry in placed] for own in columns}
        if layout.group_column is not None:
            shown[layout.group_column] = [str(layout.group_labels[group]) for _, _, group in placed]
        if layout.permuted:
            deal_out(shown, sorted(layout.permuted), [group for _, _, group in placed])
        return in_order({name: shown[name] for name in layout.order}, sorted(layout.order))

    def write_table(self, content, path, format):
        return self.save(self.shuffled(content), path, format)

    def shuffled_table(self, content):
        return as_table(self.shuffled(content))

    def shuffled(self, content):
        columns = {name: list(map(as_text, content[name].to_pylist())) for name in content.column_names}
        return in_order(columns, list(columns))

    def save(self, columns, path, format):
        if format == "parquet":
            pq.write_table(as_table(columns), path)
        else:
            with path.open("w", encoding="utf-8", newline="") as stream:
                rows = ([text or "" for text in row] for row in zip(*columns.values(), strict=True))
                csv.writer(stream, lineterminator="\n").writerows([list(columns), *rows])
        return len(next(iter(columns.values())))

    def lists(self, column):
        return counted_lists([list(map(as_text, items or ())) for items in self.held[column]])

    def gathered(self, who, item):
        lists = {}
        for number, (owner, text) in enumerate(self.rows((who, item)), start=1):
            if owner is None and not self.reading.as_it_stands:
                raise BadInputError(
                    f"{self.origin}, row {number}: {who!r} is missing, so nobody knows whose {text!r} it is"
                )
            lists.setdefault(owner, []).extend([] if text is None else [text])
        return counted_lists(list(lists.values()))


def as_table(columns):
    return pa.table({name: pa.array(texts, pa.string()) for name, texts in columns.items()})


def in_order(columns, by):
    """Order rows by a digest of what they show, the columns in this order."""
    keys = [shuffle_key(row) for row in zip(*(columns[name] for name in by), strict=True)]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return {name: [texts[i] for i in order] for name, texts in columns.items()}


def counted_lists(records):
    counts, first = Counter(map(tuple, records)), {}
    for number, items in enumerate(records, start=1):
        first.setdefault(tuple(items), number)
    texts = list(dict.fromkeys(chain.from_iterable(first)))
    codes = [texts.index(item) for items in first for item in items]
    lengths, numbers = np.array(list(map(len, first)), np.int64), np.array([counts[items] for items in first], np.int64)
    return CountedLists(texts, lengths, np.array(codes, np.int32), numbers, np.array(list(first.values()), np.int64))


def deal_out(shown, permuted, groups):
    """Exchange some columns within each group: both sides in the order of what they themselves show."""
    kept = sorted(shown.keys() - set(permuted))
    rows = [{name: texts[i] for name, texts in shown.items()} for i in range(len(groups))]

    def ordered(names):
        return sorted(range(len(rows)), key=lambda i: (groups[i], shuffle_key([rows[i][name] for name in names])))

    for place, (left, right) in enumerate(zip(ordered(kept), ordered(permuted), strict=True)):
        for name in shown:
            shown[name][place] = rows[right if name in permuted else left][name]


def day_of(text):
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}.*)?", text):
            return datetime.date.fromisoformat(text[:10])
        if re.fullmatch(r"\d{1,2}\.\d{1,2}\.[1-9]\d{3}", text):
            return datetime.datetime.strptime(text, "%d.%m.%Y").date()
    except ValueError:
        return None
