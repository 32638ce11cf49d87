"""Files that come in and go out: uploads, and what the folder of a project may hand out, marked for whom it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from sfumato.report import PUBLIC_FILES
from sfumato.texts.catalogue import t
from sfumato.workbench.desk import UPLOADED
from sfumato.workbench.endpoints import FILE, Call, Endpoint, a_list, an_object, text, whole
from sfumato.workbench.errors import MissingError
from sfumato.workbench.views.page import page

OFFERED = (
    "study.toml",
    "report.html",
    "report-public.html",
    "map.png",
    "map-internal.png",
    "points.json",
    "timings.json",
)
"""What can be had of a project's folder; neither its data nor the cache, which shows records."""

PIECE = 1 << 18


def uploaded(call: Call) -> dict[str, Any]:
    """Say under which source what was received can be opened."""
    place = call.body.relative_to(call.desk.uploads).as_posix()
    return {"source": f"{UPLOADED}{place}", "name": call.body.name, "bytes": call.body.stat().st_size}


def files(call: Call) -> dict[str, Any]:
    """List what can be had of a project, each with for whom it is."""
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


def files_page(call: Call) -> Response:
    """Show what can be had of a project."""
    return page("files.html", call, **files(call))


def handed_out(call: Call) -> Response:
    """Hand out a file of a project."""
    project, name = call.project, call.names["file"]
    if name not in OFFERED:
        raise MissingError(t("files.none", name=name))
    audience = "public" if name in PUBLIC_FILES else "internal"
    return download(project.folder, name, f"{project.name}-{audience}-{name}")


def download(folder: Path, name: str, called: str, media: str = FILE) -> Response:
    """Hand out a file of a folder under a name; what is read is what was looked at, and never behind a link."""
    try:
        stream = _opened(folder, name)
    except (OSError, ValueError):  # a name with a zero in it
        raise MissingError(t("files.none", name=name)) from None
    plain = "".join(each if each.isascii() and each.isprintable() and each not in '"\\' else "_" for each in called)
    headers = {
        "content-length": str(os.fstat(stream.fileno()).st_size),
        "content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(called, safe='')}",
    }
    return StreamingResponse(_pieces(stream), media_type=media, headers=headers)


def _opened(folder: Path, name: str) -> BinaryIO:
    """Open a file that lies in a folder itself: no link on the last two steps, and nothing but a plain file."""
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


OF_FILE = an_object(name=text, bytes=whole, audience={"enum": ["public", "internal"]}, about=text)
ENDPOINTS = (
    Endpoint(
        "PUT",
        "/api/uploads/{file}",
        "Takes in a file and says its source.",
        uploaded,
        is_upload=True,
        gives=an_object(source=text, name=text, bytes=whole),
    ),
    Endpoint("GET", "/projects/{project}/files", "Shows what can be had of a project.", files_page),
    Endpoint(
        "GET",
        "/api/projects/{project}/files",
        "Lists what can be had of a project, each with for whom it is.",
        files,
        gives=an_object(files=a_list(OF_FILE)),
    ),
    Endpoint(
        "GET",
        "/api/projects/{project}/files/{file}",
        "Hands out a file of a project.",
        handed_out,
        media=FILE,
    ),
)
