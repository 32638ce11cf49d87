"""What a person may want to see of a release with items, in small tables. They show records: internal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.anonymizers.anonymizer import Anonymizer, ReleaseMaker
from sfumato.measures.groups import Measured
from sfumato.measures.items.losses import ItemStudy
from sfumato.release._itemsets import Rows, weakest
from sfumato.release.changes import column_changes
from sfumato.release.items import BasketRelease, MixedRelease
from sfumato.tradeoff.exploration.details import details

SHOWN = 8
LENGTHS = (0, 1, 2, 3, 6, 11, 21, 51, 101)
"""Where the bins of the numbers of items begin."""

LONG = 160
"""Letters of a text after which it is cut short."""

SAMPLE = "Some records, before and after"
"""The title of the one table that shows records."""


def item_details(
    release: Any, measured: Measured, maker: ReleaseMaker, studies: Sequence[ItemStudy] = ()
) -> dict[str, Any]:
    """Describe a release with items."""
    if isinstance(release, MixedRelease):
        return _mixed_details(release, measured, maker)
    return _basket_details(release, measured.matching, studies)


def item_changes(release: Any) -> dict[str, str]:
    """Say what was done to every column, in a few words."""
    if not isinstance(release, MixedRelease):
        return {"items": _changes_of_sets(release)}
    changes = {name: text for name, text in column_changes(release.relational).items() if name != release.data.column}
    return changes | {release.data.column: _changes_of_items(release)}


def _basket_details(
    release: BasketRelease, matching: Mapping[str, int], studies: Sequence[ItemStudy]
) -> dict[str, Any]:
    """Describe a release: its rarest published sets, its largest published items, some records before and after."""
    return {
        "groups": len(release.labels),
        "columns": [_lengths(release)],
        "tables": [
            *_studies(release, studies),
            {
                "title": "The commonest items, before and after",
                "heads": [["item", ""], ["records", "number"], ["published as", ""], ["records show that", "number"]],
                "rows": _commonest(release),
            },
            {
                "title": "The rarest published items and pairs: what an attacker would know",
                "heads": [["published together", ""], ["records", "number"]],
                "rows": _rarest(release),
            },
            {
                "title": f"The published items that stand for most ({len(release.labels):,} published items)",
                "heads": [["published item", ""], ["stands for", "number"], ["records", "number"]],
                "rows": _largest(release),
            },
            {
                "title": "The attack: records that fit what is known of a person",
                "heads": [
                    [f"{name} of the records" if "%" in name or name == "half" else name, "number"] for name in matching
                ],
                "rows": [list(matching.values())] if matching else [],
            },
            {
                "title": SAMPLE,
                "heads": [["before", ""], ["after", ""], ["records alike", "number"]],
                "rows": _records(release),
            },
        ],
    }


def _studies(release: BasketRelease, studies: Sequence[ItemStudy]) -> list[dict[str, Any]]:
    """Say which studies the release supports, where there are some."""
    rows = [[study.name, len(study.labels), "yes" if study.supported(release) else "no"] for study in studies]
    heads = [["study", ""], ["items", "number"], ["supported", ""]]
    return (
        [{"title": "The studies, and whether this release supports them", "heads": heads, "rows": rows}] if rows else []
    )


def _changes_of_sets(release: BasketRelease) -> str:
    """Say what was done to the items, in a few words; of one that is published in several ways, the coarsest."""
    items, codes = release.baskets.codes, release.part
    alone, together, gone = (np.zeros(len(release.baskets.items), np.bool_) for _ in range(3))
    is_alone = np.append(release.parts.sizes == 1, False)[codes]
    alone[items[is_alone]], gone[items[codes < 0]] = True, True
    together[items[(codes >= 0) & ~is_alone]] = True
    ways = {
        "published as they are": alone & ~together & ~gone,
        "together with others": together,
        "left out of some records": ~together & alone & gone,
        "left out": gone & ~alone & ~together,
    }
    counts, size = {way: int(items.sum()) for way, items in ways.items()}, len(alone)
    some = {way: f"all {size:,}" if many == size else f"{many:,} of {size:,}" for way, many in counts.items() if many}
    return ", ".join(f"{way} ({many})" for way, many in some.items())


def _rarest(release: BasketRelease) -> list[list[Any]]:
    rarest = weakest(Rows.of_release(release), SHOWN)
    return [[" + ".join(short(release.labels[code]) for code in codes), support] for support, codes in rarest]


def _largest(release: BasketRelease) -> list[list[Any]]:
    sizes = dict(zip(release.labels, release.parts.sizes.tolist(), strict=True))
    supports = dict(zip(release.labels, release.part_supports.tolist(), strict=True))
    order = sorted(release.labels, key=lambda label: (-sizes[label], -supports[label], label))
    return [[short(label), sizes[label], supports[label]] for label in order[:SHOWN]]


def _commonest(release: BasketRelease) -> list[list[Any]]:
    """Show what the commonest items are published as; in several pieces, each way."""
    baskets, codes, rows = release.baskets, release.part, []
    for item in np.argsort(-baskets.supports, kind="stable")[:SHOWN].tolist():
        ways = [code for code in dict.fromkeys(codes[baskets.codes == item].tolist()) if code >= 0]
        label = short(" or ".join(release.labels[code] for code in ways)) or "left out"
        occurrences = int(release.part_supports[ways].sum())
        rows.append([baskets.items[item], int(baskets.supports[item]), label, occurrences])
    return rows


def _lengths(release: BasketRelease) -> dict[str, Any]:
    """Describe how many items records have, before and after, as a column is described."""
    weights, lengths = release.baskets.weights, np.diff(release.recoded.starts)
    before, after = (
        np.bincount(np.searchsorted(LENGTHS, counts, side="right") - 1, weights, len(LENGTHS)) / weights.sum()
        for counts in (release.baskets.lengths, lengths)
    )
    lasts = [following - 1 for following in LENGTHS[1:]]
    labels = [str(lo) if lo == hi else f"{lo}-{hi}" for lo, hi in zip(LENGTHS, lasts, strict=False)]
    bins = zip([*labels, f"{LENGTHS[-1]}+"], before.round(4).tolist(), after.round(4).tolist(), strict=True)
    return {"name": "items of a record", "role": "length", "bins": [list(each) for each in bins]}


def _records(release: BasketRelease) -> list[list[Any]]:
    """Show some records, spread evenly over the distinct baskets."""
    baskets, rows = release.baskets, release.recoded
    examples = []
    for place in dict.fromkeys(np.linspace(0, baskets.distinct - 1, SHOWN).astype(int).tolist()):
        codes = rows.codes[rows.starts[place] : rows.starts[place + 1]]
        after = ", ".join(release.labels[code] for code in codes) or "(nothing)"
        examples.append(
            [short(", ".join(baskets.basket(place)) or "(nothing)"), short(after), int(baskets.weights[place])]
        )
    return examples


def _mixed_details(release: MixedRelease, relational: Measured, maker: ReleaseMaker) -> dict[str, Any]:
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
                "rows": _largest_of_groups(release),
            },
            {
                "title": SAMPLE,
                "heads": [["group", ""], ["items before", ""], ["items after", ""], ["records alike", "number"]],
                "rows": _records_of_groups(release),
            },
        ],
    }


def _changes_of_items(release: MixedRelease) -> str:
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


def _largest_of_groups(release: MixedRelease) -> list[list[Any]]:
    supports = release.part_supports
    order = sorted(np.flatnonzero(supports).tolist(), key=lambda p: (-release.parts.sizes[p], -supports[p], p))
    return [[short(release.parts.labels[p]), int(release.parts.sizes[p]), int(supports[p])] for p in order[:SHOWN]]


def _records_of_groups(release: MixedRelease) -> list[list[Any]]:
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


def short(text: str) -> str:
    """Cut a long text short."""
    return text if len(text) <= LONG else f"{text[:LONG]} ..."
