"""Text files before they are loaded: encoding, delimiter and header, with sentences for errors.

The encoding, if it is not given: UTF-8 if all bytes are valid, else UTF-16, cp1252 or latin-1. The whole file is read
in pieces. The bytes 80 to 9f distinguish cp1252 from latin-1: in cp1252 they are the euro sign and typographic quotes,
in latin-1 unused characters. Five of them are undefined in both, so a file with one of these is not guessed.
"""

import codecs
import csv
import gzip
import io
import re
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Any

from sfumato.engines._headers import LOOKED_AT, Header, check_header_row, find_header, header_of, name_titles
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError
from sfumato.runtime.cancellation import unfinished
from sfumato.texts.catalogue import refusal, t

PIECE = 1 << 20
NO_TEXT_FILES = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
"""Encodings of Python for host names and source code, never for text files."""

MEANINGLESS = frozenset((0x81, 0x8D, 0x8F, 0x90, 0x9D))
"""Bytes that are no character of cp1252."""

MOST_SHOWN = 6


def text_encoding(encoding: str) -> str:
    """Return the name of an encoding for text files, UTF-8 for all equivalent ones."""
    try:
        name = codecs.lookup(encoding).name
        if name in NO_TEXT_FILES:
            raise LookupError
        "".encode(name)  # raises for codecs between bytes, or between texts
    except (LookupError, UnicodeError, ValueError):
        raise refusal("unknown_encoding", encoding=encoding) from None
    return "utf-8" if name in ("utf-8", "utf-8-sig", "ascii") else name


def open_bytes(path: Path) -> Any:
    """Open a file, compressed or not."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def found_encoding(path: Path) -> tuple[str, list[str]]:
    """Detect the encoding of a text file; return it with notices, none for UTF-8."""
    try:
        return _found(path)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise refusal("file_not_whole_gzip", path=path) from None
    except OSError as error:
        raise refusal("cannot_opened", path=path, strerror=error.strerror or error) from None


def _found(path: Path) -> tuple[str, list[str]]:
    pieces = _pieces(path)
    start = next(pieces, b"")
    wide = _wide(start)
    if wide:
        return wide, [t("notice.read_utf", path=path)]
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(start)
        for piece in pieces:
            if decoder.getstate()[0] or not piece.isascii():
                decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return _of_one_byte(path)
    return "utf-8", []


def _pieces(path: Path) -> Iterator[bytes]:
    with open_bytes(path) as stream:
        while piece := stream.read(PIECE):
            yield piece


def _wide(start: bytes) -> str | None:
    """Return the form of UTF-16 at the start of a file: by its mark, or by zero bytes at every second place."""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    head = start[:1000]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > 0.4 * len(head) / 2 and even == 0:
        return "utf-16-le"
    if even > 0.4 * len(head) / 2 and odd == 0:
        return "utf-16-be"
    return None


def _of_one_byte(path: Path) -> tuple[str, list[str]]:
    """Distinguish cp1252 from latin-1 by the characters that only one of them has."""
    present: set[int] = set()
    for piece in _pieces(path):
        present.update(piece.translate(None, bytes(range(0x80))))
    if present & MEANINGLESS:
        raise refusal("engines.unknown_encoding", path=path)
    encoding = "cp1252" if any(byte < 0xA0 for byte in present) else "latin-1"
    telling = [byte for byte in sorted(present) if byte < 0xA0] or sorted(present)
    characters = " ".join(bytes([byte]).decode(encoding) for byte in telling[:MOST_SHOWN])
    return encoding, [t("engines.one_byte_encoding", path=path, encoding=encoding, characters=characters)]


PARQUET = (".parquet", ".pq")
JSON = (".json", ".jsonl", ".ndjson")
"""Extensions of Parquet and JSON files; all others are read as delimited text."""

DELIMITED = (".csv", ".tsv", ".txt")
"""Extensions of the text files that are searched for in a folder."""

DELIMITERS = ",;\t|"
OPEN_FILES = Path("/dev/fd")
"""The folder of a process's open files by number."""

NEEDS_QUOTES = re.compile(r'[",\r\n]')
BLOCK = 1 << 20
COMPARED = 200
"""The number of records for choosing a delimiter."""

SNIFFED = 1 << 20
"""The number of characters of a text file for detecting its delimiter and header."""


