"""The mapping of a release of baskets: what every item is published as, for the publisher alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.documents import fields, in_shape, listed, mapped, read_json, text
from sfumato.errors import BadInputError
from sfumato.transactions import BasketRelease, BasketRequirement

KIND = "sfumato mapping of baskets"
WHAT = "a mapping or a certificate of baskets"
WORDS = mapped(listed(text))
"""Which items each published item stands for."""


def basket_mapping(release: BasketRelease, requirement: BasketRequirement) -> dict[str, Any]:
    """Say for every piece which items each published item stands for, and which are left out."""
    items = release.baskets.items
    pieces = [
        {
            "published": {
                label: [items[code] for code in members]
                for label, members in zip(recoding.labels, recoding.members, strict=True)
            },
            "suppressed": [items[code] for code in recoding.suppressed],
        }
        for recoding in release.recodings
    ]
    return {
        "kind": KIND,
        "requirement": str(requirement),
        "anonymizer": release.maker,
        "records": [int(release.baskets.weights[release.piece == i].sum()) for i in range(len(pieces))],
        "pieces": pieces,
    }


def published_labels(release: BasketRelease) -> set[str]:
    """Return every published item that some record shows."""
    rows = release.recoded()
    return {rows.labels[code] for code in set(rows.codes.tolist())}


def legend_of(release: BasketRelease) -> dict[str, list[str]]:
    """Say which items the published items stand for that neither name them nor are nodes of a declared tree."""
    items = release.baskets.items
    if release.baskets.tree is not None:
        return {}
    legend, labels = {}, published_labels(release)
    for recoding in release.recodings:
        for label, members in zip(recoding.labels, recoding.members, strict=True):
            if label in labels and len(members) > 1 and label[:1] != "{" and label != "*":
                legend[label] = [items[code] for code in members]
    return dict(sorted(legend.items()))


def read_legend(path: Path) -> dict[str, list[str]]:
    """Read which items stand behind published ones from a mapping or a certificate."""
    content = read_json(path, WHAT, fields({}, {"legend": WORDS}))
    if content.get("kind") == KIND:
        in_shape(content, str(path), WHAT, fields({"pieces": listed(fields({"published": WORDS}))}))
        return {label: items for piece in content["pieces"] for label, items in piece["published"].items()}
    if "legend" in content:
        return dict(content["legend"])
    raise BadInputError(f"{path}: not {WHAT}")
