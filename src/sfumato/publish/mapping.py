"""The mapping of a release: the recoding of values and items, for new data with the same columns.

A full-domain release has one level per column. Any other generalization has boxes. A new record goes to the box that
covers it with the least loss, preferably one whose own records surround it, because rounded ranges and nodes overlap.
A bucketization has no mapping, because it recodes nothing. The mapping contains hierarchies, also of suppressed values,
so it is internal. It also contains the missing texts and the formats of numbers and dates, because new data must be
read in the same way.

A table with items has a box for each group, also with levels, because empty groups have no rule for items. Each group
lists the published form of each item. An item that no record of the group has gets the smallest published form of the
group that contains it. The mapping of baskets lists the published form of each item once. A local recoding of baskets
has no mapping, because it has no rule for new records.
"""

from collections.abc import Mapping as Entries
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.dp.mechanism import assigned
from sfumato.auditing.items import MAPPING as BASKETS_KIND
from sfumato.auditing.items import WORDS
from sfumato.auditing.ledger import file_digest
from sfumato.config import documents
from sfumato.config.documents import fields, in_shape, json_text, text
from sfumato.data.cells import ranges
from sfumato.data.dataset import sensitive_places
from sfumato.data.declaration import ItemsDeclaration
from sfumato.data.hierarchies.hierarchy import Hierarchy, Level
from sfumato.data.reading import Missing, Roles
from sfumato.errors import BadInputError
from sfumato.publish.publication import Publishable
from sfumato.release.items import SUPPRESSED, BasketRelease, MixedRelease
from sfumato.release.release import Published
from sfumato.release.writing_items import Names, behind_parts, release_names
from sfumato.requirements.items import BasketRequirement, MixedRequirement, basket_requirement, mixed_requirement
from sfumato.requirements.requirement import Requirement, requirement
from sfumato.runtime.arrays import Codes, RedactedRepr
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import counted, refusal

SCHEMA = 2
KIND = "sfumato mapping"
ITEMS_KIND = "sfumato mapping of a table with items"
WHAT = "a mapping of sfumato"
OF_ITEMS = {BASKETS_KIND: "a mapping of baskets", ITEMS_KIND: "a mapping of a table with items"}

CODE = documents.whole(0, 2**31 - 1)
HIERARCHY = {
    "levels": documents.listed(fields({"starts": documents.listed(CODE), "labels": documents.listed(text)}), least=1),
    "widths": documents.listed(documents.number_or_infinity),
    "scale": documents.one_of("category", "number", "date"),
    "firsts": documents.listed(documents.number_or_infinity),
    "lasts": documents.listed(documents.number_or_infinity),
    "continuous": documents.flag,
    "missing": documents.flag,
    "observed": documents.flag,
    "strange": documents.listed(text),
}
COARSE = {"fine": documents.listed(documents.listed(text)), "kinds": documents.listed(CODE), "keep": CODE}
COLUMN_ROLES = ("quasi", "sensitive", "neutral", "identifier")
ROLES = fields(
    dict.fromkeys(COLUMN_ROLES, documents.listed(text)),
    {
        "household": documents.optional(text),
        "weights": documents.mapped(documents.number),
        "person": documents.optional(text),
        "one_record_per_person": documents.flag,
    },
)
MAPPING = fields(
    {
        "requirement": text,
        "roles": ROLES,
        "missing": documents.one_of("value", "drop"),
        "na": documents.listed(text),
        "levels": documents.listed(documents.whole(0, 1000)),
        "hierarchies": documents.mapped(fields(HIERARCHY, COARSE)),
    },
    {"notations": documents.mapped(text), "orders": documents.mapped(documents.listed(text))},
)
BOXES = ("lo", "hi", "core_lo", "core_hi")
GROUP = fields({"published": WORDS, "left_out": documents.listed(text)})
BASKETS = fields(
    {
        "requirement": text,
        "published": WORDS,
        "suppressed": documents.listed(text),
        "pieces": documents.listed(fields({})),
    },
    {"person": text},
)
SHAPE = fields(
    {
        "requirement": text,
        "table": fields({}),
        "items": fields(dict.fromkeys(("column", "id", "item", "separator"), documents.optional(text))),
        "sensitive": WORDS,
        "stands_for": WORDS,
        "groups": documents.listed(GROUP),
        "in_several_ways": documents.whole(),
    }
)
LEFT_OUT = None
"""The published form of a suppressed item."""


