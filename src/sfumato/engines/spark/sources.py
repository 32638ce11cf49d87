"""Opening a source in Spark: the user's own frame, a table by its name, or files by a path or pattern.

The session is the user's, classic or Spark Connect; without one, a session is started (`SPARK_REMOTE` is the address of
a Connect server). Its settings are restored after use. Errors of Spark become a sentence.
"""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.engines._headers import checked_header
from sfumato.engines._text_files import DELIMITED, PARQUET, existing_file, sniff
from sfumato.engines.duckdb.sources import check_header, check_parquet_files
from sfumato.engines.locations import files_in, is_many, is_spark_frame, partition_of, scheme_of
from sfumato.engines.notations import BLANKS, is_iso, is_plain, looks_measured
from sfumato.engines.protocol import BYTES, Reading
from sfumato.engines.spark.values import bare, has_text, literal, missing_value
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import refusal, t

NEEDED = 'rows in Spark need pyspark; install it (pip install "sfumato[spark]")'
LOOKED_AT = 1000
MEASURED = 0.3
"""The least share of numbers or dates among the sampled texts of such a column."""

LOST = (
    "the Spark session ended while it worked on {origin}; start it again and repeat the command: measured results are "
    "kept, and no incomplete file was renamed"
)
GONE = (
    "stopped SparkContext",
    "SparkContext was shut down",
    "UNAVAILABLE",
    "SESSION_CLOSED",
    "session is closed",
    "Answer from Java side is empty",
    "Py4JNetworkError",
    "Connection refused",
    "Connection reset",
    "while trying to connect to the Java server",
    "NO_ACTIVE_SESSION",
    "closed channel",
    "Channel closed",
)
"""Texts in errors about a lost session."""

QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "UTC",
}
"""Settings of a session that we start; errors are sentences instead of Java's stack traces."""


def session() -> Any:
    """Return the present session, or start one like `pyspark`."""
    try:
        with _without_warnings():
            from pyspark.sql import SparkSession  # slow to import, and needed for Spark alone
    except ImportError:
        raise BadInputError(NEEDED) from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    with reported_errors("Spark"), _without_warnings():
        builder = SparkSession.builder.appName("sfumato")
        for name, value in () if "SPARK_REMOTE" in os.environ else QUIET.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Suppress Spark's warnings about versions of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@contextmanager
def reported_errors(origin: str) -> Iterator[None]:
    """Turn errors of Spark, including a lost session, into a sentence."""
    try:
        yield
    except Exception as error:
        rooms = {base.__module__.partition(".")[0] for base in type(error).__mro__}
        if not rooms & {"pyspark", "py4j", "grpc"} and not isinstance(error, ConnectionError | EOFError):
            raise
        raise _translated(origin, error) from None


def _translated(origin: str, error: Exception) -> Exception:
    text = str(error)
    if isinstance(error, ConnectionError | EOFError) or any(mark in f"{type(error)} {text}" for mark in GONE):
        return BadInputError(LOST.format(origin=origin))
    if "OutOfMemoryError" in text or "spark.driver.maxResultSize" in text:
        return MemoryError(text)
    said = text.partition("USER_RAISED_EXCEPTION]")[2] or text.partition("Caused by: ")[2] or text
    sentence = said.strip().splitlines()[0].partition(" SQLSTATE:")[0]
    if ".NO_HINT]" in sentence:  # why it could not be read stands at the end
        sentence += f" {text.rpartition('Caused by: ')[2].strip().splitlines()[0]}"
    return BadInputError(t("notice.spark_cannot_read", origin=origin, sentence=sentence))


