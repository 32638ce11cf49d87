"""Locations of rows: a path, a glob or folder of many files, a table in a database, a URL.

    people.csv    parts/*.parquet    parts/ (with hive folders `year=2024`)    people.duckdb#main.people
    s3://bucket/people.parquet    https://host/people.parquet    postgresql://user@host:5432/census#public.people

They never contain secrets, which come from the environment. A displayed URL has neither its user nor its query.
"""

import os
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from sfumato.engines._text_files import DELIMITED, PARQUET
from sfumato.texts.catalogue import refusal, t

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
DATABASES = (".duckdb", ".ddb")
"""Extensions of DuckDB's files."""

SECRETS = ("password", "passwd", "pwd", "secret", "token", "sig", "signature", "sslpassword")
"""The names of secret parameters of a URL, or their endings."""

REMEDY = "secrets come from the environment: PGPASSWORD or ~/.pgpass for a database, the store's own variables else"
MANY = "*?["
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def scheme_of(source: Any) -> str | None:
    """Return the scheme of a URL in lower case, None for a path and for objects other than texts."""
    found = SCHEME.match(source) if isinstance(source, str) else None
    return found.group(1).lower() if found else None


def shown_place(source: str | Path) -> str:
    """Return the name of a source for messages, maps and certificates: a URL without its user and its parameters."""
    if scheme_of(source) is None:
        return str(Path(source))
    parts = urlsplit(str(source))
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" + (f"#{parts.fragment}" if parts.fragment else "")


def check_secrets(source: Any) -> None:
    """Raise if a URL contains a password or another secret."""
    if scheme_of(source) is None:
        return
    parts = urlsplit(str(source))
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    secret = next((name for name in names if name.lower().endswith(SECRETS)), None)
    if ":" in unquote(parts.netloc.rpartition("@")[0]) or secret is not None:
        what = "a password" if secret is None else f"a secret ({secret}=...)"
        raise refusal("url_holds", shown_place=shown_place(source), what=what, REMEDY=REMEDY)


def split_table(source: str) -> tuple[str, str | None]:
    """Split `people.duckdb#main.people` into the file and its table; other kinds of sources are returned whole."""
    file, mark, table = str(source).rpartition("#")
    if mark and (scheme_of(source) is not None or file.lower().endswith(DATABASES)):
        return file, table
    return str(source), None


def is_database(source: Any) -> bool:
    """Return whether a source is a DuckDB database or a table in one."""
    return isinstance(source, str | Path) and split_table(str(source))[0].lower().endswith(DATABASES)


def is_many(source: Any) -> bool:
    """Return whether a path is many files: a folder, or a pattern that is not the name of a file."""
    if not isinstance(source, str | Path) or scheme_of(source) is not None or is_database(source):
        return False
    try:
        is_folder, exists = Path(source).is_dir(), Path(source).exists()
    except OSError:  # a name too long for a file; opening it reports it
        return False
    return is_folder or (any(mark in str(source) for mark in MANY) and not exists)


def files_in(source: str | Path) -> list[Path]:
    """List the Parquet or CSV files of a folder or a pattern by name, without hidden ones."""
    path = Path(source)
    if path.is_dir():
        listed = [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
        where, kinds = "in this folder", [*PARQUET, *DELIMITED]
    else:
        listed = list(_matching(path))
        where, kinds = "by this pattern", []
    beneath = len(path.parts) if path.is_dir() else 0
    kept = sorted(file for file in listed if file.is_file() and not _is_hidden(file, beneath))
    files = [file for file in kept if not kinds or _ending(file) in kinds]
    if not files:
        wanted = t("notice.must_hold_files", kinds=", ".join(kinds)) if kinds else t("notice.pattern_quotes")
        raise refusal("no_file", source=source, where=where, wanted=wanted)
    odd = next((file for file in files if (_ending(file) in PARQUET) != (_ending(files[0]) in PARQUET)), None)
    if odd is not None:
        raise refusal("engines.two_kinds_of_files", source=source, files=files[0], odd=odd)
    return files


def _matching(pattern: Path) -> Iterator[Path]:
    """Return the matches of a pattern, absolute or not."""
    plain = list(takewhile(lambda part: not any(mark in part for mark in MANY), pattern.parts))
    return Path(*plain).glob("/".join(pattern.parts[len(plain) :]))


def _is_hidden(file: Path, beneath: int) -> bool:
    """Return whether a name below the folder begins like bookkeeping files: `_SUCCESS`, `.part.crc`."""
    return any(part.startswith((".", "_")) for part in file.parts[beneath or -1 :])


def _ending(file: Path) -> str:
    """Return the extension of a name, without that of compression."""
    bare = file.name.lower().removesuffix(".gz")
    return Path(bare).suffix


def partition_of(file: Path) -> dict[str, str | None]:
    """Read the folders `key=value` above a file, in hive format; its text for a missing value is None."""
    pairs = (part.split("=", 1) for part in file.parts[:-1] if "=" in part.lstrip("="))
    return {unquote(key): None if value == NO_VALUE else unquote(value) for key, value in pairs}


def input_files(source: Any) -> list[Path]:
    """List the files of a source, which no output may replace; empty if it is no local file."""
    if not isinstance(source, str | Path) or scheme_of(source) is not None:
        return []
    if is_many(source):
        return files_in(source)
    return [Path(split_table(str(source))[0])]


def beside(folder: Path, source: str) -> str:
    """Return a name relative to a folder, as in a study; a missing file keeps its name."""
    file, table = split_table(source)
    if scheme_of(source) is not None or not _is_there(folder / file):
        return source
    return str(folder / file) + ("" if table is None else f"#{table}")


def seen_from(folder: Path, source: str) -> str:
    """Return the name of a file, folder or pattern relative to a folder, so that both can be moved; a URL as it is."""
    file, table = split_table(source)
    if scheme_of(source) is not None or Path(file).is_absolute() or not _is_there(Path(file)):
        return source
    return Path(os.path.relpath(file, folder)).as_posix() + ("" if table is None else f"#{table}")


def _is_there(path: Path) -> bool:
    return path.exists() or (is_many(path) and any(_matching(path)))


def is_spark_frame(source: Any) -> bool:
    """Return whether a source is a frame of Spark, classic or Connect."""
    return any(base.__module__.startswith("pyspark.sql") for base in type(source).__mro__)


def is_server(source: object) -> bool:
    """Return whether a source is a table on a server."""
    return isinstance(source, str) and source.lower().startswith(("postgresql://", "postgres://"))
