"""What a person may want to see of one release of baskets, in small tables. They show records: internal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.transactions.measures.itemsets import Rows, weakest
from sfumato.transactions.recoding import BasketRelease

SHOWN = 8
LONG = 160
"""Letters of a text after which it is cut short."""


def basket_details(release: BasketRelease, matching: Mapping[str, int]) -> dict[str, Any]:
    """Describe a release: its rarest published sets, its largest published items, some records before and after."""
    return {
        "groups": len(release.labels),
        "tables": [
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
                    [f"{name} of the persons" if "%" in name or name == "half" else name, "number"] for name in matching
                ],
                "rows": [list(matching.values())] if matching else [],
            },
            {
                "title": "Some records, before and after",
                "heads": [["before", ""], ["after", ""], ["records alike", "number"]],
                "rows": _records(release),
            },
        ],
    }


def item_changes(release: BasketRelease) -> str:
    """Say what was done to the items, in a few words; of one that is published in several ways, the coarsest."""
    parts = np.stack([recoding.parts for recoding in release.recodings])
    alone = np.stack([np.append(recoding.leaves == 1, False)[recoding.parts] for recoding in release.recodings])
    gone, together = parts < 0, (parts >= 0) & ~alone
    ways = {
        "published as they are": alone.all(axis=0),
        "together with others": together.any(axis=0),
        "left out of some records": ~together.any(axis=0) & alone.any(axis=0) & gone.any(axis=0),
        "left out": gone.all(axis=0),
    }
    counts, size = {way: int(items.sum()) for way, items in ways.items()}, parts.shape[1]
    some = {way: f"all {size:,}" if many == size else f"{many:,} of {size:,}" for way, many in counts.items() if many}
    return ", ".join(f"{way} ({many})" for way, many in some.items())


def _rarest(release: BasketRelease) -> list[list[Any]]:
    rarest = weakest(Rows.of_release(release), SHOWN)
    return [[" + ".join(short(release.labels[code]) for code in codes), support] for support, codes in rarest]


def _largest(release: BasketRelease) -> list[list[Any]]:
    sizes: dict[str, int] = {}
    for recoding in release.recodings:
        sizes |= dict(zip(recoding.labels, recoding.leaves.tolist(), strict=True))
    supports = dict(zip(release.labels, release.part_supports.tolist(), strict=True))
    order = sorted(release.labels, key=lambda label: (-sizes[label], -supports[label], label))
    return [[short(label), sizes[label], supports[label]] for label in order[:SHOWN]]


def _records(release: BasketRelease) -> list[list[Any]]:
    """Show some records, spread evenly over the distinct baskets."""
    baskets, rows = release.baskets, release.recoded()
    examples = []
    for place in dict.fromkeys(np.linspace(0, baskets.distinct - 1, SHOWN).astype(int).tolist()):
        codes = rows.codes[rows.starts[place] : rows.starts[place + 1]]
        after = ", ".join(release.labels[code] for code in codes) or "(nothing)"
        examples.append(
            [short(", ".join(baskets.basket(place)) or "(nothing)"), short(after), int(baskets.weights[place])]
        )
    return examples


def short(text: str) -> str:
    """Cut a long text short."""
    return text if len(text) <= LONG else f"{text[:LONG]} ..."