@dataclass(frozen=True, eq=False, repr=False)
class Mapping(RedactedRepr):
    """The recoding of the quasi-identifiers of a release."""

    requirement: Requirement
    roles: Roles
    missing: Missing
    na: tuple[str, ...]
    """Texts that were read as missing, besides the empty one."""

    hierarchies: Entries[str, Hierarchy]
    levels: tuple[int, ...]
    """One level per quasi-identifier, in the order of their names; empty if there are boxes."""

    lo: Codes
    hi: Codes
    """The boxes, least loss first; none if there are levels."""

    notations: Entries[str, str] = field(default_factory=dict)
    """The formats of columns that were read as numbers or dates."""

    orders: Entries[str, Sequence[str]] = field(default_factory=dict)
    """The order of the values of sensitive columns without a declared hierarchy."""

    core_lo: Codes | None = None
    core_hi: Codes | None = None
    """The ranges of the records of each box; None in a mapping of an earlier version."""

    def find(self, points: Codes) -> NDArray[np.int64]:
        """Return the box of each point, -1 if none covers it."""
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
        """Return the text of the mapping's file; it contains suppressed values."""
        return json_text({"kind": KIND, **self.content()}, SCHEMA)

    @cached_property
    def digest(self) -> str:
        """A digest that identifies the mapping in a ledger."""
        return sha256(self.to_text().encode()).hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class ItemMapping(RedactedRepr):
    """The recoding of items, by group of a table or for all baskets."""

    requirement: Any
    stands_for: Entries[str, tuple[str, ...]]
    """The items of each published text."""

    groups: tuple[Entries[str, str | None], ...]
    """For each box, or once, the published form of each item; None if it is suppressed."""

    digest: str
    boxes: Mapping | None = None
    """The boxes of the groups, least loss first; None for baskets."""

    items: Entries[str, str | None] = field(default_factory=dict)
    """The place of items: `column`, or `id` and `item` of a second file; and the `separator`."""

    sensitive: Entries[str, tuple[str, ...]] = field(default_factory=dict)
    """The items of each sensitive item or node."""

    person: str | None = None
    """Of baskets: the column that says whose they are."""

    @property
    def table(self) -> Mapping:
        """The boxes of the groups."""
        assert self.boxes is not None
        return self.boxes

    @property
    def column(self) -> str:
        """The name of the column of items."""
        return self.items["column"] or self.items["item"] or ""


def mapping_of(release: Published, wanted: Requirement) -> Mapping:
    """Return the mapping of a release."""
    release = assigned(release)
    if release.form == "bucketization":
        raise BadInputError("a bucketization publishes exact quasi-identifiers and recodes nothing: it has no mapping")
    if release.histograms is None and release.table.roles.sensitive:
        raise refusal("apply_error.no_sensitive")
    cells = release.cells
    names = {quasi.name: quasi.hierarchy for quasi in cells.quasi}
    # an observed domain of sensitive values may be different in new data
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


def read_mapping(path: str | Path) -> Any:
    """Read a mapping of a table, of baskets, or of a table with items."""
    path = Path(path)
    content = documents.read_json(path, WHAT, fields({"kind": text, "schema": documents.plain}))
    if content["kind"] == "sfumato certificate":
        raise refusal("apply_error.certificate", path=path)
    if content["kind"] not in (KIND, *OF_ITEMS) or content["schema"] != SCHEMA:
        raise refusal("apply_error.earlier_version", path=path)
    if content["kind"] == KIND:
        return mapping_from(content, str(path))
    read = _read_baskets if content["kind"] == BASKETS_KIND else _read_items
    return read(content, path, f"{path}: not {OF_ITEMS[content['kind']]}")


def mapping_from(content: Any, origin: str) -> Mapping:
    """Read a mapping from plain values; errors name their origin."""
    in_shape(content, origin, WHAT, MAPPING)
    with documents.named(origin):
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
        boxes = documents.listed(documents.listed(CODE, width))
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
    with documents.named(f"the hierarchy of column {name!r}"):
        return Hierarchy(**{key: entry[key] for key in HIERARCHY} | ends | {"levels": levels, **finer})


def _check_recoding(mapping: Mapping) -> None:
    """Raise unless every level and every end of a box is in its column's domain."""
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


# -- items ---------------------------------------------------------------------------------------------------------


def mixed_mapping(release: MixedRelease, wanted: MixedRequirement, items: ItemsDeclaration, names: Names) -> str:
    """Return the text of a release's mapping."""
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
        "kind": ITEMS_KIND,
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
    """Return for each group the published form of each item, and the number of groups with several forms of an item."""
    ways: list[dict[int, int]] = [{} for _ in range(release.relational.groups)]
    several: set[int] = set()
    entries = np.unique(np.stack([release.group[release.row_of_item], release.items, release.part], axis=1), axis=0)
    for group, item, part in entries.tolist():
        if ways[group].setdefault(item, part) != part:
            several.add(group)
    return ways, len(several)


