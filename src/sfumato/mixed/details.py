"""What a person may want to see of one release of a table with items, in small tables. They show records: internal."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.anonymizers import Anonymizer, Maker
from sfumato.measures import Measured
from sfumato.mixed.release import MixedRelease
from sfumato.release.changes import column_changes
from sfumato.tradeoff.exploration.details import details
from sfumato.transactions.details import SAMPLE, short

SHOWN = 8


def mixed_details(release: MixedRelease, relational: Measured, maker: Maker) -> dict[str, Any]:
    """Describe a release: its groups as those of a table, its largest parts, some records before and after."""
    table = release.relational.table
    ranges = maker.ranges_of(table) if isinstance(maker, Anonymizer) else "tight"
    seen = details(release.relational, relational.losses, ranges)
    return {
        "ends": seen["ends"],
        "groups": seen["groups"],
        "sizes": seen["sizes"],
        "columns": [column for column in seen["columns"] if column["name"] != release.data.column],
        "tables": [
            {
                "title": f"The parts that stand for most items ({len(release.parts.labels):,} published parts)",
                "heads": [["published part", ""], ["stands for", "number"], ["records", "number"]],
                "rows": _largest(release),
            },
            {
                "title": SAMPLE,
                "heads": [["group", ""], ["items before", ""], ["items after", ""], ["records alike", "number"]],
                "rows": _records(release),
            },
        ],
    }


def mixed_changes(release: MixedRelease) -> dict[str, str]:
    """Say what was done to every column, in a few words."""
    changes = {name: text for name, text in column_changes(release.relational).items() if name != release.data.column}
    return changes | {release.data.column: _item_changes(release)}


def _item_changes(release: MixedRelease) -> str:
    records = release.count[release.row_of_item]
    sizes = np.append(release.parts.sizes, 0)[release.part]  # nothing where an item is left out
    total = max(int(records.sum()), 1)
    ways = {
        "published as they are": sizes == 1,
        "together with others": sizes > 1,
        "left out": sizes == 0,
    }
    shares = {way: int(records[kind].sum()) / total for way, kind in ways.items()}
    return ", ".join(f"{way} ({share:.1%} of the items of records)" for way, share in shares.items() if share)


def _largest(release: MixedRelease) -> list[list[Any]]:
    supports = release.part_supports
    order = sorted(np.flatnonzero(supports).tolist(), key=lambda p: (-release.parts.sizes[p], -supports[p], p))
    return [[short(release.parts.labels[p]), int(release.parts.sizes[p]), int(supports[p])] for p in order[:SHOWN]]


def _records(release: MixedRelease) -> list[list[Any]]:
    """Show some rows, spread evenly over all."""
    data, relational = release.data, release.relational
    texts = [relational.quasi_texts(attribute) for attribute in range(len(data.cells.quasi))]
    starts, codes = release.shown
    examples = []
    for row in dict.fromkeys(np.linspace(0, len(release.count) - 1, SHOWN).astype(int).tolist()):
        group = int(release.group[row])
        box = ", ".join(each[number[group]] for each, number in texts)
        after = ", ".join(release.parts.labels[code] for code in codes[starts[row] : starts[row + 1]])
        before = ", ".join(data.baskets.basket(int(release.basket[row])))
        examples.append([box, short(before or "(nothing)"), short(after or "(nothing)"), int(release.count[row])])
    return examples
