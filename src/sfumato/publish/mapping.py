"""The mapping of a release: how values were recoded, kept so that new data of the same columns can be recoded alike.

A full-domain release has one level per column. Any other generalization has boxes; a new record goes to the box that
covers it and loses least, first of all to one whose own records are around it, since rounded ranges and nodes overlap.
A bucketization recodes nothing, so it has no mapping. Hierarchies travel with the mapping,
also values that were suppressed: it is for the publisher. So does what was read as missing and how
numbers and dates were written, for new data must be read as the old were.
"""

from __future__ import annotations

from collections.abc import Mapping as Entries
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.dp.mechanism import assigned
from sfumato.config.documents import (
    fields,
    flag,
    in_shape,
    json_text,
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
    whole,
)
from sfumato.data.assignment import ranges
from sfumato.data.hierarchies.hierarchy import Hierarchy, Level
from sfumato.data.reading import Missing, Roles
from sfumato.errors import BadInputError
from sfumato.release.release import Published
from sfumato.requirements.requirement import Requirement, requirement
from sfumato.runtime.arrays import Codes, Quiet
from sfumato.runtime.kernels import kernel

SCHEMA = 2
KIND = "sfumato mapping"
WHAT = "a mapping of sfumato"

CODE = whole(0, 2**31 - 1)
HIERARCHY = {
    "levels": listed(fields({"starts": listed(CODE), "labels": listed(text)}), least=1),
    "widths": listed(number_or_infinity),
    "scale": one_of("category", "number", "date"),
    "firsts": listed(number_or_infinity),
    "lasts": listed(number_or_infinity),
    "continuous": flag,
    "missing": flag,
    "observed": flag,
    "strange": listed(text),
}
COARSE = {"fine": listed(listed(text)), "kinds": listed(CODE), "keep": CODE}
COLUMN_ROLES = ("quasi", "sensitive", "neutral", "identifier")
ROLES = fields(
    dict.fromkeys(COLUMN_ROLES, listed(text)),
    {
        "household": optional(text),
        "weights": mapped(number),
        "person": optional(text),
        "one_record_per_person": flag,
    },
)
MAPPING = fields(
    {
        "requirement": text,
        "roles": ROLES,
        "missing": one_of("value", "drop"),
        "na": listed(text),
        "levels": listed(whole(0, 1000)),
        "hierarchies": mapped(fields(HIERARCHY, COARSE)),
    },
    {"notations": mapped(text), "orders": mapped(listed(text))},
)
BOXES = ("lo", "hi", "core_lo", "core_hi")


@dataclass(frozen=True, eq=False, repr=False)
class Mapping(Quiet):
    """How the quasi-identifiers of a release were recoded."""

    requirement: Requirement
    roles: Roles
    missing: Missing
    na: tuple[str, ...]
    """Texts that were read as missing, beside the empty one."""

    hierarchies: Entries[str, Hierarchy]
    levels: tuple[int, ...]
    """One level per quasi-identifier, in the order of their names; empty where there are boxes."""

    lo: Codes
    hi: Codes
    """The boxes, those that lose least first; none where there are levels."""

    notations: Entries[str, str] = field(default_factory=dict)
    """How columns were written whose texts were read as numbers or dates."""

    orders: Entries[str, Sequence[str]] = field(default_factory=dict)
    """The order of the values of sensitive columns without a declared hierarchy."""

    core_lo: Codes | None = None
    core_hi: Codes | None = None
    """The ranges of the records of every box; None in a mapping of an earlier version."""

    def find(self, points: Codes) -> NDArray[np.int64]:
        """Find the box of every point, -1 where none covers it."""
        box = find_boxes(points, self.lo, self.hi)
        if self.core_lo is None or self.core_hi is None:
            return box
        core = find_boxes(points, self.core_lo, self.core_hi)
        return np.where(core < 0, box, core)

    def content(self) -> dict[str, Any]:
        """Return the mapping as plain values."""
        return {
            "requirement": str(self.requirement),
            "roles": {role: columns for role, columns in asdict(self.roles).items() if role != "weights"}
            | ({"weights": dict(self.roles.weights)} if self.roles.weights else {}),
            "missing": self.missing,
            "na": list(self.na),
            "notations": dict(self.notations),
            "orders": {name: list(values) for name, values in self.orders.items()},
            "levels": list(self.levels),
            **{end: ends.tolist() for end in BOXES if (ends := getattr(self, end)) is not None},
            "hierarchies": {name: asdict(hierarchy) for name, hierarchy in self.hierarchies.items()},
        }

    def to_text(self) -> str:
        """Return the mapping as it is written to a file; it holds values that were suppressed."""
        return json_text({"kind": KIND, **self.content()}, SCHEMA)

    @cached_property
    def digest(self) -> str:
        """A digest by which a ledger tells mappings apart."""
        return sha256(self.to_text().encode()).hexdigest()


