"""Which encoding a text file has, where nobody says: UTF-8 if all its bytes are, else UTF-16, cp1252 or latin-1.

The whole file is looked at, a piece at a time. The bytes 80 to 9f tell cp1252 from latin-1: there they are the euro
sign and typographic quotes, here characters that nobody writes. Five of them mean nothing in either, so a file that has
one of these is not guessed at all.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.errors import BadInputError

PIECE = 1 << 20
NO_TEXT_FILES = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
"""Encodings of Python's that write names of hosts and source code, never a file of text."""

MEANINGLESS = frozenset((0x81, 0x8D, 0x8F, 0x90, 0x9D))
"""Bytes that are no character of cp1252."""

MOST_SHOWN = 6


def text_encoding(encoding: str) -> str:
    """Return the name of an encoding that a file of text may have, UTF-8 for all that read alike."""
    try:
        name = codecs.lookup(encoding).name
        if name in NO_TEXT_FILES:
            raise LookupError
        "".encode(name)  # what turns bytes into bytes, or texts into texts, refuses
    except (LookupError, UnicodeError, ValueError):
        raise BadInputError(f"unknown encoding {encoding!r}; try utf-8, cp1252, latin-1 or utf-16") from None
    return "utf-8" if name in ("utf-8", "utf-8-sig", "ascii") else name


def open_bytes(path: Path) -> Any:
    """Open a file, compressed or not."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def found_encoding(path: Path) -> tuple[str, list[str]]:
    """Find out the encoding of a text file, and what is to be said of it: nothing where it is UTF-8."""
    try:
        return _found(path)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise BadInputError(f"{path}: the file is not a whole gzip file; unpack it or give another") from None
    except OSError as error:
        raise BadInputError(f"{path}: cannot be opened ({error.strerror or error})") from None


def _found(path: Path) -> tuple[str, list[str]]:
    pieces = _pieces(path)
    start = next(pieces, b"")
    wide = _wide(start)
    if wide:
        return wide, [f"{path}: read as UTF-16, as its first bytes tell; --encoding names another encoding"]
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
    """Name the form of UTF-16 that a file begins with: by its mark, or by zero bytes at every second place."""
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
    """Tell cp1252 from latin-1 by the characters that only one of them has."""
    present: set[int] = set()
    for piece in _pieces(path):
        present.update(piece.translate(None, bytes(range(0x80))))
    if present & MEANINGLESS:
        raise BadInputError(
            f"{path}: the bytes are neither UTF-8 nor cp1252 text; name the encoding (--encoding cp850, mac-roman, ...)"
        )
    encoding = "cp1252" if any(byte < 0xA0 for byte in present) else "latin-1"
    telling = [byte for byte in sorted(present) if byte < 0xA0] or sorted(present)
    characters = " ".join(bytes([byte]).decode(encoding) for byte in telling[:MOST_SHOWN])
    return encoding, [
        f"{path}: read as {encoding}, for its bytes are not UTF-8 and it then has characters such as {characters}; "
        "--encoding names another encoding"
    ]
