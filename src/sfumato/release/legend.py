"""What a written file calls what it publishes, and the legend beside it: which items stand behind a name.

A published label says by itself what it stands for where it is an item, a set that is spelled out (`{a, b}`), or `*`
for all items; a node of a tree that was declared says it to whoever has the tree. Everything else needs a legend, which
is part of the release: nodes of a tree that was made of nothing but the order of items, and **class names** (`g001`)
that stand for sets where spelling them out at every occurrence would make the file much larger than it need be.

    auto     sets are named where spelling them out takes more than twice the characters that names and legend take,
             and more than a small file has anyway
    always   whatever stands for several items is named or, being a node, listed in the legend
    never    whatever stands for several items is spelled out; nodes of a declared tree keep their names

The rule looks at nothing but what is published. Names are numbered in the order of the first items of their sets, which
the legend shows anyway; only sets that some record shows have one; no published item, no item of a set and no node is
called like one. The legend lists what the file shows and nothing else, and says of which file it is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfumato.auditing._legend import KIND, SCHEMA
from sfumato.auditing.notation import set_members
from sfumato.config.options import check_choice
from sfumato.release.items import BasketRelease, set_label
from sfumato.runtime.arrays import Quiet

LegendMode = Literal["auto", "always", "never"]
MODES = ("auto", "always", "never")
EVERYTHING = "*"
WORTH_A_NAME = 2
"""How many times the characters of names and legend spelled-out sets may take before they are named."""

SMALL = 100_000
"""Characters of spelled-out sets that are never too many: a small file is read by people."""


@dataclass(frozen=True, repr=False)
class Behind(Quiet):
    """What stands behind a published label: its items in their order, and how many records show it."""

    items: tuple[str, ...]
    records: int
    is_known: bool = False
    """Whether it is a node of a tree that readers have."""


@dataclass(frozen=True, repr=False)
class Names(Quiet):
    """What a file shows in place of every published label, and what its legend says of it."""

    texts: Mapping[str, str]
    legend: Mapping[str, tuple[str, ...]]
    """By the text in the file; empty where every text says itself what it stands for."""


def names_of(sets_behind: Mapping[str, Behind], domain: int, mode: str = "auto", taken: Collection[str] = ()) -> Names:
    """Decide what a file calls the labels that it shows; `domain` is the number of all items.

    `taken` are further texts that readers may know, such as the nodes of a tree.

    >>> names = names_of({"{a, b}": Behind(("a", "b"), 90_000), "c": Behind(("c",), 7)}, 3)
    >>> names.texts["{a, b}"], names.texts["c"], dict(names.legend)
    ('g1', 'c', {'g1': ('a', 'b')})
    """
    check_choice("legend", mode, MODES)
    sets = dict.fromkeys(label for label, behind in sets_behind.items() if is_spelled(label, behind, taken))
    opaque = [
        label for label in sets_behind if label not in sets and not _says_itself(label, sets_behind[label], domain)
    ]
    if mode == "never":
        return Names({label: label for label in sets_behind} | _spelled(opaque, sets_behind), {})
    named = _class_names(sets, sets_behind, taken)
    if mode == "auto" and not _is_worth_names(named, sets_behind):
        named = {}
    if mode == "always":
        opaque = [label for label in sets_behind if label not in sets and sets_behind[label].items != (label,)]
    legend = {text: sets_behind[label].items for label, text in named.items()}
    legend |= {label: sets_behind[label].items for label in opaque}
    return Names({label: named.get(label, label) for label in sets_behind}, dict(sorted(legend.items())))


def names_as_before(labels: Sequence[str], stands_for: Mapping[str, tuple[str, ...]]) -> Names:
    """Call what a file shows as an earlier release did; the legend has what does not say itself what it stands for."""
    legend = {
        label: stands_for[label]
        for label in sorted(labels)
        if label != EVERYTHING
        and stands_for[label] != (label,)
        and not is_spelled(label, Behind(stands_for[label], 1), ())
    }
    return Names({label: label for label in labels}, legend)


def is_spelled(label: str, behind: Behind, taken: Collection[str]) -> bool:
    """Say whether a label spells out the items behind it, and no reader takes it for anything else."""
    if len(behind.items) < 2 or behind.is_known or label in taken:
        return False
    return tuple(member for member, _ in set_members(label) or ()) == behind.items


def _says_itself(label: str, behind: Behind, domain: int) -> bool:
    everything = label == EVERYTHING and len(behind.items) == domain
    return behind.is_known or behind.items == (label,) or everything


def _spelled(labels: Sequence[str], sets_behind: Mapping[str, Behind]) -> dict[str, str]:
    known = frozenset(item for behind in sets_behind.values() for item in behind.items)
    return {label: set_label(list(sets_behind[label].items), known) for label in labels}


def _class_names(sets: Collection[str], sets_behind: Mapping[str, Behind], taken: Collection[str]) -> dict[str, str]:
    """Number sets in the order in which they come, by a prefix that begins no number among the texts of readers."""
    texts = {
        *taken,
        *(set(sets_behind) - set(sets)),
        *(item for behind in sets_behind.values() for item in behind.items),
    }
    prefix = "g"
    while any(re.fullmatch(prefix + r"\d+", text) for text in texts):
        prefix += "g"
    width = len(str(len(sets)))
    return {label: f"{prefix}{number:0{width}}" for number, label in enumerate(sets, start=1)}


def _is_worth_names(named: Mapping[str, str], behind: Mapping[str, Behind]) -> bool:
    """Say whether spelling sets out takes much more than names and legend do."""
    spelled = sum(len(label) * behind[label].records for label in named)
    short = sum(len(name) * behind[label].records + len(name) + len(label) for label, name in named.items())
    return spelled > max(SMALL, WORTH_A_NAME * short)


def release_names(release: BasketRelease, mode: str = "auto") -> Names:
    """Decide what the file of a release calls its labels."""
    tree = release.baskets.tree
    taken = () if tree is None else {label for level in tree.levels for label in level.labels}
    return names_of(behind_labels(release), len(release.baskets.items), mode, taken)


def behind_labels(release: BasketRelease) -> dict[str, Behind]:
    """Say what stands behind every label that some record shows, in the order of their first items.

    A node of a declared tree stands for all its leaves, whether they occur or not.
    """
    tree, items = release.baskets.tree, release.baskets.items
    leaves = {} if tree is None else {name: tree.leaves[lo : hi + 1] for (lo, hi), name in tree.nodes.items()}
    members = {release.labels[number]: codes.tolist() for number, (_, codes) in release.behind.items()}
    supports = dict(zip(release.labels, release.part_supports.tolist(), strict=True))
    sets_behind = {}
    for label in sorted(members, key=members.__getitem__):  # not in the order of pieces, which could tell of records
        behind = tuple(items[code] for code in members[label])
        is_node = label in leaves and set(behind) == release.baskets.places.keys() & set(leaves[label])
        sets_behind[label] = Behind(leaves[label] if is_node else behind, supports[label], is_node)
    return sets_behind


# -- the file --------------------------------------------------------------------------------------------------


def write_legend(legend: Mapping[str, Sequence[str]], draft: Path, name: str, data: Path) -> None:
    """Write the legend of a data file that stands in `data` and will be called `name`: one line for every entry."""
    with data.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    head = {"schema": SCHEMA, "kind": KIND, "file": name, "sha256": digest}
    lines = [f"  {_json(key)}: {_json(value)}" for key, value in head.items()]
    entries = [f"    {_json(text)}: {_json(list(items))}" for text, items in legend.items()]
    lines.append('  "legend": {\n' + ",\n".join(entries) + "\n  }")
    draft.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
