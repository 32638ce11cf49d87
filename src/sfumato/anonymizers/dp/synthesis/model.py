"""A model of all columns that records can be drawn from: every column given some of those before it.

    P(x) = product over the steps of P(column | parents)

A tree of pairs is such a model, and so is every junction tree. Drawing looks at nothing but the model. Records with the
same values in the parents share out the values of the column as evenly as whole numbers allow (stratified sampling):
of m records a value of probability p gets p m, give or take one. Who of them gets which is decided by a shuffle of its
own for every column. Without the shuffle, columns that are independent given their parent come out correlated (mbi
1.1.0 does that).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.anonymizers.dp.synthesis.private_records import Places
from sfumato.arrays import Codes, Counts, Numbers
from sfumato.configuration import check_choice
from sfumato.errors import BadInputError
from sfumato.release.noisy import MOST_ROWS

Table = tuple[Places, Numbers]
"""Numbers by the values of some columns, one axis each."""


@dataclass(frozen=True, eq=False)
class ModelStep:
    """How a column depends on columns before it: one axis per parent, then the column's, along which it sums to 1."""

    column: int
    parents: Places
    conditional: Numbers

    @staticmethod
    def of(column: int, parents: Places, joint: Numbers) -> ModelStep:
        """Take it from joint counts, the column's axis last; where no record has the parents' values, from all."""
        given = joint.sum(axis=-1, keepdims=True)
        whole = joint.sum(axis=tuple(range(joint.ndim - 1)))
        usual = whole / whole.sum() if whole.sum() > 0 else np.full(len(whole), 1 / len(whole))
        filled = np.broadcast_to(usual, joint.shape).copy()
        np.divide(joint, given, out=filled, where=given > 0)
        return ModelStep(column, parents, filled)


@dataclass(frozen=True, eq=False)
class Model:
    """A distribution of records, estimated from noisy answers: public, like all that is worked out from them."""

    names: tuple[str, ...]
    total: float
    """How many records there seem to be."""

    steps: tuple[ModelStep, ...]
    """One per column, parents before their children."""

    def marginal(self, *names: str) -> Numbers:
        """Return how many records the model expects with every combination of values of some columns."""
        for name in names:
            check_choice("column", name, self.names)
        wanted = tuple(self.names.index(name) for name in names)
        return self.total * self.shares(wanted)

    def shares(self, wanted: Sequence[int]) -> Numbers:
        """Return the probability of every combination of values of some columns, by their places."""
        needed: set[int] = set(wanted)
        factors: list[Table] = []
        for step in reversed(self.steps):  # what nobody wanted depends on sums to 1
            if step.column in needed:
                needed |= set(step.parents)
                factors.append(((*step.parents, step.column), step.conditional))
        for step in reversed(self.steps):
            if step.column in needed and step.column not in wanted:
                touched = [factor for factor in factors if step.column in factor[0]]
                kept = tuple(sorted({place for axes, _ in touched for place in axes} - {step.column}))
                factors = [factor for factor in factors if step.column not in factor[0]]
                factors.append((kept, _product(touched, kept)))
        return _product(factors, tuple(wanted))

    @property
    def rows(self) -> int:
        """How many records are drawn: one at least, so that there is a file."""
        rows = max(1, round(self.total))
        if rows > MOST_ROWS:
            raise BadInputError(
                f"the noisy counts sum up to {rows:,} records, nearly all of them noise; choose a larger epsilon"
            )
        return rows

    def sample(self, generator: np.random.Generator) -> Codes:
        """Draw records: one row each, one column per column of the model."""
        codes = np.zeros((self.rows, len(self.names)), np.int32)
        for step in self.steps:
            codes[:, step.column] = _drawn(step, codes, generator)
        return codes


def _product(factors: Sequence[Table], wanted: Places) -> Numbers:
    """Multiply factors and sum over all axes but the wanted ones."""
    axes = {place: i for i, place in enumerate(dict.fromkeys(place for places, _ in factors for place in places))}
    operands: list[Any] = [part for places, numbers in factors for part in (numbers, [axes[place] for place in places])]
    product: Numbers = np.einsum(*operands, [axes[place] for place in wanted], optimize="greedy")
    return product


def _drawn(step: ModelStep, codes: Codes, generator: np.random.Generator) -> Counts:
    """Draw a column: in every group of records with the same parents, ranks in a random order are cut by the shares."""
    size, rows = step.conditional.shape[-1], len(codes)
    parents = tuple(codes[:, parent].astype(np.int64) for parent in step.parents)
    key = np.ravel_multi_index(parents, step.conditional.shape[:-1]) if parents else np.zeros(rows, np.int64)
    present, group = np.unique(key, return_inverse=True)
    order = np.lexsort((generator.random(rows), group))
    counts = np.bincount(group)
    rank = np.empty(rows)
    rank[order] = np.arange(rows) - np.repeat(np.cumsum(counts) - counts, counts)
    place = (rank + generator.random(len(present))[group]) / counts[group]
    ends = np.cumsum(step.conditional.reshape(-1, size)[present], axis=1)
    ends /= ends[:, -1:]
    positions = np.searchsorted((ends + np.arange(len(present))[:, None]).ravel(), group + place, side="right")
    drawn: Counts = np.clip(positions - group * size, 0, size - 1)
    return drawn
