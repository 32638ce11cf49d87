"""The folder of `sfumato explore`: reading its map, adding another one, and the cache of points.

**Adding.** `with_added` and `add_cache` add a map in a folder to another study: its candidates become the study's.
A cached point is reused only if data, scales and version are the same, because its key is a digest of them. Otherwise
the point is measured again.

**Cache.** One line for each measured point, with a check sum. A line that does not fit its sum (changed, damaged, cut
short by a crash) is deleted, and its point is measured again. The file shows records, so only its owner can read it.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.config import documents as doc
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES
from sfumato.measures.classification.classification import Worth
from sfumato.runtime.cancellation import finishing
from sfumato.runtime.staging import PRIVATE, staged, writable
from sfumato.texts.catalogue import refusal
from sfumato.tradeoff.limit import Limit
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.best_possible import Decided, all_decided
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.study import Study, read_study

SCHEMA = 1
WHAT = "a file that `sfumato explore` writes; explore again"

READ = ("points.json", "study.toml")
"""The files that define a map."""

TIMINGS = "timings.json"
"""What differs between runs: seconds, and which questions were searched."""

TRIVIAL, REVEALED = "trivial_u_loss", "revealed_p_loss"
"""The U_loss of the release without quasi-identifiers, the P_loss of a revealed rarest value."""

WORTH = {name.name: doc.text if name.type == "str" else doc.number for name in dataclasses.fields(Worth)}
BROUGHT = doc.fields(
    {
        "rows": doc.whole(),
        "truthful": doc.flag,
        "certain": doc.flag,
        "linked": doc.flag,
        "alone": doc.whole(),
        "cautions": doc.listed(doc.text),
        "notices": doc.listed(doc.text),
    },
    {"claim": doc.text, "verdict": doc.one_of("holds", "fails", "unchecked"), "why": doc.text},
)
"""The measured properties of an external release."""

POINT = doc.fields(
    {
        "id": doc.text,
        "anonymizer": doc.text,
        "form": doc.text,
        "requirement": doc.text,
        "parameters": doc.together(doc.mapped(doc.plain), doc.fields({}, {"suppress": doc.number})),
        "status": doc.one_of("measured", "infeasible", "failed"),
        "measures": doc.mapped(doc.number_or_infinity),
    },
    {
        "reason": doc.optional(doc.text),
        "by_sensitive": doc.mapped(doc.mapped(doc.number_or_infinity)),
        "details": doc.mapped(doc.anything),
        "seconds": doc.number,
        "worth": doc.optional(doc.fields(WORTH | {"verdict": doc.one_of("better", "no better", "not shown")})),
        "intervals": doc.mapped(doc.listed(doc.number_or_infinity, 2)),
        "changes": doc.mapped(doc.text),
        "brought": doc.optional(BROUGHT),
        "refused": doc.text,
        "least": doc.optional(doc.number),
        "words": doc.text,
        "family": doc.text,
    },
)
"""The plain values of a point."""

DECIDED = doc.listed(
    doc.fields(
        {
            "names": doc.listed(doc.text, least=1),
            "rows": doc.listed(doc.listed(doc.number)),
            "share": doc.number,
            "vectors": doc.whole(),
            "space": doc.text,
            "require": doc.text,
        }
    )
)
"""The plain values of the frontier of all cuts of a space."""

FACTS = {
    "digest": doc.text,
    "quasi": doc.listed(doc.text),
    "sensitive": doc.listed(doc.text),
    "tree": doc.flag,
    "column": doc.text,
    "weights": doc.mapped(doc.number),
    "coarsened": doc.mapped(doc.fields({"values": doc.whole(), "instead_of": doc.whole()})),
    **dict.fromkeys(("records", "cells", "dropped", "distinct", "items", "occurrences"), doc.whole()),
}
"""Facts of the data; which of them, depends on the kind of study."""


def limited(value: Any, place: str) -> None:
    """Check the plain values of a limit; None is allowed."""
    doc.fields({}, {"limit": doc.optional(doc.listed(doc.listed(doc.number, 2), least=1))})(value, place)
    if value.get("limit") is not None:
        doc.fields({"table": doc.fields({TRIVIAL: doc.number, REVEALED: doc.number})})(value, place)


def read_map(folder: str | Path) -> Map:
    """Read the study and the points of a folder; it does not contain the details of points."""
    folder = Path(folder)
    path = folder / "points.json"
    if not path.is_file():
        raise BadInputError(f"{folder}: there is no points.json here; give a folder that `sfumato explore` wrote")
    content = doc.read_json(path, WHAT, doc.fields({"schema": doc.plain}))
    if content["schema"] != SCHEMA:
        raise BadInputError(f"{path}: this version does not know schema {content['schema']!r}; explore again")
    study = read_study(str(folder / "study.toml"))
    facts = doc.fields({}, {name: FACTS[name] for name in study.facts})
    shape = doc.together(doc.fields({study.section: facts, "points": doc.listed(POINT)}, {"decided": DECIDED}), limited)
    doc.in_shape(content, str(path), WHAT, shape)
    with doc.named(str(path)):
        points = tuple(read_point(entry, study.candidate_of(entry)) for entry in content["points"])
    return Map(study, points, dict(content[study.section]), read_limit(content), read_decided(content))


def map_files(folder: Path) -> list[Path]:
    """List the files of a map."""
    return [folder / name for name in READ]


def read_limit(content: dict[str, Any]) -> Limit | None:
    """Read a limit from its plain values; there may be none."""
    if content.get("limit") is None:
        return None
    about = content["table"]
    vertices = tuple((float(x), float(y)) for x, y in content["limit"])
    return Limit(vertices, float(about[TRIVIAL]), float(about[REVEALED]))


def limit_values(floor: Limit | None) -> dict[str, Any]:
    """Return a limit as plain values: its vertices, and under `table` the two facts of the table for scores."""
    if floor is None:
        return {}
    return {
        "table": {TRIVIAL: floor.trivial, REVEALED: floor.revealed},
        "limit": [list(vertex) for vertex in floor.points],
    }


def searched_questions(folder: Path) -> list[str]:
    """Return the questions for which further candidates were searched on the map of a folder."""
    try:
        return list(json.loads((folder / TIMINGS).read_text(encoding="utf-8"))["searched"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def read_decided(content: Mapping[str, Any]) -> tuple[Decided, ...]:
    """Read the frontiers of all cuts from their plain values; there may be none."""
    return all_decided(
        Decided(**(entry | {"names": tuple(entry["names"]), "rows": tuple(map(tuple, entry["rows"]))}))
        for entry in content.get("decided", [])
        if set(entry["names"]) <= set(MEASURES) and all(len(row) == len(entry["names"]) for row in entry["rows"])
    )


def decided_values(decided: Sequence[Decided]) -> dict[str, Any]:
    """Return the frontiers of all cuts as plain values."""
    return {"decided": [dataclasses.asdict(one) for one in decided]} if decided else {}


def read_point(entry: Mapping[str, Any], candidate: Candidate) -> Point:
    """Read the point of a candidate from its plain values; further values are ignored."""
    values = {field.name: entry[field.name] for field in dataclasses.fields(Point) if field.name in entry}
    intervals = {name: tuple(ends) for name, ends in doc.from_plain(values.get("intervals", {})).items()}
    numbers = {name: doc.from_plain(values.get(name, {})) for name in ("measures", "published")}
    columns = {name: doc.from_plain(own) for name, own in values.get("by_sensitive", {}).items()}
    return Point(**{**values, **numbers, "by_sensitive": columns, "candidate": candidate, "intervals": intervals})


def point_values(point: Point) -> dict[str, Any]:
    """Return a point as plain values: its candidate in the texts that `candidate_of` reads, then the rest."""
    values = {field.name: getattr(point, field.name) for field in dataclasses.fields(point)}
    del values["id"], values["candidate"]
    for name in ("brought", "refused", "least", "by_sensitive"):
        if values[name] in (None, "", {}):
            del values[name]
    candidate = {name: getattr(point, name) for name in ("anonymizer", "form", "requirement", "parameters")}
    return {"id": point.id, **candidate, **values, "words": point.words, "family": point.family}


def with_added(study: Study, other: Study) -> Study:
    """Return a study with the candidates of another study of the same kind added."""
    if study.section != other.section:
        raise refusal("other_section", other=other, study=study)
    return replace(study, grids=tuple(dict.fromkeys([*study.grids, *other.grids])))


def add_cache(cache: Path, other: Path) -> int:
    """Add the entries of another cache, each once; return the number of added entries."""
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


CHECK = "check"
KEPT_POINT = doc.fields({"key": doc.text, "point": POINT})
KEPT_DECIDED = doc.fields({"decided of": doc.text, "decided": DECIDED})


class Cache:
    """Points, limits and frontiers of cuts by key, in memory and, with a path, in a file that grows.

    The caller of `point` has its candidate, so the candidate's text is not parsed. `mended` describes the lines that
    were deleted from the file, if any.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._points: dict[str, Mapping[str, Any]] = {}
        self.limits: dict[str, Limit | None] = {}
        self.decided: dict[str, tuple[Decided, ...]] = {}
        entries, self.mended = _mended(path)
        for entry in entries:
            if "point" in entry:
                self._points[entry["key"]] = entry["point"]
            elif "decided of" in entry:
                self.decided[entry["decided of"]] = read_decided(entry)
            else:
                self.limits[entry["limit of"]] = read_limit(entry)

    def point(self, key: str, candidate: Candidate) -> Point | None:
        """Return the cached point of a candidate, if any."""
        return read_point(self._points[key], candidate) if key in self._points else None

    def add_point(self, key: str, point: Point) -> None:
        """Cache a point."""
        self._points[key] = doc.to_plain(point_values(point))
        self._add({"key": key, "point": self._points[key]})

    def add_limit(self, key: str, limit: Limit | None) -> None:
        """Cache the limit of the data, also None."""
        self.limits[key] = limit
        self._add({"limit of": key, **limit_values(limit)})

    def add_decided(self, key: str, decided: Iterable[Decided]) -> None:
        """Cache the frontiers of all cuts of a space, in addition to earlier ones."""
        before = self.decided.get(key, ())
        self.decided[key] = all_decided(before, decided)
        if self.decided[key] != before:
            self._add({"decided of": key, **decided_values(self.decided[key])})

    def _add(self, entry: Mapping[str, Any]) -> None:
        if self.path is None:
            return
        line = _line(entry)
        with writable(self.path), finishing():  # who is stopped leaves whole lines
            self.path.touch(PRIVATE)
            with self.path.open("a", encoding="ascii") as stream:
                stream.write(line)


