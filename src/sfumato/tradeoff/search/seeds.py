"""Cut vectors to begin a search with: what full-domain recoding and Mondrian make of the table.

*Full-domain optima*: for several k the levels of least loss, with as much suppression as the problem allows.
*Mondrian's cuts*: its boxes overlap in each attribute, so they are no cut vector; but a cut is worth its loss where
many boxes begin. For several k every attribute gets its commonest beginnings as cuts, so many that its parts are about
as wide as the boxes; where it is cut along its hierarchy only, the nearest allowed set of cuts.

Nothing here is drawn at random, and nothing depends on what the problem makes large or small.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers import CutSpace, FullDomain, Mondrian
from sfumato.anonymizers.cut_vector.space import Bits, CutAttribute
from sfumato.anonymizers.full_domain.roll_up import Levels
from sfumato.requirements import KAnonymity
from sfumato.table import Table
from sfumato.tradeoff.search.problems import allowed

SIZES = (2, 5, 10, 25, 100, 500, 2500)
"""The k that are tried, as far as half of the records are at least so many."""

MOST_LEVELS = 200_000
"""Where there are more combinations of levels, their optima would take too long to find."""


def seeds(table: Table, space: CutSpace, suppress: float) -> Bits:
    """List seeds, each once: full-domain and Mondrian's in turn, from the smallest k to the largest."""
    sizes = [k for k in SIZES if 2 * k <= table.cells.records]
    vectors: dict[bytes, Bits] = {}
    optima = full_domain_seeds(table, space, sizes, suppress)
    for vector in chain.from_iterable(zip_longest(optima, mondrian_seeds(table, space, sizes))):
        if vector is not None:
            vectors.setdefault(vector.tobytes(), vector)
    return np.array(list(vectors.values()), np.uint8).reshape(len(vectors), space.bits)


def full_domain_seeds(table: Table, space: CutSpace, sizes: list[int], suppress: float) -> Iterator[Bits]:
    """For every k the levels of least loss, as cuts; none where there are too many levels to look for them."""
    combinations = np.prod([float(quasi.hierarchy.height + 1) for quasi in table.cells.quasi])
    if combinations > MOST_LEVELS:
        return
    budget = allowed(suppress, table.cells.records)
    for k in sizes:
        best = FullDomain().find(table, KAnonymity(k), budget).best
        if best is not None:
            yield levels_as_cuts(space, best.levels)


def levels_as_cuts(space: CutSpace, levels: Levels) -> Bits:
    """Write one level per attribute as cuts; levels below the atoms become the atoms."""
    parts = [
        np.isin(attribute.starts[1:], attribute.hierarchy.levels[level].starts)
        for attribute, level in zip(space.attributes, levels, strict=True)
    ]
    return np.concatenate([np.zeros(0, np.bool_), *parts]).astype(np.uint8)


def mondrian_seeds(table: Table, space: CutSpace, sizes: list[int]) -> Iterator[Bits]:
    """For every k the cuts that Mondrian's boxes have in common."""
    for k in sizes:
        boxes = Mondrian(ranges="region").release(table, KAnonymity(k), "generalization", 0).boxes
        parts = []
        for a, attribute in enumerate(space.attributes):
            begins = np.searchsorted(attribute.starts, boxes.lo[:, a], side="right") - 1
            ends = np.searchsorted(attribute.starts, boxes.hi[:, a], side="right") - 1
            cuts = common_cuts(attribute.bits, begins, ends, boxes.mass)
            parts.append(nearest_allowed(attribute, cuts) if attribute.constrained else cuts)
        yield np.concatenate([np.zeros(0, np.uint8), *parts])


def common_cuts(bits: int, begins: NDArray[Any], ends: NDArray[Any], mass: NDArray[Any]) -> Bits:
    """Cut before the atoms at which most records' boxes begin, until parts are as wide as the mean box."""
    width = float((ends - begins + 1) @ mass / mass.sum())
    wanted = round((bits + 1) / width) - 1
    weights = np.bincount(begins, weights=mass, minlength=bits + 1)[1:]
    order = np.lexsort((np.arange(bits), -weights))[:wanted]
    cuts = np.zeros(bits, np.uint8)
    cuts[order[weights[order] > 0]] = 1
    return cuts


def nearest_allowed(attribute: CutAttribute, cuts: Bits) -> Bits:
    """Find the allowed cuts that differ from these in the fewest places; of equally near ones with fewer cuts."""

    def best(first: int, last: int) -> tuple[int, list[int]]:
        whole = int(cuts[first:last].sum())
        children = attribute.children(first, last)
        if not children:
            return whole, []
        between = [child[1] for child in children[:-1]]
        below = [best(*child) for child in children]
        apart = sum(1 - int(cuts[cut]) for cut in between) + sum(cost for cost, _ in below)
        if whole <= apart:
            return whole, []
        return apart, between + [cut for _, chosen in below for cut in chosen]

    allowed = np.zeros(attribute.bits, np.uint8)
    allowed[best(0, attribute.bits)[1]] = 1
    return allowed
