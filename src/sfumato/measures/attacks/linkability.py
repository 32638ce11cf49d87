"""Linkability: joining what two sources know of one person by way of the release (Giomi et al. 2023, section 4.2).

One source knows some columns of a person, another one the others. For each the attacker takes the k released records
that are nearest to what it knows; where both have a record in common he says that they speak of one person.

    success: the k nearest by the first columns and the k nearest by the others have a record in common
    naive: k random records each

Columns are dealt to the two sources in turn, by falling entropy in the table, so that both know about as much.
"""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Codes, Counts, Numbers
from sfumato.measures.attacks.advantage import Advantage, Rate
from sfumato.measures.attacks.nearest import nearest_records


def two_sources(codes: Codes) -> tuple[list[int], list[int]]:
    """Deal columns to two sources: the most telling to the first, the next to the second, and so on."""
    order = sorted(range(codes.shape[1]), key=lambda place: (-_entropy(codes[:, place]), place))
    return sorted(order[::2]), sorted(order[1::2])


def _entropy(column: Codes) -> float:
    counts = np.unique(column, return_counts=True)[1] / len(column)
    return float(-(counts * np.log(counts)).sum())


def linkability(
    targets: Numbers,
    others: Numbers,
    released: Numbers,
    sources: tuple[list[int], list[int]],
    neighbours: int,
    generator: np.random.Generator,
) -> Advantage:
    """Link what two sources know of records of the table (`targets`) and of the control (`others`)."""
    both = np.concatenate([targets, others])
    first, second = (
        nearest_records(np.ascontiguousarray(both[:, source]), released[:, source], neighbours, generator)[0]
        for source in sources
    )
    linked = in_common(first, second)
    drawn = generator.integers(len(released), size=(2, len(targets), min(neighbours, len(released))))
    return Advantage(
        "linkability",
        Rate(int(linked[: len(targets)].sum()), len(targets)),
        Rate(int(linked[len(targets) :].sum()), len(others)),
        Rate(int(in_common(drawn[0], drawn[1]).sum()), len(targets)),
    )


def in_common(first: Counts, second: Counts) -> Counts:
    """Say of every row whether the two lists have an entry in common."""
    return np.array((first[:, :, None] == second[:, None, :]).any(axis=(1, 2)))
