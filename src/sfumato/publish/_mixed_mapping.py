"""The mapping of a release of a table with items: how values and the items of every group were recoded.

For the publisher alone: it names items that were left out. The table's part is that of a table by boxes, one for every
group, also where values were recoded by levels: a group that nobody was in has no rule for its items. Every group says
as what each item is published in it; an item that nobody of the group had, but that something stands for which the
group shows, is published as the smallest of these.
"""

from __future__ import annotations

from collections.abc import Mapping as Entries
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.auditing.ledger import file_digest
from sfumato.config.documents import (
    fields,
    in_shape,
    json_text,
    listed,
    mapped,
    one_of,
    optional,
    read_json,
    text,
    whole,
)
from sfumato.data.dataset import sensitive_places
from sfumato.data.mixed_declaration import ItemsDeclaration
from sfumato.errors import BadInputError
from sfumato.publish.mapping import Mapping, mapping_from, mapping_of
from sfumato.release.items import SUPPRESSED, MixedRelease
from sfumato.release.legend import Names
from sfumato.release.mixed_writing import behind_parts
from sfumato.requirements.items import MixedRequirement, mixed_requirement
from sfumato.runtime.arrays import Quiet
from sfumato.texts.format import counted

KIND = "sfumato mapping of a table with items"
SCHEMA = 2
WHAT = "a mapping of a table with items"
WORDS = mapped(listed(text))
GROUP = fields({"published": WORDS, "left_out": listed(text)})
SHAPE = fields(
    {
        "requirement": text,
        "table": fields({}),
        "items": fields(dict.fromkeys(("column", "id", "item", "separator"), optional(text))),
        "sensitive": WORDS,
        "stands_for": WORDS,
        "groups": listed(GROUP),
        "in_several_ways": whole(),
    }
)
LEFT_OUT = None
"""What an item is published as that is left out."""


@dataclass(frozen=True, eq=False, repr=False)
class MixedMapping(Quiet):
    """How the quasi-identifiers of a table and the items of every group were recoded."""

    requirement: MixedRequirement
    table: Mapping
    """The boxes of the groups, those that lose least first."""

    items: Entries[str, str | None]
    """Where items stand: `column`, or `id` and `item` of a second file; and the `separator`."""

    sensitive: Entries[str, tuple[str, ...]]
    """Which items each sensitive one, or node, is."""

    stands_for: Entries[str, tuple[str, ...]]
    """Which items each published text stands for."""

    groups: tuple[Entries[str, str | None], ...]
    """For every box what each item is published as; None where it is left out."""

    digest: str

    @property
    def column(self) -> str:
        """What the column of items is called."""
        return self.items["column"] or self.items["item"] or ""


def mixed_mapping(release: MixedRelease, wanted: MixedRequirement, items: ItemsDeclaration, names: Names) -> str:
    """Write the mapping of a release."""
    data, relational = release.data, replace(release.relational, levels=())
    of_table = mapping_of(relational, wanted.of_groups)
    hierarchies = {name: tree for name, tree in of_table.hierarchies.items() if name != data.column}
    of_table = replace(of_table, roles=data.declared.roles, hierarchies=hierarchies)
    behind = behind_parts(release)
    stands = {names.texts[label]: one.items for label, one in behind.items()}
    ways, several = _ways(release)
    boxes = relational.boxes
    place = {(*lo, *hi): group for group, (lo, hi) in enumerate(zip(boxes.lo.tolist(), boxes.hi.tolist(), strict=True))}
    groups = []
    for lo, hi in zip(of_table.lo.tolist(), of_table.hi.tolist(), strict=True):
        of_group = ways[place[(*lo, *hi)]]
        called = {
            data.baskets.items[item]: LEFT_OUT if part == SUPPRESSED else names.texts[release.parts.labels[part]]
            for item, part in of_group.items()
        }
        groups.append(_completed(called, stands))
    content = {
        "kind": KIND,
        "requirement": str(wanted),
        "anonymizer": release.maker,
        "records": data.records,
        "table": of_table.content(),
        "items": {name: getattr(items, name) for name in ("column", "id", "item", "separator")},
        "sensitive": {
            label: [data.baskets.items[code] for code in sensitive_places(data.baskets, label).tolist()]
            for label in data.sensitive
        },
        "stands_for": {label: list(members) for label, members in stands.items()},
        "groups": groups,
        "in_several_ways": several,
    }
    return json_text(content, SCHEMA)


def _ways(release: MixedRelease) -> tuple[list[dict[int, int]], int]:
    """Say for every group what each item is published as, and how many groups publish an item in several ways."""
    ways: list[dict[int, int]] = [{} for _ in range(release.relational.groups)]
    several: set[int] = set()
    entries = np.unique(np.stack([release.group[release.row_of_item], release.items, release.part], axis=1), axis=0)
    for group, item, part in entries.tolist():
        if ways[group].setdefault(item, part) != part:
            several.add(group)
    return ways, len(several)


def _completed(called: dict[str, str | None], stands: Entries[str, tuple[str, ...]]) -> dict[str, Any]:
    """List what each text of a group is published for, also items that nobody of the group had."""
    texts = sorted({called[item] for item in called} - {LEFT_OUT}, key=lambda name: (len(stands[str(name)]), str(name)))
    published: dict[str, list[str]] = {str(name): [] for name in texts}
    for name in published:
        for item in stands[name]:
            if called.setdefault(item, name) == name:
                published[name].append(item)
    left_out = [item for item, name in called.items() if name is LEFT_OUT]
    return {"published": published, "left_out": sorted(left_out)}


def read_mixed_mapping(path: Path) -> MixedMapping:
    """Read a mapping back; one of a release that publishes an item of a group in several ways is refused."""
    content = read_json(path, WHAT, fields({"kind": one_of(KIND), "schema": one_of(SCHEMA)}))
    in_shape(content, str(path), WHAT, SHAPE)
    if content["in_several_ways"]:
        groups = counted(content["in_several_ways"], "group")
        raise BadInputError(
            f"{path}: this release publishes an item in several ways within {groups}, and no rule says which one a new "
            "record takes; make a new release, or one with coat, pcta or aa (--items-with)"
        )
    of_table = mapping_from(content["table"], str(path))
    if of_table.levels or len(of_table.lo) != len(content["groups"]):
        raise BadInputError(f"{path}: not {WHAT} (it needs as many groups as boxes)")
    rules = []
    for place, group in enumerate(content["groups"], start=1):
        called: dict[str, str | None] = dict.fromkeys(group["left_out"], LEFT_OUT)
        for name, items in group["published"].items():
            twice = [item for item in items if item in called]
            if twice or name not in content["stands_for"]:
                what = f"the item {twice[0]!r} is published in two ways" if twice else f"nobody says what {name!r} is"
                raise BadInputError(f"{path}: not {WHAT} (group {place}: {what})")
            called |= dict.fromkeys(items, name)
        rules.append(called)
    return MixedMapping(
        mixed_requirement(content["requirement"]),
        of_table,
        content["items"],
        {label: tuple(items) for label, items in content["sensitive"].items()},
        {name: tuple(items) for name, items in content["stands_for"].items()},
        tuple(rules),
        file_digest(path),
    )