@dataclass(frozen=True)
class DelimitedText:
    """A text file that DuckDB can load: its path (or that of a rewritten copy), its delimiter, its columns."""

    path: Path
    delimiter: str
    encoding: str
    header: Header
    skipped: int
    """The number of lines before the first data record."""

    above: int
    """The number of lines above the names of the columns."""

    spaced: bool
    """Whether quotes follow blanks, which are then ignored."""


def existing_file(path: Path, wanted: str = "give one with a header and rows") -> Path:
    """Return the path if it is a nonempty file."""
    try:
        if path.is_dir():
            raise refusal("folder_give_file", path=path)
        if path.stat().st_size == 0:
            raise refusal("file_empty", path=path, wanted=wanted)
    except FileNotFoundError:
        raise refusal("no_such_file", path=path) from None
    except OSError as error:
        raise refusal("cannot_opened", path=path, strerror=error.strerror) from None
    return path


def sniff(path: Path, reading: Reading) -> tuple[DelimitedText, bool]:
    """Detect encoding, delimiter and header of a text file, and whether it must be rewritten for DuckDB."""
    delimiter = reading.delimiter
    if delimiter is not None and len(delimiter) != 1:
        raise refusal("delimiter_character", delimiter=delimiter)
    encoding, notices = encoding_of(path, reading.encoding)
    check_header_row(reading)
    above = (reading.header_row or 1) - 1
    with opened_text(path, encoding) as stream:
        passed = skip_lines(stream, above)
        sample = stream.read(SNIFFED)
    if len(sample) == SNIFFED:
        sample = sample[: sample.rfind("\n") + 1] or sample
    if not sample.strip():
        below = t("notice.from_line", above=above + 1) if above else ""
        raise refusal("file_empty_give", path=path, below=below)
    if "\x00" in sample:
        raise refusal("not_text_file", path=path)
    if reading.header_row is None and reading.header is not False and not reading.columns:
        with wide_fields(), readable_text(path):
            above, titles = _titles(sample, delimiter)
        rest = io.StringIO(sample, newline="")
        passed, sample = skip_lines(rest, above), rest.read()
        notices += [name_titles(str(path), titles, above + 1)] if above else []
    with wide_fields(), readable_text(path):
        chosen = delimiter or _delimiter(sample)
        records, lines = _records(sample, chosen, reading.settles)
    header = header_of(str(path), records, reading.header, reading.columns, reading.settles)
    other_ends = sample.replace("\r\n", "") if "\r" in sample else ""
    mixed = "\r" in other_ends or "\n" in other_ends
    spaced = reading.settles and ' "' in sample and _has_spaced_quotes(sample, chosen, lines if header.stands else 0)
    if spaced:
        notices.append(t("notice.blanks_before_quoted_values", path=path))
    header = replace(header, notices=(*notices, *header.notices))
    rewrite = mixed or spaced or '"' in passed or any("\n" in name for name in records[0])  # DuckDB skips records
    skipped = above + (lines if header.stands else 0)
    return DelimitedText(path, chosen, text_encoding(encoding), header, skipped, above, spaced), rewrite


def _has_spaced_quotes(sample: str, delimiter: str, skipped: int) -> bool:
    """Return whether a quoted value follows blanks, after some lines."""
    body = "".join(sample.splitlines(keepends=True)[skipped:])
    return re.search(rf'(^|{re.escape(delimiter)})[ ]+"', body, re.MULTILINE) is not None


def _titles(sample: str, given: str | None) -> tuple[int, list[list[str]]]:
    """Return the titles above the names of the columns: their number of lines, and their cells.

    Nearly all records must have the same number of fields: in a file of sets the first line may just be short.
    """
    best, found = (0.0, 0), (0, list[list[str]]())
    for delimiter in given or DELIMITERS:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        records = [(record, reader.line_num) for record in islice(reader, COMPARED) if record]
        fields, agreeing = Counter(len(record) for record, _ in records).most_common(1)[0]
        score = (agreeing / len(records), fields)
        if fields > 1 and score > max(best, (0.9, 0)):
            place = find_header([record for record, _ in records])
            is_title = place > 0 and len(records[place][0]) == fields
            best, found = score, (records[place - 1][1], [row for row, _ in records[:place]]) if is_title else (0, [])
    return found


def skip_lines(stream: IO[str], number: int) -> str:
    """Skip the first lines of a text, and return them."""
    return "".join(stream.readline() for _ in range(number))


