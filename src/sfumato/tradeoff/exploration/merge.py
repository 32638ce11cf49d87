"""Maps of one table put together: what one of them measured the others need not measure again.

Two maps in memory are merged where they are of the same data and scales (`merged`). A folder's map is added to another
study (`with_added`, `add_cache`): its candidates become the study's, and points that it keeps are taken as they are
where data, scales and version are the same, since a kept point is found by the digest of all of these; otherwise they
are measured anew. So a point never says anything that this study's own scales would not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.errors import BadInputError
from sfumato.release import staged
from sfumato.tradeoff.choice.optimum import all_decided
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.study.study import Study


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
