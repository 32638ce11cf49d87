"""Writing the page and the picture: drafts beside their targets, then by rename, so no half file is ever seen."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from sfumato.release.writing import staged, writable
from sfumato.report.page import page
from sfumato.tradeoff import Map


def write_report(map: Map, path: Path | str, public: bool = False, day: date | None = None) -> Path:
    """Write the report as one self-contained HTML file; with `public` from what may leave the house."""
    return _write(Path(path), page(map, public, day or date.today()).encode())


def write_picture(map: Map, path: Path | str, internal: bool = False) -> Path:
    """Write the map as a PNG: what may leave the house, or with `internal` all of it."""
    return _write(Path(path), map.chart(internal=internal).png())


def _write(path: Path, content: bytes) -> Path:
    with writable(path), staged([path]) as [draft]:
        draft.write_bytes(content)
    return path
