"""The folder that `sfumato explore` writes: points, timings, reports, picture, the study."""

from contextlib import suppress
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from sfumato.config.documents import json_text
from sfumato.report.page import page, scores_of
from sfumato.report.purpose import purpose_page
from sfumato.runtime.staging import staged
from sfumato.texts.html import NoRoomError
from sfumato.tradeoff.exploration.folder import TIMINGS, decided_values, limit_values, point_values
from sfumato.tradeoff.map import Map, Point

PUBLIC_FILES = ("report-public.html", "map-public.png")
"""The files of the folder that are safe to share; all others are internal."""

PURPOSE = "purpose.html"
"""What the user's analysis asked and what releases keep; only with an analysis."""

DRAWN = ("report.html", "map-internal.png", "report-public.html", "map-public.png")
"""Drawings; omitted if the disk is full."""

INTERNAL = ("report.html", "map-internal.png", PURPOSE)
"""The internal ones of them, readable by their owner only."""

KEPT = ("id", "anonymizer", "form", "requirement", "parameters", "status", "reason", "measures")
KEPT_WHERE_KNOWN = (
    "by_sensitive",
    "published",
    "worth",
    "intervals",
    "words",
    "family",
    "changes",
    "brought",
    "refused",
)
KEPT_WHERE_SAID = ("least",)
"""The fields of a point that `points.json` contains only if they are set."""


def save_map(map_: Map, folder: Path) -> list[Path]:
    """Write all files of a map into a folder, all or nothing.

    `points.json` is identical, byte by byte, for the same study. If the disk is too full, the drawings are omitted.
    """
    frontier = {point.id for point in map_.frontier()}
    points = [_entry(point, point.id in frontier) for point in map_.points]
    floor, scores = limit_values(map_.limit), scores_of(map_)
    texts = {
        "points.json": json_text(
            {
                "study": map_.study.name,
                "axes": list(map_.study.axes),
                map_.study.section: {key: map_.about[key] for key in map_.study.facts if key in map_.about}
                | floor.pop("table", {}),
                "points": points,
                **floor,
                **decided_values(map_.decided),
                **({} if scores is None else {"score": asdict(scores)}),
            }
        ),
        TIMINGS: json_text(_timings(map_)),
        "study.toml": map_.study.to_toml(folder),
    }
    contents = {name: text.encode() for name, text in texts.items()}
    for name in DRAWN:
        public = name in PUBLIC_FILES
        with suppress(NoRoomError):
            page = name.endswith(".html")
            contents[name] = report_bytes(map_, public) if page else picture_bytes(map_, internal=not public)
    purpose = purpose_page(map_, date.today())
    contents |= {} if purpose is None else {PURPOSE: purpose.encode()}
    targets = [folder / name for name in contents]
    with staged(targets, private=[folder / name for name in INTERNAL]) as drafts:
        for draft, content in zip(drafts, contents.values(), strict=True):
            draft.write_bytes(content)
    for name in {*DRAWN, PURPOSE} - contents.keys():
        (folder / name).unlink(missing_ok=True)  # of an earlier map
    return targets


def _timings(map_: Map) -> dict[str, Any]:
    """Return the seconds of each point, and for a tuned map the order of tries."""
    timings: dict[str, Any] = {"seconds": {point.id: round(point.seconds, 4) for point in map_.points}}
    return timings | {name: map_.about[name] for name in ("tuning", "searched") if name in map_.about}


def _entry(point: Point, on_frontier: bool) -> dict[str, Any]:
    """Return the values of a point that depend only on the study and contain no records."""
    values = point_values(point)
    more = {name: values[name] for name in KEPT_WHERE_KNOWN if values.get(name)}
    more |= {name: values[name] for name in KEPT_WHERE_SAID if name in values}
    return {name: values[name] for name in KEPT} | {"on_frontier": on_frontier} | more


def report_bytes(map_: Map, public: bool) -> bytes:
    """Return today's report as the content of a file."""
    return page(map_, public, date.today()).encode()


def picture_bytes(map_: Map, internal: bool = False) -> bytes:
    """Return the map as a PNG."""
    return map_.chart(internal=internal).png()