def _records(sample: str, delimiter: str, trims: bool) -> tuple[list[list[str]], int]:
    """Return the first records of a text, and the line on which the first of them ends."""
    records, first = [], 0
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, skipinitialspace=trims)
    for record in reader:
        if record:
            records.append(record)
            first = first or reader.line_num
        if len(records) > LOOKED_AT:
            break
    return records, first


@contextmanager
def as_utf8(text: DelimitedText, rewrite: bool) -> Iterator[DelimitedText]:
    """Copy a text file to plain UTF-8 if needed: piece by piece, or record by record.

    It is copied record by record if line ends are mixed or quotes follow blanks; the copy then has commas and one kind
    of line end. The copy has no name, so it disappears with the process; on systems without open files by number
    (Windows) it is in a temporary folder.
    """
    if text.encoding == "utf-8" and not rewrite:
        yield text
        return
    with ExitStack() as stack:
        if OPEN_FILES.is_dir():
            target = stack.enter_context(tempfile.TemporaryFile("w", encoding="utf-8", newline=""))
            copy = OPEN_FILES / str(target.fileno())
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sfumato-")))
            stack.enter_context(unfinished(folder))
            copy = folder / "copy.csv"
            target = stack.enter_context(copy.open("w", encoding="utf-8", newline=""))
        with wide_fields(), opened_text(text.path, text.encoding) as source, readable_text(text.path):
            if rewrite:
                skip_lines(source, text.above)
                records = filter(None, csv.reader(source, delimiter=text.delimiter, skipinitialspace=text.spaced))
                if text.header.stands and next(records):
                    target.write("names\n")  # on one line, for any line ends in them
                target.writelines(map(csv_line, records))
            else:
                shutil.copyfileobj(source, target, SNIFFED)
        target.flush()
        rewritten = {"delimiter": ",", "skipped": int(text.header.stands)} if rewrite else {}
        yield replace(text, path=copy, **rewritten)  # type: ignore[arg-type]


@contextmanager
def readable_text(path: Path) -> Iterator[None]:
    """Turn errors of the csv reader into a sentence."""
    try:
        yield
    except csv.Error as error:
        raise refusal("file_cannot_read_delimited", path=path, error=error) from None


def encoding_of(path: Path, given: str | None) -> tuple[str, list[str]]:
    """Return the given encoding, or detect it with notices."""
    return found_encoding(path) if given is None else (given, [])


def csv_line(cells: Sequence[str]) -> str:
    """Return a record as a line of CSV (RFC 4180); unlike the csv module, it quotes cells with any kind of line end."""
    if len(cells) == 1 and not cells[0]:
        return '""\n'  # an empty line is no record
    return ",".join('"' + cell.replace('"', '""') + '"' if NEEDS_QUOTES.search(cell) else cell for cell in cells) + "\n"


@contextmanager
def opened_text(path: Path, given: str | None = None) -> Iterator[IO[str]]:
    """Open a text file, compressed or not; errors while reading become a sentence."""
    encoding, _ = encoding_of(path, given)
    name = text_encoding(encoding)
    try:
        with open_bytes(path) as raw:
            yield io.TextIOWrapper(raw, encoding="utf-8-sig" if name == "utf-8" else name, newline="")
    except UnicodeError:
        raise _undecodable(path, encoding) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise refusal("file_not_whole_gzip", path=path) from None
    except OSError as error:
        raise refusal("cannot_opened", path=path, strerror=error.strerror or error) from None


def _undecodable(path: Path, encoding: str) -> BadInputError:
    """Return an error with the line of the first invalid bytes of this encoding, and the likely remedy."""
    if text_encoding(encoding).startswith("utf-16"):  # its lines cannot be found by bytes
        return BadInputError(t("engines.damaged_utf16", path=path, encoding=encoding))
    with open_bytes(path) as raw:
        start = raw.read(4)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in start:
        return BadInputError(t("notice.line_looks_like_utf", path=path, encoding=encoding))
    line = 0
    with open_bytes(path) as raw:
        for content in raw:
            line += 1
            try:
                content.decode(encoding)
            except UnicodeError:
                break
    return BadInputError(t("engines.wrong_encoding", path=path, line=line, encoding=encoding))


