"""Reading a map back from the folder that `sfumato explore` left: what `choose` and `release` begin with.

Maps of one table put together: what one of them measured the others need not measure again.

Two maps in memory are merged where they are of the same data and scales (`merged`). A folder's map is added to another
study (`with_added`, `add_cache`): its candidates become the study's, and points that it keeps are taken as they are
where data, scales and version are the same, since a kept point is found by the digest of all of these; otherwise they
are measured anew. So a point never says anything that this study's own scales would not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.config.documents import (
    anything,
    fields,
    flag,
    from_plain,
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
from sfumato.measures.all_measures import MEASURES
from sfumato.measures.classification.classification import Worth
from sfumato.runtime.staging import staged
from sfumato.tradeoff.limit import Limit
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.best_possible import Decided, all_decided
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.study import Study, read_study

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
    {"claim": text, "verdict": one_of("holds", "fails", "unchecked"), "why": text},
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


def with_added(study: Study, other: Study) -> Study:
    """Return a study with the candidates of another one of the same kind beside its own."""
    if study.section != other.section:
        raise BadInputError(
            f"the study {other.name!r} is about {other.section} and {study.name!r} about {study.section}: their maps "
            "cannot be put together"
        )
    return replace(study, grids=tuple(dict.fromkeys([*study.grids, *other.grids])))


def add_cache(cache: Path, other: Path) -> int:
    """Add what another cache keeps to a cache, each entry once; return how many were added."""
    if not other.is_file() or (cache.is_file() and cache.samefile(other)):
        return 0
    kept = cache.read_text(encoding="ascii", errors="replace").splitlines() if cache.is_file() else []
    known = set(kept)
    lines = other.read_text(encoding="ascii", errors="replace").splitlines()
    fresh = [line for line in dict.fromkeys(lines) if line and line not in known]
    if fresh:
        with staged([cache], private=[cache]) as [draft]:
            draft.write_text("".join(f"{line}\n" for line in [*kept, *fresh]), encoding="ascii")
    return len(fresh)


def merged(one: Map, other: Map) -> Map:
    """Put two maps of the same data, measured on the same scales, together: every point once, in order of the ids.

    Neither the order nor repeating it makes a difference. Raises where a point would have two sets of measures.
    """
    check_alike(one, other)
    points: dict[str, Point] = {}
    for point in (*one.points, *other.points):
        before = points.setdefault(point.id, point)
        if before.status == "measured" == point.status and dict(before.measures) != dict(point.measures):
            raise BadInputError(f"point {point.id} was measured differently on the two maps, so one of them is stale")
        if before.status != "measured" and point.status == "measured":
            points[point.id] = point
    first, second = sorted([one, other], key=lambda map_: (map_.study.name, map_.study.axes, map_.study.to_toml()))
    grown: Any = with_added(first.study, second.study)
    ordered = tuple(sorted(grown.grids, key=lambda grid: sorted(candidate.id for candidate in grid.candidates)))
    return Map(
        replace(grown, grids=ordered),
        tuple(points[id] for id in sorted(points)),
        first.about,
        first.limit if first.limit is not None else second.limit,
        all_decided(one.decided, other.decided),
    )


def check_alike(one: Map, other: Map) -> None:
    """Raise unless two maps are of the same data and were measured on the same scales."""
    studies: tuple[Any, Any] = one.study, other.study
    digests: list[Mapping[str, Any]] = [one.about, other.about]
    if digests[0].get("digest") != digests[1].get("digest"):
        raise BadInputError("the two maps are of different data (their digests differ), so they cannot be put together")
    if digests[0].get("weights") != digests[1].get("weights"):
        raise BadInputError(
            "the two maps weigh the losses of the quasi-identifiers differently, so their numbers do not compare; "
            "explore one study with --add and the folder of the other"
        )
    if one.study.section == other.study.section and studies[0].scales != studies[1].scales:
        raise BadInputError(
            "the two maps were measured on different scales, so their numbers do not compare; explore one study with "
            "--add and the folder of the other"
        )
