"""What a published file loses against its original: the width of its texts, as `sfumato.measures` defines loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.errors import BadInputError
from sfumato.evidence.counted import Counted
from sfumato.evidence.notation import Meaning, Notation, leaves_covered
from sfumato.table import Hierarchy, flat, weighted_counts
from sfumato.table.hierarchies.automatic import automatic


def observed_hierarchy(name: str, original: Counted) -> Hierarchy:
    """Build the domain of a column without a hierarchy from the original's values and how often each occurs."""
    column = original.columns[name]
    sizes = weighted_counts(column.codes, original.counts, len(column.texts)).tolist()
    present = sorted((text, size) for text, size in zip(column.texts, sizes, strict=True) if text)
    texts = [text for text, _ in present]
    try:
        return automatic(name, texts, [size for _, size in present])
    except BadInputError:
        return flat(texts or ["none"], observed=True)


def losses(
    published: Counted,
    quasi: Sequence[str],
    domains: Mapping[str, Hierarchy],
    suppressed: int,
    weights: Mapping[str, float],
) -> dict[str, float]:
    """Return the loss of the published values and of the records that are not published, as shares of the original.

    A record's loss is the mean over the quasi-identifiers, weighted where there are weights.
    """
    records = published.records + suppressed
    total = 0.0
    for name in quasi:
        column, domain = published.columns[name], domains[name]
        notation = Notation(domain)
        lost = np.array([text_loss(domain, notation.read(text)) for text in column.texts])
        rows = np.bincount(column.codes, published.counts, len(lost))  # by text: engines list tuples in any order
        total += weights.get(name, 1.0) * float((lost * rows).sum())
    generalization = total / (sum(weights.get(name, 1.0) for name in quasi) * records)
    return {
        "loss": generalization + suppressed / records,
        "generalization_loss": generalization,
        "suppression_loss": suppressed / records,
    }


def unreadable(published: Counted, quasi: Sequence[str], domains: Mapping[str, Hierarchy]) -> list[str]:
    """Name for every column a published text that covers no value of its domain, if there is one, in words."""
    sentences = []
    for name in quasi:
        notation = Notation(domains[name])
        texts = [t for t in published.columns[name].texts if not leaves_covered(domains[name], notation.read(t)).any()]
        if texts:
            more = f" and {len(texts) - 1:,} other texts" if len(texts) > 1 else ""
            sentences.append(
                f"column {name!r}: {texts[0]!r}{more} cover no value of the original; "
                "if these are labels of a hierarchy, give it (--hierarchies)"
            )
    return sentences


def text_loss(domain: Hierarchy, meaning: Meaning) -> float:
    """Return (s - 1/N) / (1 - 1/N), s the share of the domain's width that a text covers and N the leaves.

    In a domain that was observed a set leaves out what no published record has, though it lies in between; so its
    ends count. A text that covers no leaf tells nothing that can be used: 1.
    """
    covered = np.flatnonzero(leaves_covered(domain, meaning))
    if len(covered) == 0:
        return 1.0
    if len(covered) == 1:
        return domain.loss(int(covered[0]), int(covered[0]))
    if domain.observed:
        covered = np.arange(covered[0], covered[-1] + 1)
    share = float(np.asarray(domain.widths)[covered].sum() / sum(domain.widths))
    least = 1 / domain.finest
    return min(max((share - least) / (1 - least), 0.0), 1.0)