@contextmanager
def wide_fields() -> Iterator[None]:
    """Let csv read fields of any length."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _delimiter(sample: str) -> str:
    """Return the delimiter with which most records have as many fields as the header, and more than one."""
    best, best_score = ",", (0.0, 0)
    stream = io.StringIO(sample, newline="")
    for candidate in DELIMITERS:
        stream.seek(0)
        records = []
        for record in csv.reader(stream, delimiter=candidate, skipinitialspace=True):
            if record:
                records.append(len(record))
            if len(records) == COMPARED:
                break
        fields = records[0]
        agree = sum(count == fields for count in records) / len(records)
        if fields > 1 and (agree, fields) > best_score:
            best, best_score = candidate, (agree, fields)
    return best


def check_line_lengths(path: Path) -> None:
    """Raise if a line is longer than DuckDB reads: its threads silently skip such a line.

    Two consecutive blocks of the file within such a line have no line end, so few bytes need to be read.
    """
    size = path.stat().st_size if path.is_file() else 0
    if size < 2 * BLOCK:
        return
    with path.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as content:
        for start in range(0, size - 2 * BLOCK + 1, BLOCK):
            ends = (content.find(b"\n", at, at + BLOCK) for at in (start, start + BLOCK))
            if all(end < 0 for end in ends):
                raise too_long_a_line(f"{path}, line {content[:start].count(10) + 1}")


def too_long_a_line(where: str) -> BadInputError:
    """Return the error of a line that is too long."""
    return BadInputError(t("notice.line_longer_than_mb", where=where))


def explained(path: Path, message: str, fields: int) -> BadInputError:
    """Turn DuckDB's error about an invalid text file into one sentence."""
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"{path}, line {line.group(1)}" if line else str(path)
    number = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if number:
        count = int(number.group(2))
        has = f"{count} field{'s' if count != 1 else ''}" if count < fields else t("notice.more_fields", count=count)
        return BadInputError(t("engines.other_number_of_fields", where=where, has=has, fields=fields))
    if "unicode" in message or "not utf-8" in message:
        return BadInputError(t("notice.bytes_not_utf_text", where=where))
    if "Maximum line size" in message or "max_line_size" in message:
        return too_long_a_line(where)
    if "quote" in message.split("Possible")[0].lower():
        return BadInputError(t("notice.quotes_around_field_open", where=where))
    return BadInputError(t("notice.file_cannot_read", where=where, splitlines=message.splitlines()[0]))


NUMBER = r"(?:[0-9][0-9.,]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?%?"
BEGINNING = r"(?:[=@\t\r\n]|[+-].)(?s:.*)"
HARMLESS = rf"[+-]{NUMBER}(?:\+|\.\.<?[+-]?{NUMBER})?"
MARK = "'"

_BEGINNING, _HARMLESS = re.compile(BEGINNING), re.compile(HARMLESS)


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet would run a cell with this text."""
    return _BEGINNING.fullmatch(text) is not None and _HARMLESS.fullmatch(text) is None


def escaped(text: str) -> str:
    """Escape a cell."""
    return MARK + text if is_formula(text.lstrip(MARK)) else text


def unescaped(text: str) -> str:
    """Undo `escaped`."""
    return text[1:] if text[:1] == MARK and is_formula(text.lstrip(MARK)) else text


def check_escaping(escape: bool, path: Path, format: str) -> None:
    """Raise if escaping is requested for a format that no spreadsheet runs."""
    if escape and format != "csv":
        raise refusal("escape_formulas_about_csv", path=path)


def escape_file(path: Path) -> None:
    """Escape every cell of a CSV file that we wrote, including the header."""
    copy = path.with_name(f"{path.name}.escaped")
    try:
        with (
            wide_fields(),
            path.open(encoding="utf-8", newline="") as source,
            copy.open("w", encoding="utf-8", newline="") as target,
        ):
            target.writelines(csv_line([escaped(cell) for cell in row]) for row in csv.reader(source))
        copy.replace(path)
    finally:
        copy.unlink(missing_ok=True)


def formula_items(rows: Iterable[Iterable[str]], escape: bool = False) -> dict[str, int]:
    """Count the formulas among the cells of rows without columns, or the cells to escape."""
    number = sum(escaped(cell) != cell if escape else is_formula(cell) for row in rows for cell in row)
    return {"items": number} if number else {}


def formula_notice(cells: dict[str, int], escape: bool) -> list[str]:
    """Return a notice with the columns and numbers of formulas; empty if there are none."""
    if not cells:
        return []
    where = ", ".join(f"{name!r} {number:,}" for name, number in cells.items())
    if escape:
        return [t("engines.escaped_formulas", where=where)]
    return [t("engines.formulas", where=where)]
