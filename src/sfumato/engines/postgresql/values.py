"""The types of PostgreSQL, each with the one text of its values that all engines share, written in SQL.

A column is counted by a key that is equal exactly where its texts are: mostly the value itself, which the server
groups faster than texts. Types whose texts other engines cannot have (intervals, JSON, ranges, ...) are no kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from sfumato.engines.postgresql.connection import TOO_LONG, literal
from sfumato.engines.protocol import BYTES

MOST_DIGITS = 38
"""Decimals with more digits than this other engines do not tell apart."""

TEXT = "VARCHAR"


class CatalogueType(NamedTuple):
    """What the server's catalogue says of a column's type, domains replaced by what they are made of."""

    name: str
    typtype: str
    """`b` for a base type, `e` for an enumeration, ..."""

    category: str
    """`S` for texts, `A` for arrays, ..."""

    modifier: int
    """The precision and scale of decimals; -1 where there are none."""

    is_plain: bool
    """Whether the server holds two values for equal exactly where their texts are: not so where case means nothing."""

    element: CatalogueType | None
    """What an array holds."""


@dataclass(frozen=True)
class ColumnKind:
    """What a type is called here, and its values in SQL: `{}` stands for the column, `{name}` for its name."""

    name: str
    """DuckDB's name of the same type."""

    text: str = "({})::text"
    """The text of a key."""

    key: str = "({})"
    """What is equal where texts are."""

    crosses: bool = False
    """Whether single values come through Arrow as they are; others come as texts."""

    def key_of(self, value: str) -> str:
        """Write the key of a value."""
        return re.sub(r"\{(name)?\}", lambda found: literal(value) if found[1] else value, self.key)

    def text_of(self, key: str) -> str:
        """Write the text of a key."""
        return self.text.replace("{}", key)

    @property
    def is_shown_otherwise(self) -> bool:
        """Whether the key is a text, while single values come as they are."""
        return self.name in ("FLOAT", "DOUBLE")


def _float(name: str, short: str = "{}::text") -> ColumnKind:
    """Describe floating point numbers: the fewest digits that give a number back, with a point or an exponent always.

    `short` writes them by these digits, where the server's own text does not.
    """
    pointed = "CASE WHEN {0} LIKE '%.%' THEN {0} ELSE {0} || '.0' END"
    written = (
        f"CASE WHEN {{}}::text LIKE '%e+%' AND abs({{}}) < 1e16 "
        f"THEN {pointed.format(f'({short})::numeric::text')} WHEN {{}}::text LIKE '%e%' THEN {short} "
        f"WHEN {{}} = 'NaN' THEN 'nan' WHEN {{}} = 'Infinity' THEN 'inf' WHEN {{}} = '-Infinity' THEN '-inf' "
        f"ELSE {pointed.format('{}::text')} END"
    )
    return ColumnKind(name, "({})", f'(({written}) COLLATE "C")', True)


def _double() -> ColumnKind:
    """Describe numbers of 64 bits.

    The server's own shortest text has a digit too many where the shorter one lies exactly between two numbers. That is
    so only from where not all whole numbers are numbers to where no half has few digits.
    """
    tried = [f"to_char({{}}, '9.{'9' * (digits - 1)}EEEE')" for digits in (15, 16)]
    cases = " ".join(f"WHEN {text}::float8 = {{}} THEN regexp_replace(btrim({text}), '\\.?0*e', 'e')" for text in tried)
    whole = "abs({}) BETWEEN 9007199254740992 AND 1e40"
    return _float("DOUBLE", f"CASE WHEN {whole} THEN CASE {cases} ELSE {{}}::text END ELSE {{}}::text END")


def _single() -> ColumnKind:
    """Describe numbers of 32 bits: a long one is refused, by a cast that fails and says which column it is."""
    digits = "length(btrim(replace(split_part(abs({})::text, 'e', 1), '.', ''), '0'))"
    known = f"{{}} IN ('NaN', 'Infinity', '-Infinity') OR ({digits} <= 6 AND abs({{}}) < 1e7) OR {{}} IS NULL"
    plain = _float("FLOAT")
    refusal = f"((({{name}}) || '{TOO_LONG}' || {{}}::text)::int)::text"
    return replace(plain, key=f'((CASE WHEN {known} THEN {plain.key} ELSE {refusal} END) COLLATE "C")')


def _moment(name: str) -> ColumnKind:
    """Describe days and times of days: what lies before the year 1 is marked behind the day."""
    before = r"regexp_replace(({})::text, '^([^ ]+)(.*) BC$', '\1 (BC)\2')"
    return ColumnKind(name, f"CASE WHEN ({{}}) < '0001-01-01' THEN {before} ELSE ({{}})::text END")


TEXTS = ColumnKind(TEXT, "({})", '(({})::text COLLATE "C")', True)
KINDS = {
    "bool": ColumnKind("BOOLEAN", crosses=True),
    "int2": ColumnKind("SMALLINT", crosses=True),
    "int4": ColumnKind("INTEGER", crosses=True),
    "int8": ColumnKind("BIGINT", crosses=True),
    "float4": _single(),
    "float8": _double(),
    "uuid": ColumnKind("UUID"),
    "date": _moment("DATE"),
    "time": ColumnKind("TIME"),
    "timestamp": _moment("TIMESTAMP"),
    "timestamptz": _moment("TIMESTAMP WITH TIME ZONE"),
}


def kind_of(described: CatalogueType) -> ColumnKind | None:
    """Return the kind of a type; None where its values have no text that engines share."""
    if described.category == "S" or described.typtype == "e":
        return TEXTS
    if described.name == "numeric":
        return _decimal(described.modifier)
    return KINDS.get(described.name)


def _decimal(modifier: int) -> ColumnKind | None:
    """Describe decimals; without a scale each has the digits that it needs, and equal numbers have one text."""
    if modifier < 0:
        return ColumnKind(TEXT, "trim_scale({})::text")
    precision, scale = (modifier - 4) >> 16, ((modifier - 4 & 0x7FF) ^ 0x400) - 0x400
    if precision > MOST_DIGITS or not 0 <= scale <= precision:
        return None
    whole = "({})::text" if scale < precision else "regexp_replace(({})::text, '^(-?)0[.]', '\\1.')"
    return ColumnKind(f"DECIMAL({precision},{scale})", whole)


def nested_name(described: CatalogueType) -> str:
    """Name a type of several values, of bytes, or one whose texts engines do not share."""
    if described.element is not None:
        return f"{described.element.name.upper()}[]"
    return BYTES if described.name == "bytea" else described.name.upper()
