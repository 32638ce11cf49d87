"""The mapping of a release of baskets: what every item is published as, for the publisher alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.auditing._legend import MAPPING
from sfumato.config.documents import json_text
from sfumato.publish._mixed_mapping import mixed_mapping
from sfumato.publish.mapping import mapping_of
from sfumato.publish.publishable import Publishable
from sfumato.release.items import BasketRelease
from sfumato.release.legend import Names, behind_labels, release_names
from sfumato.requirements.items import BasketRequirement

SCHEMA = 2


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
        "published": {texts[label]: list(behind.items) for label, behind in behind_labels(release).items()},
        "suppressed": [items[code] for code in release.suppressed],
        "pieces": [] if release.is_global else _pieces(release, texts),
    }


def _pieces(release: BasketRelease, texts: Any) -> list[dict[str, Any]]:
    """Say of every piece how many records it has and what they show."""
    rows, order = release.recoded(), np.argsort(release.piece, kind="stable")
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
