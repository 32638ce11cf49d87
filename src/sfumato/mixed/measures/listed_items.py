"""What the sets of a group tell of the group beyond what they stand for: that somebody in it has every item of a set.

A set `{a, b, c}` stands for "one or more of these". Where sets are made of the items of their group (`sets=group`), all
of them are had by somebody there, and a reader who knows how sets are made knows it. A node of a declared tree is the
same wherever it is published, and tells nothing of the kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Counts, Flags
from sfumato.mixed.release import MixedRelease
from sfumato.mixed.writing import behind_parts
from sfumato.quiet import Quiet
from sfumato.transactions.baskets import taken_rows


@dataclass(frozen=True, repr=False)
class ListedItems(Quiet):
    """How much the sets of groups list of what somebody in the group has."""

    groups: int
    """How many groups show a set of which every item is had by somebody in the group."""

    of_groups: int
    most: int
    """How many items such sets list in the group where they list most."""

    records: int
    """How many records that group has."""

    of_items: int
    rare: int
    """How many of all listed items fewer records of the whole table have than a bound."""


def set_parts(release: MixedRelease) -> Flags:
    """Say of every part whether it is shown as a set of items that was made here: no item, and no node of the tree."""
    behind = behind_parts(release)
    sets = [
        label in behind and len(behind[label].items) > 1 and not behind[label].is_known
        for label in release.parts.labels
    ]
    return np.array(sets, np.bool_)


def listed_items(release: MixedRelease, few: int) -> ListedItems:
    """Count what sets list, group by group; `few` is the bound under which an item is rare in the whole table."""
    items, parts = len(release.data.baskets.items), release.parts
    had = np.unique(release.group[release.row_of_item] * items + release.items)
    starts, codes = release.shown
    width = max(len(parts.labels), 1)
    shown = np.unique(np.repeat(release.group, np.diff(starts)) * width + codes)
    shown = shown[set_parts(release)[shown % width]] if parts.labels else shown
    group, part = shown // width, shown % width
    at, members = taken_rows(parts.starts, parts.items, part)
    entry = np.repeat(np.arange(len(part)), np.diff(at))
    keys = group[entry] * items + members
    missing = np.bincount(entry, ~np.isin(keys, had), len(part))
    keys = np.unique(keys[missing[entry] == 0])
    listed = np.bincount(keys // items, minlength=release.relational.groups)
    most = int(listed.argmax()) if len(listed) else 0
    supports = _records_with_items(release)
    return ListedItems(
        int((listed > 0).sum()),
        release.relational.groups,
        int(listed.max(initial=0)),
        int(release.relational.sizes[most]),
        items,
        int((supports[np.unique(keys % items)] < few).sum()),
    )


def _records_with_items(release: MixedRelease) -> Counts:
    """Return how many records of the table have every item."""
    baskets = release.data.baskets
    records = np.repeat(baskets.weights, baskets.lengths)
    return np.bincount(baskets.codes, records, len(baskets.items)).astype(np.int64)
