"""The types of PostgreSQL, with the common text of their values of all engines, in SQL.

A column is counted by a key that is equal exactly if its texts are: mostly the value itself, which the server groups
faster than texts. Types without a common text (intervals, JSON, ranges, ...) have no kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from sfumato.engines.postgresql.connection import TOO_LONG, literal
from sfumato.engines.protocol import BYTES

MOST_DIGITS = 38
"""The most digits of decimals that other engines distinguish."""

TEXT = "VARCHAR"


class CatalogueType(NamedTuple):
    """The type of a column in the server's catalogue, with domains replaced by their bases."""

    name: str
    typtype: str
    """`b` for a base type, `e` for an enumeration, ..."""

    category: str
    """`S` for texts, `A` for arrays, ..."""

    modifier: int
    """The precision and scale of decimals; -1 without these."""

    is_plain: bool
    """Whether two values are equal for the server exactly if their texts are; not so for case-insensitive types."""

    element: CatalogueType | None
    """The type of an array's elements."""


@dataclass(frozen=True)
class ColumnKind:
    """A type's name, and its values in SQL: `{}` is replaced by the column, `{name}` by its name."""

    name: str
    """DuckDB's name of the same type."""

    text: str = "({})::text"
    """The text of a key."""

    key: str = "({})"
    """The key, which is equal exactly if texts are."""

    crosses: bool = False
    """Whether single values are transferred through Arrow unchanged; others are transferred as texts."""

    def key_of(self, value: str) -> str:
        """Write the key of a value."""
        return re.sub(r"\{(name)?\}", lambda found: literal(value) if found[1] else value, self.key)

    def text_of(self, key: str) -> str:
        """Write the text of a key."""
        return self.text.replace("{}", key)

    @property
    def is_shown_otherwise(self) -> bool:
        """Whether the key is a text, while single values are transferred unchanged."""
        return self.name in ("FLOAT", "DOUBLE")


def _float(name: str, short: str = "{}::text") -> ColumnKind:
    """Describe floating point numbers: the fewest digits that give a number back, always with a point or an exponent.

    `short` writes these digits where the server's own text does not.
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

    The server's shortest text has a digit too many if the shorter one is exactly between two numbers. This is possible
    only above the range of exact whole numbers and below the range where halves have many digits.
    """
    tried = [f"to_char({{}}, '9.{'9' * (digits - 1)}EEEE')" for digits in (15, 16)]
    cases = " ".join(f"WHEN {text}::float8 = {{}} THEN regexp_replace(btrim({text}), '\\.?0*e', 'e')" for text in tried)
    whole = "abs({}) BETWEEN 9007199254740992 AND 1e40"
    return _float("DOUBLE", f"CASE WHEN {whole} THEN CASE {cases} ELSE {{}}::text END ELSE {{}}::text END")


def _single() -> ColumnKind:
    """Describe numbers of 32 bits: a long one is refused, by a failing cast that names the column."""
    digits = "length(btrim(replace(split_part(abs({})::text, 'e', 1), '.', ''), '0'))"
    known = f"{{}} IN ('NaN', 'Infinity', '-Infinity') OR ({digits} <= 6 AND abs({{}}) < 1e7) OR {{}} IS NULL"
    plain = _float("FLOAT")
    refusal = f"((({{name}}) || '{TOO_LONG}' || {{}}::text)::int)::text"
    return replace(plain, key=f'((CASE WHEN {known} THEN {plain.key} ELSE {refusal} END) COLLATE "C")')


def _moment(name: str) -> ColumnKind:
    """Describe days and times of days: a mark after the day means before the year 1."""
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
    """Return the kind of a type; None if its values have no common text of all engines."""
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
    """Return the name of a type of several values, of bytes, or without a common text."""
    if described.element is not None:
        return f"{described.element.name.upper()}[]"
    return BYTES if described.name == "bytea" else described.name.upper()
