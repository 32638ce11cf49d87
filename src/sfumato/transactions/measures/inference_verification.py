"""Proof that nothing sensitive can be inferred from a release: counted on its published rows, piece by piece.

Where pieces of the baskets have recodings of their own, every piece must satisfy the requirement by itself: the share
of all records that fit is then a mean of shares that are small enough. An item whose label nobody shows counts as one
that is not published; with one recoding for all records, which all makers of such releases have, there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from sfumato.transactions.baskets import taken_rows
from sfumato.transactions.measures.inference import CodedRows, broken_listed, broken_rules, known_sizes
from sfumato.transactions.measures.weak import Weak
from sfumato.transactions.policy import InferenceRequirement, PSRules
from sfumato.transactions.recoding import SUPPRESSED, BasketRelease


def inference_violations(release: BasketRelease, requirement: InferenceRequirement, most: int) -> list[Weak]:
    """List (at most `most`) sensitive items that are published with others, and rules that tell too much."""
    return list(islice(_violations(release, requirement, max(most, 1)), max(most, 1)))


def _violations(release: BasketRelease, requirement: InferenceRequirement, most: int) -> Iterator[Weak]:
    sensitive = requirement.sensitive_items(release.baskets)
    for recoding in release.recodings:
        for item in sensitive:
            part = recoding.parts[item]
            if part != SUPPRESSED and recoding.leaves[part] != 1:
                yield Weak(0, (f"{release.baskets.items[item]} published together with others",))
    for piece in range(len(release.recodings)):
        yield from _broken(release, requirement, sensitive, piece, most)


def _broken(
    release: BasketRelease, requirement: InferenceRequirement, sensitive: Sequence[int], piece: int, most: int
) -> Iterator[Weak]:
    recoded, labels = release.recoded(), release.labels
    places, parts = np.flatnonzero(release.piece == piece), release.published_in(piece)
    starts, codes = taken_rows(recoded.starts, recoded.codes, places)
    flags = np.zeros(len(labels), np.int32)
    flags[[parts[item] for item in sensitive if parts[item] != SUPPRESSED]] = 1
    rows = CodedRows(starts, codes, recoded.weights[places], flags)
    if isinstance(requirement, PSRules):
        for (known, concluded), records, _ in broken_listed(
            rows, requirement, requirement.rules(release.baskets), parts
        ):
            yield Weak(records, _rule(labels, known, concluded))
        return
    for size in known_sizes(requirement):
        broken = broken_rules(rows, requirement, size, most)
        for known, concluded, records in zip(broken.known, broken.concluded, broken.records, strict=True):
            yield Weak(int(records), _rule(labels, known, [concluded] if concluded >= 0 else []))


def _rule(labels: Sequence[str], known: Sequence[int], concluded: Sequence[int]) -> tuple[str, ...]:
    return (*(labels[code] for code in known), *(f"-> {labels[code]}" for code in concluded))
