"""A database of our own: how much memory it takes, where it works when that is short, what it says when it fails."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import duckdb
import pyarrow as pa

from sfumato.engines.duckdb.grouped import literal
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError
from sfumato.runtime.cancellation import interruptible
from sfumato.runtime.memory import allowed_bytes, machine_bytes, read_size, spill_folder
from sfumato.runtime.threads import workers
from sfumato.texts.catalogue import t

BYTES_OF_A_THREAD = 1 << 30
"""Under a limit of address space DuckDB gets one thread for so much of it; each has a stack and an arena of its own."""

_stores = count()


def connect(reading: Reading | None = None) -> duckdb.DuckDBPyConnection:
    """Open a database of our own in memory, which works in a private folder where that is short."""
    connection: duckdb.DuckDBPyConnection = interruptible(duckdb.connect())
    connection.execute("SET preserve_insertion_order = true")
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET TimeZone = 'UTC'")  # an instant has one text, wherever it is read
    threads, allowed = workers(), allowed_bytes()  # DuckDB looks at the machine, and knows nothing of either
    if allowed is not None:
        threads = max(1, min(threads, allowed // BYTES_OF_A_THREAD))
    connection.execute(f"SET threads = {threads}")
    if (limit := memory_limit(reading)) is not None:
        connection.execute(f"SET memory_limit = '{limit}B'")
    folder = spill_folder(reading.spill if reading else None)
    connection.execute(f"SET temp_directory = {literal(str(folder))}")
    return connection


def memory_limit(reading: Reading | None = None) -> int | None:
    """Return how many bytes a database may hold: what is declared, or half of what there is; None: nobody knows."""
    if reading is not None and reading.memory is not None:
        return read_size("memory", reading.memory)
    there = machine_bytes()
    return None if there is None else there // 2


def use_store(connection: duckdb.DuckDBPyConnection, reading: Reading) -> Path:
    """Let tables be made in a file of the private folder, where they are compressed and need no memory."""
    path = spill_folder(reading.spill) / f"rows-{next(_stores)}.duckdb"
    connection.execute(f"ATTACH {literal(str(path))} AS store")
    connection.execute("USE store")
    return path


@contextmanager
def readable(origin: str) -> Iterator[None]:
    """Say in a sentence that a source cannot be read; a lack of memory or of disk is none of its faults."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException) as error:
        first = str(error).splitlines()[0]
        raise _lack(error) or BadInputError(f"{origin}: the file cannot be read ({first})") from None


def unwritable(error: Exception) -> Exception:
    """Say that a file cannot be written, as the operating system does."""
    number = re.search(r'"errno":"(\d+)"', str(error))
    if number is not None:
        return OSError(int(number[1]), os.strerror(int(number[1])))
    return _lack(error) or OSError(str(error).splitlines()[0])


def _lack(error: Exception) -> Exception | None:
    """Return a lack of memory as Python has it; DuckDB passes on what it met while it read a frame of ours."""
    text = str(error)
    if "temporary" in text.lower() and ("space" in text or "temp_directory" in text):
        return BadInputError(t("engines.no_room_to_spill"))
    lacking = isinstance(error, duckdb.OutOfMemoryException | pa.ArrowMemoryError) or "MemoryError" in text
    return MemoryError(text) if lacking else None
