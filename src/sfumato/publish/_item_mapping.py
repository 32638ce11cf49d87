"""Mappings of releases with items: how values and items were recoded, for the publisher alone.

For the publisher alone: it names items that were left out. The table's part is that of a table by boxes, one for every
group, also where values were recoded by levels: a group that nobody was in has no rule for its items. Every group says
as what each item is published in it; an item that nobody of the group had, but that something stands for which the
group shows, is published as the smallest of these.

The mapping of baskets says once what every item is published as. A release that was recoded piece by piece has no rule
by which a new record would find its piece.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping as Entries
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.auditing._legend import MAPPING, WORDS
from sfumato.auditing.ledger import file_digest
from sfumato.config.documents import (
    fields,
    in_shape,
    json_text,
    listed,
    one_of,
    optional,
    read_json,
    text,
    whole,
)
from sfumato.data.dataset import sensitive_places
from sfumato.data.declaration import ItemsDeclaration
from sfumato.errors import BadInputError
from sfumato.publish.mapping import Mapping, mapping_from, mapping_of
from sfumato.publish.publishable import Publishable
from sfumato.release.items import SUPPRESSED, BasketRelease, MixedRelease
from sfumato.release.writing_items import Names, behind_parts, release_names
from sfumato.requirements.items import BasketRequirement, MixedRequirement, basket_requirement, mixed_requirement
from sfumato.runtime.arrays import Quiet
from sfumato.texts.format import counted

KIND = "sfumato mapping of a table with items"
SCHEMA = 2
WHAT = {MAPPING: "a mapping of baskets", KIND: "a mapping of a table with items"}
GROUP = fields({"published": WORDS, "left_out": listed(text)})
BASKETS = fields({"requirement": text, "published": WORDS, "suppressed": listed(text), "pieces": listed(fields({}))})
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
class ItemMapping(Quiet):
    """How items were recoded: those of every group of a table, or of all baskets alike."""

    requirement: Any
    stands_for: Entries[str, tuple[str, ...]]
    """Which items each published text stands for."""

    groups: tuple[Entries[str, str | None], ...]
    """For every box, or once, what each item is published as; None where it is left out."""

    digest: str
    boxes: Mapping | None = None
    """Those of the groups, that lose least first; None where there is nothing but items."""

    items: Entries[str, str | None] = field(default_factory=dict)
    """Where items stand: `column`, or `id` and `item` of a second file; and the `separator`."""

    sensitive: Entries[str, tuple[str, ...]] = field(default_factory=dict)
    """Which items each sensitive one, or node, is."""

    @property
    def table(self) -> Mapping:
        """The boxes of the groups."""
        assert self.boxes is not None
        return self.boxes

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


def basket_mapping(
    release: BasketRelease, requirement: BasketRequirement, names: Names | None = None
) -> dict[str, Any]:
    """Say which items each published text stands for, which are left out, and what every piece of records shows.

    A node of a declared tree stands for all its leaves, also for those that no basket has.
    """
    items, texts = release.baskets.items, (names or release_names(release)).texts
    return {
        "kind": MAPPING,
        "requirement": str(requirement),
        "anonymizer": release.maker,
        "records": release.baskets.size,
        "published": {texts[label]: list(behind.items) for label, behind in behind_parts(release).items()},
        "suppressed": [items[code] for code in release.unpublished],
        "pieces": [] if release.is_global else _pieces(release, texts),
    }


def _pieces(release: BasketRelease, texts: Any) -> list[dict[str, Any]]:
    """Say of every piece how many records it has and what they show."""
    rows, order = release.recoded, np.argsort(release.piece, kind="stable")
    ends = np.searchsorted(release.piece[order], np.arange(len(release.recodings) + 1))
    pieces = []
    for piece in range(len(release.recodings)):
        places = order[ends[piece] : ends[piece + 1]]
        codes = {code for row in places for code in rows.codes[rows.starts[row] : rows.starts[row + 1]].tolist()}
        pieces.append(
            {
                "records": int(rows.weights[places].sum()),
                "shows": sorted(texts[rows.labels[code]] for code in codes),
            }
        )
    return pieces


def mapping_text(own: Publishable) -> str:
    """Write how the values of a release were recoded, for the publisher."""
    wanted = own.candidate.requirement
    if own.kind == "baskets":
        return json_text(basket_mapping(own.release, wanted, own.names), SCHEMA)
    if own.kind == "items":
        return mixed_mapping(own.release, wanted, own.declared.beside, own.names)
    return mapping_of(own.release, wanted).to_text()


def read_item_mapping(path: Path) -> ItemMapping:
    """Read a mapping back; one of a release that publishes an item in several ways is refused."""
    content = read_json(path, "a mapping of items", fields({"kind": one_of(MAPPING, KIND)}))
    what = WHAT[content["kind"]]
    in_shape(content, str(path), what, fields({"schema": one_of(SCHEMA)}))
    if content["kind"] == MAPPING:
        return _read_baskets(content, path, what)
    in_shape(content, str(path), what, SHAPE)
    if content["in_several_ways"]:
        groups = counted(content["in_several_ways"], "group")
        raise BadInputError(
            f"{path}: this release publishes an item in several ways within {groups}, and no rule says which one a new "
            "record takes; make a new release, or one with coat, pcta or aa (--items-with)"
        )
    of_table = mapping_from(content["table"], str(path))
    if of_table.levels or len(of_table.lo) != len(content["groups"]):
        raise BadInputError(f"{path}: not {what} (it needs as many groups as boxes)")
    rules = []
    for place, group in enumerate(content["groups"], start=1):
        called: dict[str, str | None] = dict.fromkeys(group["left_out"], LEFT_OUT)
        for name, items in group["published"].items():
            twice = [item for item in items if item in called]
            if twice or name not in content["stands_for"]:
                wrong = f"the item {twice[0]!r} is published in two ways" if twice else f"nobody says what {name!r} is"
                raise BadInputError(f"{path}: not {what} (group {place}: {wrong})")
            called |= dict.fromkeys(items, name)
        rules.append(called)
    return ItemMapping(
        mixed_requirement(content["requirement"]),
        {name: tuple(items) for name, items in content["stands_for"].items()},
        tuple(rules),
        file_digest(path),
        of_table,
        content["items"],
        {label: tuple(items) for label, items in content["sensitive"].items()},
    )


def _read_baskets(content: Entries[str, Any], path: Path, what: str) -> ItemMapping:
    """Read a mapping of baskets; one of a release that was recoded piece by piece is refused."""
    in_shape(content, str(path), what, BASKETS)
    if content["pieces"]:
        raise BadInputError(
            f"{path}: this release recodes its records in {counted(len(content['pieces']), 'piece')}, each in its own "
            "way, and no rule says to which one a new record belongs; make a new release, or one by aa, coat or pcta"
        )
    behind = Counter(item for items in content["published"].values() for item in items)
    twice = [item for item, times in behind.items() if times > 1]
    if twice:
        raise BadInputError(f"{path}: not {what} (the item {twice[0]!r} is published in two ways)")
    stands_for = {name: tuple(items) for name, items in content["published"].items()}
    called: dict[str, str | None] = {item: name for name, items in stands_for.items() for item in items}
    called |= dict.fromkeys(content["suppressed"], LEFT_OUT)
    return ItemMapping(basket_requirement(content["requirement"]), stands_for, (called,), file_digest(path))
