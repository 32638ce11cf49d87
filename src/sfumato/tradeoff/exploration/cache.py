"""What a map keeps of its work: a line for every point that was measured, each with a check sum of itself.

A line that does not fit its sum (changed, damaged, cut short by a crash) is taken out, and what it held is worked out
anew. The file shows records, rare ones too, so its owner alone can read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.documents import Shape, fields, in_shape, parse_json, text
from sfumato.errors import BadInputError
from sfumato.plain import to_plain
from sfumato.process.interrupts import finishing
from sfumato.release import staged
from sfumato.release.staging import PRIVATE, writable
from sfumato.tradeoff.choice.optimum import Decided, all_decided
from sfumato.tradeoff.exploration.folder import (
    DECIDED,
    POINT,
    decided_values,
    limit_values,
    limited,
    point_values,
    read_decided,
    read_limit,
    read_point,
)
from sfumato.tradeoff.limit.limit import Limit
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.study.candidate import Candidate

CHECK = "check"
KEPT_POINT = fields({"key": text, "point": POINT})
KEPT_DECIDED = fields({"decided of": text, "decided": DECIDED})


class Cache:
    """Points, limits and what was decided, by their keys, in memory and, where there is a path, in a file that grows.

    Whoever asks for a point has its candidate at hand, so no text of a kept one is read. `mended` says what had to be
    taken out of the file, if anything.
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
        """Return the point of a candidate, if it is kept under this key."""
        return read_point(self._points[key], candidate) if key in self._points else None

    def add_point(self, key: str, point: Point) -> None:
        """Keep a point."""
        self._points[key] = to_plain(point_values(point))
        self._add({"key": key, "point": self._points[key]})

    def add_limit(self, key: str, limit: Limit | None) -> None:
        """Keep the limit of the data; that there is none is worth keeping too."""
        self.limits[key] = limit
        self._add({"limit of": key, **limit_values(limit)})

    def add_decided(self, key: str, decided: Iterable[Decided]) -> None:
        """Keep what was decided of all cuts of a space, beside what was decided before."""
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
    """Return the plain values of all points that a cache keeps; of one that was measured twice, the later last."""
    return [entry["point"] for entry in _entries(path)[0] if "point" in entry]


def mend_cache(path: Path | None) -> str:
    """Take lines that do not fit their check sum out of a cache; say in a sentence how many, nothing where all fit."""
    return _mended(path)[1]


def _mended(path: Path | None) -> tuple[list[dict[str, Any]], str]:
    """Read a cache, take out what does not fit, and say so."""
    kept, unfit = _entries(path)
    if path is not None and path.is_file() and path.stat().st_mode & 0o077:
        path.chmod(PRIVATE)
    if path is None or not unfit:
        return kept, ""
    with staged([path], private=[path]) as [draft]:
        draft.write_text("".join(map(_line, kept)), encoding="ascii")
    entries = "entry does not fit its" if unfit == 1 else "entries do not fit their"
    return kept, f"{path}: {unfit:,} {entries} check sum (changed, damaged, or of another version); measured anew"


def _entries(path: Path | None) -> tuple[list[dict[str, Any]], int]:
    """Read the entries of a cache that fit their check sum, and count the lines that hold none."""
    if path is None or not path.is_file():
        return [], 0
    lines = [line for line in path.read_text(encoding="ascii", errors="replace").split("\n") if line]
    entries = [entry for entry in map(_entry, lines) if entry is not None]
    return entries, len(lines) - len(entries)


def _entry(line: str) -> dict[str, Any] | None:
    """Read a line; None where it is not what was written."""
    try:
        entry: dict[str, Any] = parse_json(line, "a cache", "a kept entry", fields({CHECK: text}))
        check = entry.pop(CHECK)
        if check != _sum(entry):
            return None
        in_shape(entry, "a cache", "a kept entry", _shape(entry))
    except BadInputError:  # also what another version of this program wrote
        return None
    return entry


def _shape(entry: Mapping[str, Any]) -> Shape:
    if "point" in entry:
        return KEPT_POINT
    return KEPT_DECIDED if "decided of" in entry else limited


def _line(entry: Mapping[str, Any]) -> str:
    written = json.dumps(entry)
    check = _sum(json.loads(written))  # of what will be read, so that the sum is the same then
    return f'{written[:-1]}, "{CHECK}": "{check}"}}\n'


def _sum(entry: Mapping[str, Any]) -> str:
    return sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
