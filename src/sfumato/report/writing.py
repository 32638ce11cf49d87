"""Writing the page and the picture: drafts beside their targets, then by rename, so no half file is ever seen."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from vl_convert import vegalite_to_png

from sfumato.release import staged
from sfumato.report.page import axes, page
from sfumato.tradeoff import Map
from sfumato.tradeoff.chart import map_chart

SHARPNESS = 2
"""Pixels of the picture per point of the chart."""


def write_report(map: Map, path: Path | str, public: bool = False, day: date | None = None) -> Path:
    """Write the report as one self-contained HTML file; `public` leaves out everything of individual records.

    One that shows records can be read by its owner alone.
    """
    with staged([Path(path)], private=[] if public else [Path(path)]) as [draft]:
        draft.write_bytes(report_bytes(map, public, day))
    return Path(path)


def report_bytes(map: Map, public: bool = False, day: date | None = None) -> bytes:
    """Return the report as it is written to a file."""
    return page(map, public, day or date.today()).encode()


def write_picture(map: Map, path: Path | str) -> Path:
    """Write the map as a PNG."""
    with staged([Path(path)]) as [draft]:
        draft.write_bytes(picture_bytes(map))
    return Path(path)


def picture_bytes(map: Map) -> bytes:
    """Return the map as a PNG."""
    picture: bytes = vegalite_to_png(map_chart(map, *axes(map)).to_json(), scale=SHARPNESS)
    return picture