def kept_points(path: Path) -> list[Mapping[str, Any]]:
    """Return the plain values of all points in a cache; a point that was measured twice appears twice, in order."""
    return [entry["point"] for entry in _entries(path)[0] if "point" in entry]


def mend_cache(path: Path | None) -> str:
    """Delete lines that do not fit their check sum from a cache; return a sentence with their number, or nothing."""
    return _mended(path)[1]


def _mended(path: Path | None) -> tuple[list[dict[str, Any]], str]:
    """Read a cache, delete the lines that do not fit, and return the entries and a sentence."""
    kept, unfit = _entries(path)
    if path is not None and path.is_file() and path.stat().st_mode & 0o077:
        path.chmod(PRIVATE)
    if path is None or not unfit:
        return kept, ""
    with staged([path], private=[path]) as [draft]:
        draft.write_text("".join(map(_line, kept)), encoding="ascii")
    entries = "entry does not fit its" if unfit == 1 else "entries do not fit their"
    return kept, f"{path}: {unfit:,} {entries} check sum (changed, damaged, or of another version); measuring again"


def _entries(path: Path | None) -> tuple[list[dict[str, Any]], int]:
    """Read the entries of a cache that fit their check sum, and count the other lines."""
    if path is None or not path.is_file():
        return [], 0
    lines = [line for line in path.read_text(encoding="ascii", errors="replace").split("\n") if line]
    entries = [entry for entry in map(_entry, lines) if entry is not None]
    return entries, len(lines) - len(entries)


def _entry(line: str) -> dict[str, Any] | None:
    """Read a line; None if it was changed."""
    try:
        entry: dict[str, Any] = doc.parse_json(line, "a cache", "a kept entry", doc.fields({CHECK: doc.text}))
        check = entry.pop(CHECK)
        if check != _sum(entry):
            return None
        doc.in_shape(entry, "a cache", "a kept entry", _shape(entry))
    except BadInputError:  # also what another version of this program wrote
        return None
    return entry


def _shape(entry: Mapping[str, Any]) -> doc.Shape:
    if "point" in entry:
        return KEPT_POINT
    return KEPT_DECIDED if "decided of" in entry else limited


def _line(entry: Mapping[str, Any]) -> str:
    written = json.dumps(entry)
    check = _sum(json.loads(written))  # of the parsed entry, so that reading computes the same sum
    return f'{written[:-1]}, "{CHECK}": "{check}"}}\n'


def _sum(entry: Mapping[str, Any]) -> str:
    return sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
