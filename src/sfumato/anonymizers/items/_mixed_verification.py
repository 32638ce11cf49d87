"""Proof of a release of a table with items: count what is published from scratch, and compare with what was required.

Nothing here knows how a release was made. Groups are the texts that records show of their quasi-identifiers, not the
maker's numbers; within each, the published texts of parts are counted one by one, then in pairs and larger sets. The
time is that of all sets of up to m parts in rows: as much as the promise speaks of.
"""

from __future__ import annotations

import numpy as np

from sfumato.anonymizers.anonymizer import checked
from sfumato.release._itemsets import rare_itemsets
from sfumato.release.items import MixedRelease
from sfumato.requirements.items import MixedRequirement
from sfumato.runtime.arrays import Counts

SHOWN = 3


def group_texts(release: MixedRelease) -> tuple[list[tuple[str, ...]], Counts]:
    """Return the different texts of groups as readers see them, and for every group of the maker which it shows."""
    relational = release.relational
    columns = []
    for attribute in range(len(relational.cells.quasi)):
        texts, codes = relational.quasi_texts(attribute)
        columns.append([texts[code] for code in codes.tolist()])
    rows = list(zip(*columns, strict=True))
    number = {row: place for place, row in enumerate(dict.fromkeys(rows))}
    return list(number), np.array([number[row] for row in rows], np.int64)


def verify(release: MixedRelease, requirement: MixedRequirement) -> None:
    """Raise an AssertionError that names a counterexample unless the release satisfies the requirement."""
    weak = violations(release, requirement.k, requirement.m)
    assert not weak, f"{release.maker or 'this release'} breaks {requirement}: {'; '.join(weak)}"
    checked(release.relational, requirement.of_groups)


def violations(release: MixedRelease, k: int, m: int, most: int = SHOWN) -> list[str]:
    """Name groups of fewer than k records, and sets of up to m parts that fewer than k records of a group show."""
    texts, number = group_texts(release)
    group = number[release.group]
    sizes = np.bincount(group, release.count, len(texts)).astype(np.int64)
    weak = [f"{', '.join(texts[i])} in {sizes[i]}" for i in np.flatnonzero(sizes < k)[:most].tolist()]
    starts, codes = release.shown
    row = np.repeat(np.arange(len(release.count)), np.diff(starts))
    width = max(len(release.parts.labels), 1)
    used, tagged = np.unique(group[row] * width + codes, return_inverse=True)  # a part of another group is another
    for size in range(1, m + 1):
        if len(weak) >= most:
            break
        sets, supports, _ = rare_itemsets(
            starts, tagged.ravel().astype(np.int32), release.count, len(used), size, k, most - len(weak)
        )
        for itemset, support in zip(sets.tolist(), supports.tolist(), strict=True):
            keys = used[itemset]
            labels = ", ".join(release.parts.labels[int(key % width)] for key in keys)
            weak.append(f"{{{labels}}} among {', '.join(texts[int(keys[0] // width)])} in {support}")
    return weak
