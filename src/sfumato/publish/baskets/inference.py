"""What a published file of baskets tells of sensitive items, counted from the definitions alone.

Shares nothing with those who make releases. Of every set of published items that occurs the records are counted; a set
with a sensitive item, and the same set without it, are a rule: of the records that show the latter, the share that also
shows the sensitive item. Rules of a file are counted by posting lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sfumato.publish.baskets.published import PublishedBaskets, labels_by_item
from sfumato.transactions import Baskets
from sfumato.transactions.policy import Coherence, InferenceRequirement, PSRules, RhoUncertainty

Readings = Mapping[str, frozenset[int]]
Fault = tuple[int, tuple[str, ...]]
"""How many records fit what is known; what is known, and what is inferred from it behind an arrow."""

SLACK = 1e-9


def faults(
    read: PublishedBaskets,
    wanted: InferenceRequirement,
    original: Baskets,
    readings: Readings,
    sizes: Mapping[str, int],
) -> Iterator[Fault]:
    """Find what a reader learns too surely, and known items that too few records fit; `sizes` counts a text's items."""
    sensitive = frozenset(wanted.sensitive_items(original))
    for label, items in readings.items():
        if items & sensitive and sizes[label] != 1:
            yield read.supports[label], (f"{label} (it stands for a sensitive item among others)",)
    if isinstance(wanted, PSRules):
        yield from _of_lines(read, wanted, original, readings)
        return
    secret = frozenset(label for label, items in readings.items() if items <= sensitive and items)
    for label in sorted(secret):
        if read.supports[label] > (wanted.share + SLACK) * read.records:
            yield read.records, (f"-> {label}",)
    assert isinstance(wanted, RhoUncertainty | Coherence)
    most, public_only = (wanted.m, False) if isinstance(wanted, RhoUncertainty) else (wanted.p, True)
    yield from _of_sets(read, wanted, secret, most, public_only)


def _of_sets(
    read: PublishedBaskets, wanted: InferenceRequirement, secret: frozenset[str], most: int, public_only: bool
) -> Iterator[Fault]:
    """Compare the records of every set of up to `most` known texts with those of the set and one sensitive text."""
    hidden = [label in secret for label in read.labels]
    smaller = _counted(read, 1)
    for size in range(1, most + 1):
        larger = _counted(read, size + 1)
        for known, records in smaller.items():
            if records < wanted.k and not (public_only and any(hidden[code] for code in known)):
                yield records, tuple(read.labels[code] for code in known)
        for together, showing in larger.items():
            for place, code in enumerate(together):
                known = together[:place] + together[place + 1 :]
                if not hidden[code] or (public_only and any(hidden[other] for other in known)):
                    continue
                if showing > (wanted.share + SLACK) * smaller[known]:
                    yield smaller[known], (*(read.labels[other] for other in known), f"-> {read.labels[code]}")
        smaller = larger


def _counted(read: PublishedBaskets, size: int) -> dict[tuple[int, ...], int]:
    sets, supports = read.itemsets(size)
    return dict(zip(map(tuple, sets.tolist()), supports.tolist(), strict=True))


def _of_lines(read: PublishedBaskets, wanted: PSRules, original: Baskets, readings: Readings) -> Iterator[Fault]:
    """Count the records that fit what stands before each arrow, and those of them that show all behind it."""
    shows = labels_by_item(readings)
    everybody = np.arange(len(read.weights))
    for known, concluded in wanted.rules(original):
        visible = [shows[code] for code in known if code in shows]  # a suppressed item tells nothing
        fitting = read.rows_showing(visible) if visible else everybody
        records = int(read.weights[fitting].sum())
        if visible and 0 < records < wanted.k:
            yield records, tuple(original.items[code] for code in known)
        both = read.rows_showing([*visible, *(shows.get(code, ()) for code in concluded)])
        if int(read.weights[both].sum()) > (wanted.share + SLACK) * records:
            names = (original.items[code] for code in concluded)
            yield records, (*(original.items[code] for code in known), *(f"-> {name}" for name in names))