def _completed(called: dict[str, str | None], stands: Entries[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return the items of each text of a group, also items that no record of the group has."""
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
    """Return the items of each published text, the suppressed items, and the published texts of each piece.

    A node of a declared tree contains all its leaves, also those that no basket has.
    """
    items, texts = release.baskets.items, (names or release_names(release)).texts
    return {
        "kind": BASKETS_KIND,
        "requirement": str(requirement),
        "anonymizer": release.maker,
        "records": release.baskets.size,
        "published": {texts[label]: list(behind.items) for label, behind in behind_parts(release).items()},
        "suppressed": [items[code] for code in release.unpublished],
        "pieces": [] if release.is_global else _pieces(release, texts),
    }


def _pieces(release: BasketRelease, texts: Any) -> list[dict[str, Any]]:
    """Return for each piece its number of records and published texts."""
    rows, order = release.recoded, np.argsort(release.piece, kind="stable")
    ends = np.searchsorted(release.piece[order], np.arange(len(release.recodings) + 1))
    pieces = []
    for piece in range(len(release.recodings)):
        places = order[ends[piece] : ends[piece + 1]]
        codes = {code for row in places for code in rows.codes[rows.starts[row] : rows.starts[row + 1]].tolist()}
        pieces.append(
            {"records": int(rows.weights[places].sum()), "shows": sorted(texts[rows.labels[code]] for code in codes)}
        )
    return pieces


def mapping_text(own: Publishable) -> str:
    """Return the text of a release's mapping, for the publisher."""
    wanted = own.candidate.requirement
    if own.kind == "baskets":
        person = None if own.declared is None else own.declared.sets.person
        content = basket_mapping(own.release, wanted, own.names)
        return json_text(content if person is None else content | {"person": person}, SCHEMA)
    if own.kind == "items":
        return mixed_mapping(own.release, wanted, own.declared.beside, own.names)
    return mapping_of(own.release, wanted).to_text()


def _read_items(content: Entries[str, Any], path: Path, wrong: str) -> ItemMapping:
    """Read a mapping of a table with items; several published forms of one item in a group are refused."""
    in_shape(content, str(path), OF_ITEMS[ITEMS_KIND], SHAPE)
    if content["in_several_ways"]:
        groups = counted(content["in_several_ways"], "group")
        raise refusal("apply_error.several_ways", path=path, groups=groups)
    of_table = mapping_from(content["table"], str(path))
    if of_table.levels or len(of_table.lo) != len(content["groups"]):
        raise BadInputError(f"{wrong} (it needs as many groups as boxes)")
    stands_for = {name: tuple(items) for name, items in content["stands_for"].items()}
    return ItemMapping(
        mixed_requirement(content["requirement"]),
        stands_for,
        tuple(
            _rule(group["published"], group["left_out"], stands_for, f"{wrong} (group {place}: ")
            for place, group in enumerate(content["groups"], start=1)
        ),
        file_digest(path),
        of_table,
        content["items"],
        {label: tuple(items) for label, items in content["sensitive"].items()},
    )


def _read_baskets(content: Entries[str, Any], path: Path, wrong: str) -> ItemMapping:
    """Read a mapping of baskets; a mapping of a local recoding is refused."""
    in_shape(content, str(path), OF_ITEMS[BASKETS_KIND], BASKETS)
    if content["pieces"]:
        raise refusal("apply_error.pieces", path=path, pieces=counted(len(content["pieces"]), "piece"))
    stands_for = {name: tuple(items) for name, items in content["published"].items()}
    called = _rule(stands_for, (), stands_for, f"{wrong} (") | dict.fromkeys(content["suppressed"], LEFT_OUT)
    wanted, person = basket_requirement(content["requirement"]), content.get("person")
    return ItemMapping(wanted, stands_for, (called,), file_digest(path), person=person)


def _rule(
    published: Entries[str, Sequence[str]], left_out: Sequence[str], known: Entries[str, Any], wrong: str
) -> dict[str, str | None]:
    """Return the published form of each item; raise if one has two, or a text has no items."""
    called: dict[str, str | None] = dict.fromkeys(left_out, LEFT_OUT)
    for name, items in published.items():
        twice = [item for item in items if item in called]
        if twice:
            raise BadInputError(f"{wrong}the item {twice[0]!r} is published in two ways)")
        if name not in known:
            raise BadInputError(f"{wrong}the items of {name!r} are missing)")
        called |= dict.fromkeys(items, name)
    return called


@kernel
def find_boxes(points: Codes, lo: Codes, hi: Codes) -> NDArray[np.int64]:
    """Return for each point the first box that covers it, -1 if none does."""
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
