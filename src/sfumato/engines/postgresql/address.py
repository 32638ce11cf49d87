"""Where a table on a server is: `postgresql://user@host:5432/census#schema.table`.

Before the `#` stands what libpq takes, with all its parameters but secrets; behind it the table as SQL writes names,
except that a name without quotes is taken exactly as it stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sfumato.errors import BadInputError

SCHEMES = ("postgresql://", "postgres://")
NAME = r'"(?:[^"]|"")+"|[^".]+'
TABLE = re.compile(rf"(?:({NAME})\.)?({NAME})", re.DOTALL)


@dataclass(frozen=True)
class Address:
    """A server's database, and a table in it; without a schema it is the table that the role sees by this name."""

    uri: str
    schema: str | None
    table: str


def is_address(source: object) -> bool:
    """Say whether a source is a table on a server."""
    return isinstance(source, str) and source.lower().startswith(SCHEMES)


def address_of(source: str, origin: str) -> Address:
    """Read an address."""
    uri, mark, table = source.partition("#")
    parts = TABLE.fullmatch(table)
    if parts is None:
        wrong = f"{table!r} names no table" if mark else "it does not say which table"
        raise BadInputError(
            f"{origin}: {wrong}; write postgresql://host/database#schema.table, names that hold a point or quotes in "
            'double quotes, such as "my.schema"."a ""table"""'
        )
    schema, name = (None if part is None else _bare(part) for part in parts.groups())
    assert name is not None
    return Address(uri, schema, name)


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