@contextmanager
def settings(spark: Any, wanted: Mapping[str, str]) -> Iterator[None]:
    """Work under some settings, and restore the former ones."""
    before = {name: spark.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


@dataclass(frozen=True)
class LoadedFrame:
    """A source: its frame with columns c0, c1, ... and missing values as NULL, their names and types, notices."""

    frame: Any
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    """As Spark writes them."""

    typed: bool
    notices: tuple[str, ...] = ()


def load(source: Any, reading: Reading) -> LoadedFrame:
    """Open a source; only the heads of files and a sample of columns of texts are read."""
    _check_reading(reading)
    if not is_spark_frame(source) and not isinstance(source, str | Path):
        raise refusal("engines.frame_in_memory", origin=reading.origin)
    frame, header, notices = (source, None, ()) if is_spark_frame(source) else _opened(str(source), reading)
    text = header is not None
    names = checked_header(reading.origin, tuple(reading.columns) or header or tuple(frame.columns))
    if len(names) != len(frame.columns):
        raise refusal("names_given_2", origin=reading.origin, names=len(names), columns=len(frame.columns))
    reading.check_columns(names)
    frame = frame.toDF(*(f"c{i}" for i in range(len(names))))
    kinds = tuple(field.dataType.simpleString() for field in frame.schema.fields)
    frame = frame.selectExpr(*_columns(names, kinds, reading, text))
    if reading.settles:
        _check_notations(frame, names, kinds, reading)
    return LoadedFrame(frame, names, kinds, not text, tuple(notices))


def _check_reading(reading: Reading) -> None:
    """Raise if a reading option is not supported by Spark."""
    wanted = {
        "--decimal-comma": reading.decimal_comma,
        "--decimal-point": reading.decimal_point,
        "--dates": reading.dates,
        "--sheet": reading.sheet,
        "--header-row": reading.header_row,
        "--escaped-formulas": reading.escaped,
        "--memory": reading.memory,
        "--spill": reading.spill,
    }
    for option, value in wanted.items():
        if value:
            raise refusal("engines.not_for_spark", origin=reading.origin, option=option)
    if reading.layout == "lines":
        raise refusal("lines_items_not_read", origin=reading.origin)


def _opened(source: str, reading: Reading) -> tuple[Any, tuple[str, ...] | None, Sequence[str]]:
    """Open files or a table by its name; return the names of columns for text files, whose values are texts."""
    local = scheme_of(source) is None and (Path(source).exists() or is_many(source))
    if not local and scheme_of(source) is None and not source.lower().endswith((*PARQUET, *DELIMITED)):
        return session().table(source), None, ()
    many = is_many(source)
    files = files_in(source) if many else [Path(source)]
    for file in files if local or scheme_of(source) is None else ():
        existing_file(file)
    if files[0].suffix.lower() not in DELIMITED and files[0].suffix.lower() != ".gz":
        if many:
            check_parquet_files(files)
        return (_read(files, "parquet", {}) if local else session().read.parquet(source)), None, ()
    if not local:
        raise refusal("engines.remote_text", origin=reading.origin)
    return _opened_text(files, many, reading)


def _read(files: Sequence[Path], format: str, options: Mapping[str, Any]) -> Any:
    """Read local files together: `key=value` folders are columns of texts, as with every engine."""
    base = Path("/") if files[0].is_absolute() else Path()
    reader = session().read.format(format).options(**options, basePath=str(base.absolute()))
    with settings(session(), {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}):
        return reader.load([str(file.absolute()) for file in files])


def _opened_text(files: Sequence[Path], many: bool, reading: Reading) -> tuple[Any, tuple[str, ...], Sequence[str]]:
    """Open text files, every value a text; all must have the format of the first one."""
    texts = []
    for file in files:
        text, rewrite = sniff(file, reading)
        if rewrite or not text.header.stands or text.skipped != 1:
            raise refusal("engines.text_for_spark", file=file)
        texts.append(text)
    first, keys = texts[0], tuple(partition_of(files[0]) if many else ())
    for text in texts:
        check_header(first, text, keys, tuple(partition_of(text.path) if many else ()))
        if (text.delimiter, text.encoding) != (first.delimiter, first.encoding):
            raise refusal("engines.other_delimiter", path=text.path, path_2=first.path)
    options = {"header": True, "sep": first.delimiter, "encoding": first.encoding, "quote": '"', "escape": '"'}
    options |= {"multiLine": True, "inferSchema": False, "nullValue": "", "emptyValue": "", "mode": "FAILFAST"}
    blanks = {"ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False, "enforceSchema": False}
    return _read(files, "csv", options | blanks), (*first.header.names, *keys), first.header.notices


def _columns(names: Sequence[str], kinds: Sequence[str], reading: Reading, text: bool) -> list[str]:
    """Write every column with missing values as NULL: of text files without blanks, unless it stays as written."""
    listed = []
    for i, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        column = f"c{i}"
        if kind != "string" and bare(kind) == "string":
            column = f"CAST(collate({column}, 'UTF8_BINARY') AS STRING)"
        if text and reading.settles and name not in reading.as_written:
            column = f"trim(BOTH {literal(BLANKS)} FROM {column})"
        if missing := [written for text in reading.missing if (written := missing_value(text, kind)) is not None]:
            column = f"CASE WHEN coalesce({column} IN ({', '.join(missing)}), false) THEN NULL ELSE {column} END"
        listed.append(f"{column} AS c{i}")
    return listed


def _check_notations(frame: Any, names: Sequence[str], kinds: Sequence[str], reading: Reading) -> None:
    """Raise where a column of texts has numbers or dates as people write them, which DuckDB would read."""
    texts = [i for i, kind in enumerate(kinds) if bare(kind) == "string" and names[i] not in reading.as_written]
    if not texts:
        return
    sets = frame.limit(LOOKED_AT).selectExpr(*(f"collect_set(c{i}) AS c{i}" for i in texts))
    for i, values in zip(texts, collected(sets).columns, strict=True):
        found = values[0].as_py() or []
        odd = [text for text in found if looks_measured(text) and not is_plain([text]) and not is_iso([text])]
        if len(odd) >= MEASURED * max(1, len(found)) and odd:
            raise refusal("engines.notations_in_spark", origin=reading.origin, names=names[i], odd=min(odd))


def nested_kind(kind: str) -> str | None:
    """Name the type of a column of several values a row, or of bytes, as the protocol does; None for all others."""
    if bare(kind) == "binary":
        return BYTES
    if kind.startswith("array<"):
        return kind[6:-1].upper() + "[]"
    return None if has_text(kind) else kind.upper()


def collected(frame: Any) -> Any:
    """Bring what a query gives to Python: the one door through which anything comes out of Spark."""
    return frame.toArrow()
