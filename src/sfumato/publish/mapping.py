"""The mapping of a release: how values were recoded, kept so that new data of the same columns can be recoded alike.

A full-domain release has one level per column. Any other generalization has boxes; a new record goes to the box that
covers it and loses least. A bucketization recodes nothing, so it has no mapping. Hierarchies travel with the mapping,
also values that were suppressed: it is for the publisher. So does what was read as missing, for new data must be read
as the old were.
"""

from __future__ import annotations

import json
from collections.abc import Mapping as Entries
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers import assigned
from sfumato.errors import BadInputError
from sfumato.kernels import kernel
from sfumato.plain import json_text
from sfumato.release import NoisyRelease, Release, staged
from sfumato.release.writing import check_target, writable
from sfumato.requirements import Requirement, requirement
from sfumato.table import Hierarchy, Level, Roles
from sfumato.table.table import Missing

SCHEMA = 2
KIND = "sfumato mapping"
Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Mapping:
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

    def to_json(self, path: str | Path, force: bool = False) -> Path:
        """Write the mapping, all or nothing."""
        target = Path(path)
        check_target(target, force)
        content = {
            "kind": KIND,
            "requirement": str(self.requirement),
            "roles": asdict(self.roles),
            "missing": self.missing,
            "na": list(self.na),
            "levels": list(self.levels),
            "lo": self.lo.tolist(),
            "hi": self.hi.tolist(),
            "hierarchies": {name: asdict(own) for name, own in self.hierarchies.items()},
        }
        with writable(target), staged([target]) as [draft]:
            draft.write_text(json_text(content, SCHEMA), encoding="utf-8")
        return target


def mapping_of(release: Release | NoisyRelease, wanted: Requirement) -> Mapping:
    """Take the mapping out of a release."""
    release = assigned(release)
    if release.form == "bucketization":
        raise BadInputError("a bucketization publishes exact quasi-identifiers and recodes nothing: it has no mapping")
    cells = release.cells
    names = {quasi.name: quasi.hierarchy for quasi in cells.quasi}
    # a domain of sensitive values that was only observed may be another one in new data
    names |= {own.name: own.hierarchy for own in cells.sensitive if not own.hierarchy.observed}
    table = release.table
    reading = (wanted, table.roles, table.missing, tuple(table.engine.na), names)
    boxes = np.zeros((0, len(cells.quasi)), np.int32)
    if release.levels:
        return Mapping(*reading, release.levels, boxes, boxes)
    losses = sum(
        quasi.hierarchy.losses(release.boxes.lo[:, a], release.boxes.hi[:, a]) for a, quasi in enumerate(cells.quasi)
    )
    order = np.lexsort((*release.boxes.lo.T[::-1], np.asarray(losses)))
    return Mapping(*reading, (), release.boxes.lo[order], release.boxes.hi[order])


def read_mapping(path: str | Path) -> Mapping:
    """Read a mapping back."""
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["kind"] == "sfumato certificate":
            raise BadInputError(
                f"{path}: this is a certificate, not a mapping; `sfumato release --mapping` writes one of a release "
                "that recodes values (a differentially private one does not: it has none)"
            )
        if content["kind"] != KIND or content["schema"] != SCHEMA:
            raise BadInputError(
                f"{path}: not a mapping that this version of sfumato can read; an earlier version's does not say what "
                "was read as missing: write it anew (`sfumato release --mapping`)"
            )
        named = content["roles"]
        quasi, sensitive, neutral, identifier = (
            tuple(named[role]) for role in ("quasi", "sensitive", "neutral", "identifier")
        )
        roles = Roles(quasi, sensitive, neutral, identifier, named.get("household"))
        width = len(roles.quasi)
        return Mapping(
            requirement(content["requirement"]),
            roles,
            content["missing"],
            tuple(content["na"]),
            {name: _hierarchy(own) for name, own in content["hierarchies"].items()},
            tuple(content["levels"]),
            np.array(content["lo"], np.int32).reshape(-1, width),
            np.array(content["hi"], np.int32).reshape(-1, width),
        )
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInputError(f"{path}: not a mapping of sfumato ({error!r})") from None


def _hierarchy(entry: dict[str, Any]) -> Hierarchy:
    levels = tuple(Level(tuple(own["starts"]), tuple(own["labels"])) for own in entry["levels"])
    ends = {
        name: tuple(float(value) for value in entry[name]) for name in ("widths", "firsts", "lasts")
    }  # infinities are texts
    return Hierarchy(**{**entry, **ends, "levels": levels, "strange": tuple(entry["strange"])})


@kernel
def find_boxes(points: Codes, lo: Codes, hi: Codes) -> NDArray[np.int64]:
    """Find for every point the first box that covers it, -1 where none does."""
    found = np.full(len(points), -1, np.int64)
    for i in range(len(points)):
        for b in range(len(lo)):
            inside = True
            for a in range(points.shape[1]):
                if points[i, a] < lo[b, a] or points[i, a] > hi[b, a]:
                    inside = False
                    break
            if inside:
                found[i] = b
                break
    return found
