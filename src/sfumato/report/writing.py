"""Writing the page and the picture: drafts beside their targets, then by rename, so no half file is ever seen."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from sfumato.release import staged
from sfumato.report.page import page
from sfumato.tradeoff import Map


def write_report(map: Map, path: Path | str, public: bool = False, day: date | None = None) -> Path:
    """Write the report as one self-contained HTML file; with `public` from what may leave the house.

    One that shows records can be read by its owner alone.
    """
    with staged([Path(path)], private=[] if public else [Path(path)]) as [draft]:
        draft.write_bytes(report_bytes(map, public, day))
    return Path(path)


def report_bytes(map: Map, public: bool = False, day: date | None = None) -> bytes:
    """Return the report as it is written to a file."""
    return page(map, public, day or date.today()).encode()


def write_picture(map: Map, path: Path | str, internal: bool = False) -> Path:
    """Write the map as a PNG: what may leave the house, or with `internal` all of it."""
    with staged([Path(path)], private=[Path(path)] if internal else []) as [draft]:
        draft.write_bytes(picture_bytes(map, internal))
    return Path(path)


def picture_bytes(map: Map, internal: bool = False) -> bytes:
    """Return the map as a PNG."""
    return map.chart(internal=internal).png()
