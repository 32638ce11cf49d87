"""Receiving a file: into a folder of its own among the uploads, by a name that is harmless, up to a limit.

The folder of all uploads is private, and goes with the workbench; one that a killed workbench left is removed by the
next (`process.spill` knows how).
"""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from starlette.concurrency import run_in_threadpool

from sfumato.errors import BadInputError
from sfumato.process.interrupts import unfinished
from sfumato.texts.catalogue import t
from sfumato.workbench.errors import TooLargeError

HARMFUL = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]|[\ud800-\udfff]')
"""What no name of a file may have on some system."""

LONGEST = 100
USUAL_MOST = 2 << 30
"""Bytes of all uploads of one person together."""

PIECE = 1 << 20


def harmless(name: str) -> str:
    """Make a name that any system takes for a file in the folder it is put into, and for nothing else.

    >>> harmless("../../etc/passwd"), harmless("Patienten 2024.csv"), harmless(".."), harmless("a\\x00b?.csv")
    ('passwd', 'Patienten 2024.csv', 'upload', 'a_b_.csv')
    """
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    kept = HARMFUL.sub("_", last).strip(" .")
    stem, point, ending = kept.rpartition(".")
    kept = f"{stem[:LONGEST]}{point}{ending[:20]}" if point else kept[:LONGEST]
    return kept or "upload"


async def received(pieces: AsyncIterator[bytes], name: str, folder: Path, most: int) -> Path:
    """Write what comes in to a file of its own; raise, and leave nothing, where there is more than allowed."""
    place = folder / token_hex(8)
    left = most - await run_in_threadpool(_taken, folder)
    with unfinished(place):
        await run_in_threadpool(place.mkdir, 0o700)
        try:
            await _written(pieces, place / harmless(name), folder, left, most)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
    return place / harmless(name)


async def _written(pieces: AsyncIterator[bytes], path: Path, folder: Path, left: int, most: int) -> None:
    """Write piece by piece; others may be coming in meanwhile, so what lies there is counted again with every piece."""
    too_large = TooLargeError(t("uploads.too_large", file=path.name, most=most / (1 << 30)))
    size, waiting = 0, bytearray()
    with path.open("xb", buffering=0) as stream:
        async for piece in pieces:
            size += len(piece)
            if size > left:
                raise too_large
            waiting += piece
            if len(waiting) >= PIECE:
                await run_in_threadpool(stream.write, bytes(waiting))
                waiting.clear()
                if await run_in_threadpool(_taken, folder) > most:
                    raise too_large
        await run_in_threadpool(stream.write, bytes(waiting))
    if await run_in_threadpool(_taken, folder) > most:
        raise too_large
    if not size:
        raise BadInputError(t("uploads.empty", file=path.name))


def _taken(folder: Path) -> int:
    """Count the bytes of all uploads that lie there; one may go meanwhile."""
    taken = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            taken += path.stat().st_size if path.is_file() else 0
    return taken
