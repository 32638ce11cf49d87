"""A connection to a server, in one transaction, so that all reads see the same rows.

Values are received as Arrow, and sent to temporary tables, which the server deletes with the connection. Errors become
a sentence without the user's name and without the statement.

The address of a table is `postgresql://user@host:5432/census#schema.table`. Before the `#` is libpq's syntax, with all
its parameters but secrets; after it the table as in SQL, except that an unquoted name is case-sensitive.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import RLock
from typing import Any

import pyarrow as pa

from sfumato.engines.protocol import LONG_FLOAT
from sfumato.errors import BadInputError
from sfumato.runtime.cancellation import interruptible
from sfumato.texts.catalogue import refusal, t

SETTINGS = {
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "timezone": "UTC",
    "datestyle": "ISO",
    "extra_float_digits": "1",
    "idle_in_transaction_session_timeout": "0",
    "synchronize_seqscans": "off",
}
"""Settings for a unique text per value, long pauses between queries, and equal samples of rows."""

LOST = ("08", "57P")
"""The first characters of error codes of a lost connection."""

LOST_WORDS = ("terminating connection", "closed the connection", "no connection", "SSL SYSCALL", "could not receive")
READ_ONLY = "25006"
TOO_LONG = " holds a long 32-bit number: "
"""Text between a column and its number in the server's error about a number that is too long."""

INSTALL = 'pip install "sfumato[postgresql]"'


def quoted(name: str) -> str:
    """Return the name of a column or table in SQL, with any characters."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text in SQL; a text of a server never contains the character 0, so nothing equals one that does."""
    return "'" + text.replace("'", "''") + "'"


class Session:
    """A connection with its queries, one at a time."""

    def __init__(self, uri: str, origin: str) -> None:
        self.origin = origin
        self._lock = RLock()
        self._running: Any = None
        driver = _driver()
        self._errors = (driver.Error, pa.ArrowException)
        try:
            self._connection = driver.connect(uri, autocommit=True)
        except driver.Error as error:
            raise refusal("server_cannot_reached", origin=origin, reason=_reason(error)) from None
        interruptible(self)
        for name, value in SETTINGS.items():
            self.execute(f"SET {name} = '{value}'")
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")

    def query(self, statement: str) -> pa.Table:
        """Return the result of a query as a table."""
        with self._asking() as cursor:
            cursor.execute(statement)
            table: pa.Table = cursor.fetch_arrow_table()
            return table

    def execute(self, statement: str) -> None:
        """Execute a statement without a result."""
        with self._asking() as cursor:
            cursor.execute(statement)

    @contextmanager
    def stream(self, statement: str) -> Iterator[pa.RecordBatchReader]:
        """Return the rows of a query as a stream; errors on the way are translated."""
        failed: list[Exception] = []
        with self._asking() as cursor:
            cursor.execute(statement)
            rows = cursor.fetch_record_batch()
            try:
                yield pa.RecordBatchReader.from_batches(rows.schema, _watched(rows, failed))
            except Exception as error:
                raise (self.as_error(failed[0]) if failed else error) from None

    def upload(self, name: str, content: pa.Table) -> None:
        """Upload a table as a temporary one."""
        with self._asking() as cursor:
            cursor.adbc_ingest(name, content, mode="create", temporary=True)
        self.execute(f"ANALYZE pg_temp.{name}")

    def interrupt(self) -> None:
        """Cancel the running query, from another thread."""
        cursor = self._running
        if cursor is not None:
            cursor.adbc_cancel()

    def close(self) -> None:
        """Close the connection; the server deletes the temporary tables."""
        with suppress(Exception):
            self._connection.close()

    def __del__(self) -> None:
        if hasattr(self, "_connection"):
            self.close()

    @contextmanager
    def _asking(self) -> Iterator[Any]:
        with self._lock:
            try:
                with self._connection.cursor() as cursor:
                    self._running = cursor
                    yield cursor
            except self._errors as error:
                raise self.as_error(error) from None
            finally:
                self._running = None

    def as_error(self, error: Exception) -> BadInputError | MemoryError:
        """Return the error of a server or of the connection as a sentence."""
        if isinstance(error, pa.ArrowMemoryError):
            return MemoryError(str(error))
        if (long := re.search(rf'(\w+|"(?:[^"]|"")*"){TOO_LONG}', str(error))) is not None:
            name = long[1].removeprefix('"').removesuffix('"').replace('""', '"')
            return BadInputError(f"{self.origin}: column {name!r} holds {LONG_FLOAT}")
        code, reason = getattr(error, "sqlstate", None) or "", _reason(error)
        if code.startswith(LOST) or any(words in str(error) for words in LOST_WORDS):
            return BadInputError(t("engines.connection_lost", origin=self.origin, reason=reason))
        if code == READ_ONLY or "temporary" in reason:
            return BadInputError(t("engines.no_temporary_tables", origin=self.origin, reason=reason))
        remedy = "; let its owner GRANT SELECT on it" if "permission denied" in reason else ""
        return BadInputError(t("notice.server_cannot_answer", origin=self.origin, reason=reason, remedy=remedy))


def _watched(rows: pa.RecordBatchReader, failed: list[Exception]) -> Iterator[pa.RecordBatch]:
    """Pass batches on, and store errors on the way."""
    try:
        yield from rows
    except Exception as error:
        failed.append(error)
        raise


def _driver() -> Any:
    """Load the Arrow driver, if it is installed."""
    try:
        import adbc_driver_postgresql.dbapi as driver
    except ImportError:
        raise refusal("postgresql_read_through_arrow", INSTALL=INSTALL) from None
    return driver


def _reason(error: Exception) -> str:
    """Return the server's message from a driver's error, without statement, user or secrets."""
    text = re.split(r"\s*Query was:|\s*LINE \d+:|\nDETAIL:|\nHINT:|\nCONTEXT:", str(error))[0]
    said = re.search(r"(?:ERROR|FATAL|PANIC):\s+(.*)", text)
    text = said[1] if said else " ".join(text.split())
    text = re.sub(r"(?:for )?(user|role) \"[^\"]*\"", r"for this \1", text)
    for secret in filter(None, (os.environ.get("PGPASSWORD"),)):
        text = text.replace(secret, "...")
    return text.strip().rstrip(".")


NAME = r'"(?:[^"]|"")+"|[^".]+'
TABLE = re.compile(rf"(?:({NAME})\.)?({NAME})", re.DOTALL)


@dataclass(frozen=True)
class Address:
    """A server's database, and a table in it; without a schema the table that the role finds by this name."""

    uri: str
    schema: str | None
    table: str


def address_of(source: str, origin: str) -> Address:
    """Parse an address."""
    uri, mark, table = source.partition("#")
    parts = TABLE.fullmatch(table)
    if parts is None:
        wrong = t("notice.names_no_table", table=table) if mark else t("notice.not_say_table")
        raise refusal("engines.bad_address", origin=origin, wrong=wrong)
    schema, name = (None if part is None else _bare(part) for part in parts.groups())
    assert name is not None
    return Address(uri, schema, name)


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
