"""Every column before and after: how its values are spread in the table, and how a reader of a release sees them.

Both are counted on the same few bins, so that one look compares them. They show values of the table: internal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.arrays import Counts, Numbers
from sfumato.measures.fidelity.distances import column_distances
from sfumato.release import Grouped, Published
from sfumato.table import Hierarchy, Sensitive

MOST_BINS = 10
FEW_BINS = 4
"""Between so many bins a level of a hierarchy serves to draw a column; else its commonest values do."""

OTHERS = "all others"


def columns_before_and_after(release: Published) -> list[dict[str, Any]]:
    """Describe every column of a release: shares of its values before and after, and how many texts it shows."""
    return [*(_quasi(release, place) for place in range(len(release.cells.quasi))), *_sensitive(release)]


def _quasi(release: Published, place: int) -> dict[str, Any]:
    """Describe a quasi-identifier; a box counts for all of its leaves, each by its width."""
    quasi, before, boxes = release.cells.quasi[place], release.cells.leaf_counts[place], release.boxes
    hierarchy = quasi.hierarchy
    lo, hi, mass = boxes.lo[:, place].astype(np.int64), boxes.hi[:, place].astype(np.int64), boxes.mass.astype(float)
    density = mass / (hierarchy.cumulative[hi + 1] - hierarchy.cumulative[lo])
    steps = np.bincount(lo, density, hierarchy.size + 1) - np.bincount(hi + 1, density, hierarchy.size + 1)
    after = np.cumsum(steps)[:-1] * np.asarray(hierarchy.widths)
    texts = np.unique(lo * hierarchy.size + hi)
    return {
        "name": quasi.name,
        "role": "quasi",
        "values": int((before > 0).sum()),
        "texts": len(texts),
        "exact": _share(mass[lo == hi].sum(), mass.sum()),
        **_distances(hierarchy, before, after),
        "bins": _binned(*_bins(hierarchy, before), before, after),
    }


def _sensitive(release: Published) -> list[dict[str, Any]]:
    """Describe the sensitive attributes, which are shown as they are or not at all."""
    described = []
    published = _published(release)
    for place, attribute in enumerate(release.cells.sensitive):
        after = None if published is None else published[release.cells.span(place)]
        described.append(
            {
                "name": attribute.name,
                "role": "sensitive",
                "values": attribute.size,
                "texts": 0 if after is None else int((after > 0).sum()),
                **({} if after is None else _distances_of_values(attribute, after)),
                "bins": _binned(*_commonest(attribute), attribute.counts, after),
            }
        )
    return described


def _distances(hierarchy: Hierarchy, before: Counts | Numbers, after: Numbers) -> dict[str, Any]:
    """Say how far the column is from the table's, with the digits that a sentence needs."""
    distances = column_distances(hierarchy, before, after)
    return {
        name: [round(v, 4) for v in value] if isinstance(value, list) else round(value, 4)
        for name, value in distances.items()
    }


def _distances_of_values(attribute: Sensitive, after: Numbers) -> dict[str, Any]:
    """Compare the values of a sensitive attribute that occur."""
    before, then = np.zeros((2, attribute.hierarchy.size))
    before[attribute.leaves], then[attribute.leaves] = attribute.counts, after
    return _distances(attribute.hierarchy, before, then)


def _published(release: Published) -> Numbers | None:
    """Count the sensitive values that are published, all attributes side by side; None where none are."""
    if isinstance(release, Grouped):
        return None if release.histograms is None else release.histograms.counts.sum(axis=0).astype(float)
    noisy: Numbers = release.content.sum(axis=0)
    return noisy


def _bins(hierarchy: Hierarchy, before: Counts) -> tuple[list[str], Counts]:
    """Choose bins: the finest level of few enough nodes, else even stretches of numbers or the commonest values."""
    for level, number in enumerate(map(len, (level.starts for level in hierarchy.levels))):
        if number <= MOST_BINS and (number >= FEW_BINS or level == 0):
            return list(hierarchy.levels[level].labels), hierarchy.ancestors[level].astype(np.int64)
    if hierarchy.scale != "category":
        return _stretches(hierarchy)
    return _most(list(hierarchy.leaves), before)


def _stretches(hierarchy: Hierarchy) -> tuple[list[str], Counts]:
    """Cut numbers or days into stretches of 2, 5, 10, ... leaves; what is missing, or outside, stands alone."""
    inner = hierarchy.domain_size
    steps = (base * 10**power for power in range(10) for base in (1, 2, 5))
    step = next(step for step in steps if inner <= step * MOST_BINS)
    starts = [*range(0, inner, step), *range(inner, hierarchy.size)]
    ends = [*(start - 1 for start in starts[1:]), hierarchy.size - 1]
    places = np.repeat(np.arange(len(starts)), np.diff([*starts, hierarchy.size]))
    return [hierarchy.text(lo, hi) for lo, hi in zip(starts, ends, strict=True)], places


def _commonest(attribute: Sensitive) -> tuple[list[str], Counts]:
    if attribute.size <= MOST_BINS:
        return attribute.labels, np.arange(attribute.size)
    return _most(attribute.labels, attribute.counts)


def _most(labels: list[str], counts: Counts) -> tuple[list[str], Counts]:
    """Give the commonest values a bin each, in their order, and all others one together."""
    kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_BINS - 1])
    places = np.full(len(labels), len(kept), np.int64)
    places[kept] = np.arange(len(kept))
    return [*(labels[place] for place in kept), OTHERS], places


def _binned(labels: list[str], places: Counts, before: Counts, after: Numbers | None) -> list[list[Any]]:
    """Write every bin with its share before and after; after is None where nothing is published.

    Noise can leave a count below zero; a reader takes it for none.
    """
    first = np.bincount(places, before, len(labels))
    then = None if after is None else np.maximum(np.bincount(places, after, len(labels)), 0.0)
    return [
        [label, _share(first[i], first.sum()), None if then is None else _share(then[i], then.sum())]
        for i, label in enumerate(labels)
    ]


def _share(part: float, whole: float) -> float:
    """Return a share with the digits that a small drawing needs."""
    return round(float(part) / float(whole), 4) if whole > 0 else 0.0
