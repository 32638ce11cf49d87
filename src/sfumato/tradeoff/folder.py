"""Reading a map back from the folder that `sfumato explore` left: what `choose` and `release` begin with."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from sfumato.errors import BadInputError
from sfumato.plain import from_plain
from sfumato.tradeoff.limit import Limit
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.study import read_study

SCHEMA = 1

READ = ("points.json", "study.toml")
"""What a map is read from."""

TRIVIAL, REVEALED = "trivial_u_loss", "revealed_p_loss"
"""The U_loss of the release without quasi-identifiers, the P_loss of a revealed rarest value."""


def read_map(folder: str | Path) -> Map:
    """Read the study and the points of a folder; what the points show of records is not kept there."""
    folder = Path(folder)
    path = folder / "points.json"
    if not path.is_file():
        raise BadInputError(f"{folder}: there is no points.json here; give the folder that `sfumato explore` wrote")
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            raise BadInputError(f"{path}: schema {content['schema']!r} is not known to this version; explore again")
        study = read_study(str(folder / "study.toml"))
        about, points = dict(content[study.section]), tuple(read_point(entry) for entry in content["points"])
        floor = read_limit(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInputError(f"{path}: not what `sfumato explore` writes ({error!r}); explore again") from None
    return Map(study, points, about, floor)


def map_files(folder: Path) -> list[Path]:
    """Name the files that a map is read from."""
    return [folder / name for name in READ]


def read_limit(content: dict[str, Any]) -> Limit | None:
    """Read a limit from the plain values that `limit_values` made; there need not be one."""
    if content.get("limit") is None:
        return None
    about = content["table"]
    vertices = tuple((float(x), float(y)) for x, y in content["limit"])
    return Limit(vertices, float(about[TRIVIAL]), float(about[REVEALED]))


def limit_values(floor: Limit | None) -> dict[str, Any]:
    """Write a limit as plain values: its vertices, and under `table` the two facts of the table that scores need."""
    if floor is None:
        return {}
    return {
        "table": {TRIVIAL: floor.trivial, REVEALED: floor.revealed},
        "limit": [list(vertex) for vertex in floor.points],
    }


def read_point(entry: dict[str, Any]) -> Point:
    """Read a point from its plain values; what is not part of a point is passed over."""
    known = {own.name for own in fields(Point)}
    values = {name: value for name, value in entry.items() if name in known}
    intervals = {name: tuple(ends) for name, ends in from_plain(values.get("intervals", {})).items()}
    numbers = {name: from_plain(values.get(name, {})) for name in ("measures", "published")}
    return Point(**{**values, **numbers, "intervals": intervals})
