"""The mapping of a release of baskets: what every item is published as, for the publisher alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.plain import json_text
from sfumato.release import staged
from sfumato.release.writing import check_target, writable
from sfumato.transactions import BasketRelease, BasketRequirement

KIND = "sfumato mapping of baskets"


def basket_mapping(release: BasketRelease, requirement: BasketRequirement) -> dict[str, Any]:
    """Say for every piece which items each published item stands for, and which are left out."""
    items = release.baskets.items
    pieces = [
        {
            "published": {
                label: [items[code] for code in members] for label, members in zip(own.labels, own.members, strict=True)
            },
            "suppressed": [items[code] for code in own.suppressed],
        }
        for own in release.recodings
    ]
    return {
        "kind": KIND,
        "requirement": str(requirement),
        "anonymizer": release.maker,
        "records": [int(release.baskets.weights[release.piece == i].sum()) for i in range(len(pieces))],
        "pieces": pieces,
    }


def write_basket_mapping(content: dict[str, Any], path: str | Path, force: bool = False) -> Path:
    """Write a mapping, all or nothing."""
    target = Path(path)
    check_target(target, force)
    with writable(target), staged([target]) as [draft]:
        draft.write_text(json_text(content), encoding="utf-8")
    return target
