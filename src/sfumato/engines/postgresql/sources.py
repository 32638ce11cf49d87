"""A table or view on a server: its columns, their kinds, its rows in SQL, and the notations of its texts.

A few rows show which columns of texts may contain numbers or dates. The distinct texts of these are fetched with their
counts and parsed like those of a file; those that change are uploaded as a temporary table of both forms.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from sfumato.engines._headers import checked_header
from sfumato.engines.duckdb.sources import connect
from sfumato.engines.duckdb.values import LOOKED_AT, MEASURED, settle
from sfumato.engines.notations import is_iso, looks_measured
from sfumato.engines.postgresql.connection import Address, Session, literal, quoted
from sfumato.engines.postgresql.grouped import columns_of, relation_of
from sfumato.engines.postgresql.values import TEXTS, CatalogueType, ColumnKind, kind_of
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import refusal, t

SAMPLED = ("r", "p", "m")
"""The kinds of relations of which the server can sample rows."""


@dataclass(frozen=True)
class ServerRelation:
    """A relation: columns have the names c0, c1, ..., as keys that are equal if texts are; raw floats are v0, ..."""

    relation: str
    relkind: str
    names: tuple[str, ...]
    stored: tuple[str, ...]
    """The names of the columns on the server."""

    described: tuple[CatalogueType, ...]
    missing: tuple[str, ...]
    """Texts that mean a missing value."""

    @cached_property
    def kinds(self) -> tuple[ColumnKind | None, ...]:
        """The kind of each column; None if its values have no common text of all engines."""
        return tuple(map(kind_of, self.described))

    @property
    def texts(self) -> list[int]:
        """The columns of texts, by index."""
        return [place for place, kind in enumerate(self.kinds) if kind is TEXTS]

    def rows(self, notations: Mapping[int, str] | None = None, sampled: str = "") -> str:
        """Return the rows for a FROM clause; columns with a table of notations are converted by it."""
        notations = notations or {}
        listed, joins = [], []
        for place, (name, kind) in enumerate(zip(self.stored, self.kinds, strict=True)):
            value = f"t.{quoted(name)}"
            key = value if kind is None else self._present(kind, value)
            if place in notations:
                table = f"pg_temp.{notations[place]}"
                joins.append(f"LEFT JOIN {table} AS n{place} ON n{place}.written = {key}")
                key = f'(coalesce(n{place}.shown, {key}) COLLATE "C")'
            listed.append(f"{key} AS c{place}")
            if kind is not None and kind.is_shown_otherwise:
                listed.append(f"CASE WHEN {key} IS NOT NULL THEN {value} END AS v{place}")
        return f"(SELECT {', '.join(listed)} FROM {self.relation} AS t {sampled} {' '.join(joins)}) AS rows"

    def counted(self, places: Sequence[int]) -> str:
        """Return the query that counts tuples of stored values, with their texts t0, t1, ...

        The server knows the distribution of stored values, and groups them faster than expressions. If several values
        mean a missing one, a tuple of texts occurs more than once.
        """
        stored, texts = [], []
        for i, place in enumerate(places):
            kind, value = self.kinds[place], f"t.{quoted(self.stored[place])}"
            assert kind is not None
            plain = self.described[place].is_plain and not kind.is_shown_otherwise
            stored.append(value if plain else self._present(kind, value))
            key = self._present(kind, f"rows.r{i}") if plain else f"rows.r{i}"
            texts.append(f"{kind.text_of(key)} AS t{i}")
        listed = ", ".join(f"{value} AS r{i}" for i, value in enumerate(stored))
        keys = ", ".join(str(i + 1) for i in range(len(places)))
        inner = f"SELECT {listed}, count(*) AS n FROM {self.relation} AS t GROUP BY {keys}"
        return f"SELECT {', '.join(texts)}, n FROM ({inner}) AS rows"

    def _present(self, kind: ColumnKind, value: str) -> str:
        """Return the key of a value; null if its text means missing."""
        key = kind.key_of(value)
        texts = [text for text in self.missing if "\0" not in text and (text or kind is TEXTS)]
        if not texts:
            return key
        if texts == [""]:
            return f"nullif({key}, '')"
        return f"CASE WHEN {kind.text_of(key)} IN ({', '.join(map(literal, texts))}) THEN NULL ELSE {key} END"


def find_source(session: Session, address: Address, reading: Reading) -> ServerRelation:
    """Find a table on the server, and its columns."""
    found = session.query(relation_of(address.schema, address.table)).to_pylist()
    if not found:
        schema = t("notice.role_sees") if address.schema is None else t("notice.schema", schema=address.schema)
        raise refusal("engines.no_table", origin=reading.origin, table=address.table, schema=schema)
    relation = f"{quoted(found[0]['schema'])}.{quoted(address.table)}"
    table = session.query(columns_of(found[0]["oid"]))
    described = [_described(row) for row in zip(*(column.to_pylist() for column in table.columns[1:]), strict=True)]
    stored = tuple(table[0].to_pylist())
    if not stored:
        raise BadInputError(
            f"{reading.origin}: the role may read no column of it; let its owner GRANT SELECT ON {address.table}"
        )
    if reading.columns and len(reading.columns) != len(stored):
        raise refusal("names_given_sources", origin=reading.origin, columns=len(reading.columns), stored=len(stored))
    names = checked_header(reading.origin, tuple(reading.columns) or stored)
    return ServerRelation(relation, found[0]["kind"], names, stored, tuple(described), reading.missing)


def _described(row: Sequence[str | int | None]) -> CatalogueType:
    """Return the catalogue's type of a column, and of the elements of an array."""
    name, typtype, category, modifier, plain, *held = row
    element = None if held[0] is None else CatalogueType(str(held[0]), str(held[1]), str(held[2]), -1, True, None)
    return CatalogueType(str(name), str(typtype), str(category), int(modifier or 0), bool(plain), element)


NOWHERE = re.compile(r", row \d+ \(the header not counted\)")
"""The place of a row in messages; rows of a server have no numbers."""


@dataclass(frozen=True)
class Read:
    """How texts of columns are parsed: by column index, the table of converted texts."""

    tables: Mapping[int, str] = field(default_factory=dict)
    notations: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def settled(session: Session, source: ServerRelation, reading: Reading) -> Read:
    """Determine how the columns of texts are parsed."""
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
            found = settle(local, [names[place] for place in places], asking, trims=False, values={}, counted={})
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
    """List the columns that may contain numbers or dates, by their first rows; ISO dates need no conversion."""
    if not texts:
        return []
    few = session.query(f"SELECT {', '.join(f'c{place}' for place in texts)} FROM {rows} LIMIT {LOOKED_AT}")
    measured = []
    for place, column in zip(texts, few.columns, strict=True):
        seen = {text for text in column.unique().to_pylist() if text is not None}
        if seen and sum(map(looks_measured, seen)) >= MEASURED * len(seen) and not is_iso(seen):
            measured.append(place)
    return measured