def mapping_of(release: Published, wanted: Requirement) -> Mapping:
    """Take the mapping out of a release."""
    release = assigned(release)
    if release.form == "bucketization":
        raise BadInputError("a bucketization publishes exact quasi-identifiers and recodes nothing: it has no mapping")
    if release.histograms is None and release.table.roles.sensitive:
        raise BadInputError(
            "this release leaves the sensitive columns out, and new data recoded as it was would show them: it has no "
            "mapping; leave these columns out of the study, or publish one that shows them"
        )
    cells = release.cells
    names = {quasi.name: quasi.hierarchy for quasi in cells.quasi}
    # a domain of sensitive values that was only observed may be another one in new data
    observed = [attribute for attribute in cells.sensitive if attribute.hierarchy.lists_values]
    names |= {attribute.name: attribute.hierarchy for attribute in cells.sensitive if attribute not in observed}
    orders = {attribute.name: attribute.labels for attribute in observed}
    table = release.table
    reading = (wanted, table.roles, table.missing, tuple(table.engine.na), names)
    boxes = np.zeros((0, len(cells.quasi)), np.int32)
    if release.levels:
        return Mapping(*reading, release.levels, boxes, boxes, table.engine.notations, orders)
    losses = sum(
        cells.weights[a] * quasi.hierarchy.losses(release.boxes.lo[:, a], release.boxes.hi[:, a])
        for a, quasi in enumerate(cells.quasi)
    )
    order = np.lexsort((*release.boxes.lo.T[::-1], np.asarray(losses)))
    codes = cells.codes[release.assignment.cell]
    ends = (release.boxes.lo, release.boxes.hi, *ranges(release.assignment.group, codes, codes))
    lo, hi, core_lo, core_hi = (end[order] for end in ends)
    return Mapping(*reading, (), lo, hi, table.engine.notations, orders, core_lo, core_hi)


def read_mapping(path: str | Path) -> Mapping:
    """Read a mapping back."""
    path = Path(path)
    content = read_json(path, WHAT, fields({"kind": text, "schema": plain}))
    if content["kind"] == "sfumato certificate":
        raise BadInputError(
            f"{path}: this is a certificate, not a mapping; `sfumato release --mapping` writes one of a release "
            "that recodes values (a differentially private one does not: it has none)"
        )
    if content["kind"] != KIND or content["schema"] != SCHEMA:
        raise BadInputError(
            f"{path}: not a mapping that this version of sfumato can read; an earlier version's does not say what was "
            "read as missing: write it anew (`sfumato release --mapping`)"
        )
    return mapping_from(content, str(path))


