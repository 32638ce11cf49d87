"""Opening files: which format, which delimiter, which columns; and sentences for what cannot be read."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import BadInputError

DELIMITERS = ",;\t|"
SNIFFED = 1 << 20
"""How many bytes of a text file are looked at to find its delimiter and header."""

READERS = {
    ".parquet": "read_parquet",
    ".pq": "read_parquet",
    ".json": "read_json_auto",
    ".jsonl": "read_json_auto",
    ".ndjson": "read_json_auto",
}
"""DuckDB's reader for each file ending; everything else is read as delimited text."""


@dataclass(frozen=True)
class DelimitedText:
    """How a text file is to be read."""

    delimiter: str
    header: tuple[str, ...]


def existing_file(path: Path) -> Path:
    """Return the path if it is a file with something in it."""
    if not path.exists():
        raise BadInputError(f"{path}: there is no such file")
    if path.is_dir():
        raise BadInputError(f"{path}: this is a folder; give a file")
    if path.stat().st_size == 0:
        raise BadInputError(f"{path}: the file is empty")
    return path


def sniff(path: Path, encoding: str, delimiter: str | None) -> DelimitedText:
    """Find delimiter and header of a text file from its beginning."""
    opened = _open_text(path, encoding)
    with opened as stream:
        try:
            sample = stream.read(SNIFFED)
        except (UnicodeDecodeError, UnicodeError):
            raise _undecodable(path, encoding) from None
    if len(sample) == SNIFFED:
        sample = sample[: sample.rfind("\n") + 1] or sample
    if not sample.strip():
        raise BadInputError(f"{path}: the file is empty")
    if "\x00" in sample:
        raise BadInputError(f"{path}: this is not a text file (it has zero bytes); is it UTF-16 (--encoding utf-16)?")
    chosen = delimiter or _delimiter(sample)
    header = next(csv.reader(io.StringIO(sample, newline=""), delimiter=chosen))
    return DelimitedText(chosen, tuple(header))


def _open_text(path: Path, encoding: str) -> io.TextIOBase:
    import gzip

    name = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        "".encode(name)
        if path.suffix == ".gz":
            return gzip.open(path, "rt", encoding=name, newline="")
        return path.open(encoding=name, newline="")
    except LookupError:
        raise BadInputError(f"unknown encoding {encoding!r}; try utf-8, latin-1 or utf-16") from None
    except OSError as error:
        raise BadInputError(f"{path}: cannot be opened ({error.strerror})") from None


def _undecodable(path: Path, encoding: str) -> BadInputError:
    """Name the line of the first bytes that are not text in this encoding."""
    line = 0
    for line, raw in enumerate(path.read_bytes().split(b"\n"), start=1):
        try:
            raw.decode(encoding)
        except UnicodeDecodeError:
            break
    return BadInputError(
        f"{path}, line {line}: the bytes are not {encoding} text; name the encoding (--encoding latin-1)"
    )


def _delimiter(sample: str) -> str:
    """Choose the delimiter under which most records have as many fields as the header, and more than one."""
    best, best_score = ",", (0.0, 0)
    for candidate in DELIMITERS:
        records = []
        for record in csv.reader(io.StringIO(sample, newline=""), delimiter=candidate):
            records.append(len(record))
            if len(records) == 200:
                break
        fields = records[0]
        agree = sum(count == fields for count in records) / len(records)
        if fields > 1 and (agree, fields) > best_score:
            best, best_score = candidate, (agree, fields)
    return best


def checked_header(origin: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names if each stands once."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if name in seen:
            raise BadInputError(
                f"{origin}: the column {name!r} stands twice, as columns {seen[name]} and {position}; rename one"
            )
        seen[name] = position
    return names


def explained(path: Path, message: str, fields: int) -> BadInputError:
    """Turn DuckDB's account of a broken text file into one sentence."""
    found = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"{path}, line {found.group(1)}" if found else str(path)
    number = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if number:
        return BadInputError(
            f"{where}: {number.group(2)} fields where the header has {fields}; "
            "correct the line, or name the delimiter (--delimiter) if it was guessed wrongly"
        )
    if "unicode" in message or "not utf-8" in message:
        return BadInputError(f"{where}: the bytes are not UTF-8 text; name the encoding (--encoding latin-1)")
    if "unterminated quote" in message or "quote" in message.split("Possible")[0].lower():
        return BadInputError(f"{where}: a quoted field does not end; correct the line")
    return BadInputError(f"{where}: the file cannot be read ({message.splitlines()[0]})")
