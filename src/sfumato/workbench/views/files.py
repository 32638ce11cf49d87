"""Uploads, and downloads from the folder of a project, each marked as internal or public.

An upload is received into a separate folder under a safe name, up to a limit. The folder of all uploads is private and
is deleted when the workbench ends; leftovers of a killed one are deleted by the next (`process.spill`).
"""

import os
import re
import shutil
import stat
import unicodedata
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from sfumato.report.folder import PUBLIC_FILES
from sfumato.runtime.cancellation import unfinished
from sfumato.texts.catalogue import refusal, t
from sfumato.workbench.endpoints import FILE, Call, a_list, an_object, endpoint, text, whole
from sfumato.workbench.errors import MissingError, TooLargeError
from sfumato.workbench.projects import UPLOADED
from sfumato.workbench.views.page import page

OFFERED = (
    "study.toml",
    "report.html",
    "report-public.html",
    "map-public.png",
    "map-internal.png",
    "points.json",
    "timings.json",
)
"""Offered files of a project's folder; neither its data nor the cache, which shows records."""

PIECE = 1 << 18
OF_FILE = an_object(name=text, bytes=whole, audience={"enum": ["public", "internal"]}, about=text)


@endpoint("PUT", "/api/uploads/{file}", is_upload=True, gives=an_object(source=text, name=text, bytes=whole))
def uploaded(call: Call) -> dict[str, Any]:
    """Receive a file and return its source."""
    place = call.body.relative_to(call.desk.uploads).as_posix()
    return {"source": f"{UPLOADED}{place}", "name": call.body.name, "bytes": call.body.stat().st_size}


@endpoint("GET", "/api/projects/{project}/files", gives=an_object(files=a_list(OF_FILE)))
def files(call: Call) -> dict[str, Any]:
    """List the offered files of a project, each with its recipients."""
    folder = call.project.folder
    there = [name for name in OFFERED if (folder / name).is_file() and not (folder / name).is_symlink()]
    return {
        "files": [
            {
                "name": name,
                "bytes": (folder / name).stat().st_size,
                "audience": "public" if name in PUBLIC_FILES else "internal",
                "about": t(f"files.about_{name.partition('.')[0].replace('-', '_')}"),
            }
            for name in there
        ]
    }


@endpoint("GET", "/projects/{project}/files")
def files_page(call: Call) -> Response:
    """Show the offered files of a project."""
    return page("files.html", call, **files(call))


@endpoint("GET", "/api/projects/{project}/files/{file}", media=FILE)
def handed_out(call: Call) -> Response:
    """Return a file of a project."""
    project, name = call.project, call.names["file"]
    if name not in OFFERED:
        raise MissingError(t("files.none", name=name))
    audience = "public" if name in PUBLIC_FILES else "internal"
    return download(project.folder, name, f"{project.name}-{audience}-{name}")


def download(folder: Path, name: str, called: str, media: str = FILE) -> Response:
    """Return a file of a folder under a name; it is checked after opening, and links are refused."""
    try:
        stream = _opened(folder, name)
    except (OSError, ValueError):  # a name with a null character
        raise MissingError(t("files.none", name=name)) from None
    plain = "".join(each if each.isascii() and each.isprintable() and each not in '"\\' else "_" for each in called)
    headers = {
        "content-length": str(os.fstat(stream.fileno()).st_size),
        "content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(called, safe='')}",
    }
    return StreamingResponse(_pieces(stream), media_type=media, headers=headers)


def _opened(folder: Path, name: str) -> BinaryIO:
    """Open a plain file directly in a folder; links in the last two components are refused."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    finally:
        os.close(place)
    stream = os.fdopen(handle, "rb")
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        stream.close()
        raise FileNotFoundError(name)
    return stream


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    left = os.fstat(stream.fileno()).st_size
    with stream:
        while left > 0 and (piece := stream.read(min(PIECE, left))):
            left -= len(piece)
            yield piece


HARMFUL = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]|[\ud800-\udfff]')
"""Characters and names that are invalid on some system."""

LONGEST = 100
UPLOADS_PIECE = 1 << 20


def harmless(name: str) -> str:
    """Return a name that every system accepts as a plain file in its folder.

    >>> harmless("../../etc/passwd"), harmless("Patienten 2024.csv"), harmless(".."), harmless("a\\x00b?.csv")
    ('passwd', 'Patienten 2024.csv', 'upload', 'a_b_.csv')
    """
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    kept = HARMFUL.sub("_", last).strip(" .")
    stem, point, ending = kept.rpartition(".")
    kept = f"{stem[:LONGEST]}{point}{ending[:20]}" if point else kept[:LONGEST]
    return kept or "upload"


async def received(pieces: AsyncIterator[bytes], name: str, folder: Path, most: int) -> Path:
    """Write an upload to a separate file; raise, and delete it, if it exceeds the limit."""
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
    """Write piece by piece; the used space is counted at each piece, because other uploads may run."""
    too_large = TooLargeError(t("uploads.too_large", file=path.name, most=most / (1 << 30)))
    size, waiting = 0, bytearray()
    with path.open("xb", buffering=0) as stream:
        async for piece in pieces:
            size += len(piece)
            if size > left:
                raise too_large
            waiting += piece
            if len(waiting) >= UPLOADS_PIECE:
                await run_in_threadpool(stream.write, bytes(waiting))
                waiting.clear()
                if await run_in_threadpool(_taken, folder) > most:
                    raise too_large
        await run_in_threadpool(stream.write, bytes(waiting))
    if await run_in_threadpool(_taken, folder) > most:
        raise too_large
    if not size:
        raise refusal("uploads.empty", file=path.name)


def _taken(folder: Path) -> int:
    """Count the bytes of all present uploads; one may disappear meanwhile."""
    taken = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            taken += path.stat().st_size if path.is_file() else 0
    return taken
