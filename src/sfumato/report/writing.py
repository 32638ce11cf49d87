"""Writing the page and the picture: drafts beside their targets, then by rename, so no half file is ever seen."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from vl_convert import vegalite_to_png

from sfumato.release.writing import staged, writable
from sfumato.report.page import axes, page
from sfumato.tradeoff import Map
from sfumato.tradeoff.chart import map_chart

SHARPNESS = 2
"""Pixels of the picture per point of the chart."""


def write_report(map: Map, path: Path | str, public: bool = False, day: date | None = None) -> Path:
    """Write the report as one self-contained HTML file; `public` leaves out everything of individual records."""
    return _write(Path(path), page(map, public, day or date.today()).encode())


def write_picture(map: Map, path: Path | str) -> Path:
    """Write the map as a PNG."""
    return _write(Path(path), vegalite_to_png(map_chart(map, *axes(map)).to_json(), scale=SHARPNESS))


def _write(path: Path, content: bytes) -> Path:
    with writable(path), staged([path]) as [draft]:
        draft.write_bytes(content)
    return path
