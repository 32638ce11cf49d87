"""Numbers and dates as people write them, in texts of a server: found out here, from the distinct texts of a column.

A few rows say which columns may be such; of these the distinct texts come with their counts, are read as those of a
file are, and what reads otherwise than it is written goes up as a temporary table of both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from sfumato.engines.duckdb.connections import connect
from sfumato.engines.duckdb.written_values import LOOKED_AT, MEASURED, settle
from sfumato.engines.notations import is_iso, looks_measured
from sfumato.engines.postgresql.session import Session
from sfumato.engines.postgresql.source import ServerRelation
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError

NOWHERE = re.compile(r", row \d+ \(the header not counted\)")
"""Rows of a server have no numbers."""


@dataclass(frozen=True)
class Read:
    """How texts of columns are read: by the number of a column the table of what is read otherwise than written."""

    tables: Mapping[int, str] = field(default_factory=dict)
    notations: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def settled(session: Session, source: ServerRelation, reading: Reading) -> Read:
    """Find out how the columns of texts are to be read."""
    reading.check_columns(source.names)
    names, texts, rows = source.names, source.texts, source.rows()
    looked = [place for place in texts if names[place] not in reading.as_written]
    asked = [names.index(name) for name in reading.decided]
    places = sorted({*_measured(session, looked, rows), *asked})
    if not places:
        return Read()
    with connect(reading) as local:
        for number, place in enumerate(places):
            statement = f"SELECT c{place} AS t, count(*) AS n FROM {rows} WHERE c{place} IS NOT NULL GROUP BY 1"
            nothing = pa.table({"t": pa.nulls(0, pa.int64()), "n": pa.nulls(0, pa.int64())})
            local.register(f"distinct{number}", session.query(statement) if place in texts else nothing)
        numbers = range(len(places))
        listed = [f"(SELECT t AS c{i} FROM distinct{i}, range(n) AS r(turn) ORDER BY turn, t)" for i in numbers]
        local.execute(f"CREATE TABLE rows AS SELECT * FROM {' POSITIONAL JOIN '.join(listed)}")
        try:
            asking = replace(reading, as_written=())
            found = settle(local, [names[place] for place in places], asking, trims=False, values={})
        except BadInputError as error:
            raise BadInputError(NOWHERE.sub("", str(error))) from None
        tables = {}
        for column, expression in found.expressions.items():
            place = places[int(column[1:])]
            tables[place] = f"notation{place}"
            changed = f"SELECT DISTINCT {column} AS written, {expression} AS shown FROM rows WHERE shown <> {column}"
            session.upload(tables[place], local.sql(changed).to_arrow_table())
    return Read(tables, found.notations, found.notices)


def _measured(session: Session, texts: Sequence[int], rows: str) -> list[int]:
    """List the columns that may hold numbers or dates, by their first rows; ISO dates need no reading."""
    if not texts:
        return []
    few = session.query(f"SELECT {', '.join(f'c{place}' for place in texts)} FROM {rows} LIMIT {LOOKED_AT}")
    measured = []
    for place, column in zip(texts, few.columns, strict=True):
        seen = {text for text in column.unique().to_pylist() if text is not None}
        if seen and sum(map(looks_measured, seen)) >= MEASURED * len(seen) and not is_iso(seen):
            measured.append(place)
    return measured