def mapping_from(content: Any, origin: str) -> Mapping:
    """Read a mapping from plain values; what is wrong with them is said of their origin."""
    in_shape(content, origin, WHAT, MAPPING)
    with named(origin):
        columns = content["roles"]
        quasi, sensitive, neutral, identifier = (tuple(columns[role]) for role in COLUMN_ROLES)
        roles = Roles(
            quasi,
            sensitive,
            neutral,
            identifier,
            columns.get("household"),
            tuple(columns.get("weights", {}).items()),
            columns.get("person"),
            columns.get("one_record_per_person", False),
        )
        hierarchies = {name: _hierarchy(name, entry) for name, entry in content["hierarchies"].items()}
        wanted = requirement(content["requirement"])
        width = len(roles.quasi)
        boxes = listed(listed(CODE, width))
        in_shape(content, origin, WHAT, fields(dict.fromkeys(BOXES[:2], boxes), dict.fromkeys(BOXES[2:], boxes)))
        lo, hi, *core = (np.array(content[end], np.int32).reshape(-1, width) for end in BOXES if end in content)
        reading = (wanted, roles, content["missing"], tuple(content["na"]), hierarchies)
        kept = (content.get("notations", {}), content.get("orders", {}))
        mapping = Mapping(*reading, tuple(content["levels"]), lo, hi, *kept, *core)
        _check_recoding(mapping)
    return mapping


def _hierarchy(name: str, entry: dict[str, Any]) -> Hierarchy:
    finer = {
        "fine": tuple(tuple(labels) for labels in entry.get("fine", ())),
        "kinds": tuple(entry.get("kinds", ())),
        "keep": entry.get("keep", 0),
    }
    levels = tuple(Level(tuple(level["starts"]), tuple(level["labels"])) for level in entry["levels"])
    ends = {
        name: tuple(float(value) for value in entry[name]) for name in ("widths", "firsts", "lasts")
    }  # infinities are texts
    ends["strange"] = tuple(entry["strange"])
    with named(f"the hierarchy of column {name!r}"):
        return Hierarchy(**{key: entry[key] for key in HIERARCHY} | ends | {"levels": levels, **finer})


def _check_recoding(mapping: Mapping) -> None:
    """Raise unless every level and every end of a box lies in its column's domain."""
    names = sorted(mapping.roles.quasi)
    lacking = [name for name in names if name not in mapping.hierarchies]
    if lacking:
        raise BadInputError(f"not {WHAT} (it has no hierarchy of the quasi-identifier {lacking[0]!r})")
    hierarchies = [mapping.hierarchies[name] for name in names]
    lengths = {len(ends) for end in BOXES if (ends := getattr(mapping, end)) is not None}
    one_core = (mapping.core_lo is None) != (mapping.core_hi is None)
    if bool(mapping.levels) == bool(len(mapping.lo)) or len(lengths) > 1 or one_core:
        raise BadInputError(f"not {WHAT} (it needs levels, or as many lower as upper ends of boxes)")
    if mapping.levels and len(mapping.levels) != len(names):
        raise BadInputError(f"not {WHAT} (it needs one level for each of {len(names)} quasi-identifiers)")
    for name, hierarchy, level in zip(names, hierarchies, mapping.levels, strict=False):
        if level > hierarchy.height:
            raise BadInputError(
                f"not {WHAT} (column {name!r} has no level {level}; its last one is {hierarchy.height})"
            )
    sizes = np.array([hierarchy.size for hierarchy in hierarchies])
    for box, a in np.argwhere((mapping.lo > mapping.hi) | (mapping.hi >= sizes)):
        raise BadInputError(
            f"not {WHAT} (box {box + 1} has {mapping.lo[box, a]} to {mapping.hi[box, a]} in column {names[a]!r}, whose "
            f"leaves are 0 to {sizes[a] - 1})"
        )
    if mapping.core_lo is not None and mapping.core_hi is not None:
        ends = (mapping.lo, mapping.core_lo, mapping.core_hi, mapping.hi)
        for box, _ in np.argwhere(np.diff(np.stack(ends), axis=0).min(axis=0) < 0):
            raise BadInputError(f"not {WHAT} (box {box + 1} does not cover its own records)")


@kernel
def find_boxes(points: Codes, lo: Codes, hi: Codes) -> NDArray[np.int64]:
    """Find for every point the first box that covers it, -1 where none does."""
    box_of = np.full(len(points), -1, np.int64)
    for i in range(len(points)):
        for b in range(len(lo)):
            inside = True
            for a in range(points.shape[1]):
                if points[i, a] < lo[b, a] or points[i, a] > hi[b, a]:
                    inside = False
                    break
            if inside:
                box_of[i] = b
                break
    return box_of
