"""Reading a map back from the folder that `sfumato explore` left: what `choose` and `release` begin with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.documents import (
    anything,
    fields,
    flag,
    in_shape,
    listed,
    mapped,
    named,
    number,
    number_or_infinity,
    one_of,
    optional,
    plain,
    read_json,
    text,
    together,
    whole,
)
from sfumato.errors import BadInputError
from sfumato.measures import MEASURES, Worth
from sfumato.plain import from_plain
from sfumato.tradeoff.choice.optimum import Decided, all_decided
from sfumato.tradeoff.limit.limit import Limit
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.study import read_study

SCHEMA = 1
WHAT = "what `sfumato explore` writes; explore again"

READ = ("points.json", "study.toml")
"""What a map is read from."""

TRIVIAL, REVEALED = "trivial_u_loss", "revealed_p_loss"
"""The U_loss of the release without quasi-identifiers, the P_loss of a revealed rarest value."""

WORTH = {name.name: text if name.type == "str" else number for name in dataclasses.fields(Worth)}
BROUGHT = fields(
    {
        "rows": whole(),
        "truthful": flag,
        "certain": flag,
        "linked": flag,
        "alone": whole(),
        "cautions": listed(text),
        "notices": listed(text),
    },
    {"claim": text, "verdict": one_of("holds", "fails", "unchecked"), "why": text, "buckets": whole()},
)
"""What was found of a release that was made elsewhere."""

POINT = fields(
    {
        "id": text,
        "anonymizer": text,
        "form": text,
        "requirement": text,
        "parameters": together(mapped(plain), fields({}, {"suppress": number})),
        "status": one_of("measured", "infeasible", "failed"),
        "measures": mapped(number_or_infinity),
    },
    {
        "reason": optional(text),
        "by_sensitive": mapped(mapped(number_or_infinity)),
        "details": mapped(anything),
        "seconds": number,
        "worth": optional(fields(WORTH | {"verdict": one_of("better", "no better", "not shown")})),
        "intervals": mapped(listed(number_or_infinity, 2)),
        "changes": mapped(text),
        "brought": optional(BROUGHT),
        "refused": text,
        "least": optional(number),
        "words": text,
        "family": text,
    },
)
"""The plain values of a point."""

DECIDED = listed(
    fields(
        {
            "names": listed(text, least=1),
            "rows": listed(listed(number)),
            "share": number,
            "vectors": whole(),
            "space": text,
            "require": text,
        }
    )
)
"""The plain values of what was decided of all cuts of a space."""

FACTS = {
    "digest": text,
    "quasi": listed(text),
    "sensitive": listed(text),
    "tree": flag,
    "column": text,
    "weights": mapped(number),
    "coarsened": mapped(fields({"values": whole(), "instead_of": whole()})),
    **dict.fromkeys(("records", "cells", "dropped", "distinct", "items", "occurrences"), whole()),
}
"""What is said of the data themselves; which of these, the kind of study says."""


def limited(value: Any, place: str) -> None:
    """Want the plain values of a limit, or of none."""
    fields({}, {"limit": optional(listed(listed(number, 2), least=1))})(value, place)
    if value.get("limit") is not None:
        fields({"table": fields({TRIVIAL: number, REVEALED: number})})(value, place)


def read_map(folder: str | Path) -> Map:
    """Read the study and the points of a folder; what the points show of records is not kept there."""
    folder = Path(folder)
    path = folder / "points.json"
    if not path.is_file():
        raise BadInputError(f"{folder}: there is no points.json here; give the folder that `sfumato explore` wrote")
    content = read_json(path, WHAT, fields({"schema": plain}))
    if content["schema"] != SCHEMA:
        raise BadInputError(f"{path}: schema {content['schema']!r} is not known to this version; explore again")
    study = read_study(str(folder / "study.toml"))
    facts = fields({}, {name: FACTS[name] for name in study.facts})
    shape = together(fields({study.section: facts, "points": listed(POINT)}, {"decided": DECIDED}), limited)
    in_shape(content, str(path), WHAT, shape)
    with named(str(path)):
        points = tuple(read_point(entry, study.candidate_of(entry)) for entry in content["points"])
    return Map(study, points, dict(content[study.section]), read_limit(content), read_decided(content))


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


def read_decided(content: Mapping[str, Any]) -> tuple[Decided, ...]:
    """Read what was decided of all cuts from the plain values that `decided_values` made; there need not be any."""
    return all_decided(
        Decided(**(entry | {"names": tuple(entry["names"]), "rows": tuple(map(tuple, entry["rows"]))}))
        for entry in content.get("decided", [])
        if set(entry["names"]) <= set(MEASURES) and all(len(row) == len(entry["names"]) for row in entry["rows"])
    )


def decided_values(decided: Sequence[Decided]) -> dict[str, Any]:
    """Write what was decided as plain values."""
    return {"decided": [dataclasses.asdict(one) for one in decided]} if decided else {}


def read_point(entry: Mapping[str, Any], candidate: Candidate) -> Point:
    """Read the point of a candidate from its plain values; what is not part of a point is passed over."""
    values = {field.name: entry[field.name] for field in dataclasses.fields(Point) if field.name in entry}
    intervals = {name: tuple(ends) for name, ends in from_plain(values.get("intervals", {})).items()}
    numbers = {name: from_plain(values.get(name, {})) for name in ("measures", "published")}
    columns = {name: from_plain(own) for name, own in values.get("by_sensitive", {}).items()}
    return Point(**{**values, **numbers, "by_sensitive": columns, "candidate": candidate, "intervals": intervals})


def point_values(point: Point) -> dict[str, Any]:
    """Write a point as values: its candidate in the texts that `candidate_of` of a study reads back, then the rest."""
    values = {field.name: getattr(point, field.name) for field in dataclasses.fields(point)}
    del values["id"], values["candidate"]
    for name in ("brought", "refused", "least", "by_sensitive"):
        if values[name] in (None, "", {}):
            del values[name]
    candidate = {name: getattr(point, name) for name in ("anonymizer", "form", "requirement", "parameters")}
    return {"id": point.id, **candidate, **values, "words": point.words, "family": point.family}
