"""Drawing, crossover and mutation of cut vectors within their space.

Crossover of an unconstrained attribute takes its first bits from one parent and the rest from the other. Constrained
attributes are crossed only behind a cut that both parents have (Lunacek et al. 2006), so both sides are valid. Mutation
of a constrained attribute merges one of its nodes into a single part, or cuts it into its children.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.cut_vector.cut_vector import Bits, CutSpace
from sfumato.runtime.kernels import kernel

Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]


class SpaceTree(NamedTuple):
    """The arrays of a space for the kernels: bits of attributes, which are constrained, and the nodes of these."""

    offsets: Counts
    constrained: NDArray[np.bool_]
    owners: Counts
    """The first node of each attribute, and the end; unconstrained attributes have no nodes."""

    first: Counts
    """The first bit inside each node."""

    last: Counts
    """The bit behind the last one inside."""

    children: Bits
    """Nodes x bits: the cuts between its children."""


def tree_of(space: CutSpace) -> SpaceTree:
    """Return the nodes of a space, the highest of each attribute first."""
    owners, first, last, children = [0], [], [], []
    for attribute, offset in zip(space.attributes, space.offsets, strict=False):
        for start, end, inside in reversed(attribute.nodes) if attribute.constrained else ():
            row = np.zeros(space.bits, np.uint8)
            row[offset : offset + attribute.bits] = inside
            first.append(offset + start)
            last.append(offset + end)
            children.append(row)
        owners.append(len(first))
    return SpaceTree(
        np.array(space.offsets, np.int64),
        np.array([attribute.constrained for attribute in space.attributes], np.bool_),
        np.array(owners, np.int64),
        np.array(first, np.int64),
        np.array(last, np.int64),
        np.array(children, np.uint8).reshape(len(first), space.bits),
    )


def drawn(space: CutSpace, number: int, generator: np.random.Generator, spread: bool) -> Bits:
    """Draw vectors: from the root down, each node is cut into its children at random.

    With `spread` each vector has its own probability of a cut; otherwise it is 1/2, as in the paper.
    """
    tree = tree_of(space)
    ready = generator.random(number) if spread else np.full(number, 0.5)
    vectors = (generator.random((number, space.bits)) < ready[:, None]).astype(np.uint8)
    decisions = generator.random((number, len(tree.first))) < ready[:, None]
    for a in np.flatnonzero(tree.constrained):
        vectors[:, tree.offsets[a] : tree.offsets[a + 1]] = 0
        for node in range(tree.owners[a], tree.owners[a + 1]):
            apart = decisions[:, node] & _stands_alone(vectors, tree, int(a), node)
            vectors[apart] |= tree.children[node]
    return vectors


def _stands_alone(vectors: Bits, tree: SpaceTree, a: int, node: int) -> NDArray[np.bool_]:
    """Return for each vector whether there is a cut at both ends of a node."""
    alone = np.ones(len(vectors), np.bool_)
    if tree.first[node] > tree.offsets[a]:
        alone &= vectors[:, tree.first[node] - 1] == 1
    if tree.last[node] < tree.offsets[a + 1]:
        alone &= vectors[:, tree.last[node]] == 1
    return alone


def levelled(space: CutSpace, number: int, generator: np.random.Generator) -> Bits:
    """Draw vectors with one level per attribute, the finest and the coarsest first."""
    rows = []
    for i in range(number):
        chosen = [attribute.partitions[generator.integers(len(attribute.partitions))] for attribute in space.attributes]
        if i < 2:
            chosen = [attribute.partitions[-i] if i else attribute.partitions[0] for attribute in space.attributes]
        rows.append(np.concatenate(chosen) if chosen else np.zeros(0, np.uint8))
    return np.array(rows, np.uint8).reshape(number, space.bits)


def neighbours(space: CutSpace, vector: Bits) -> Bits:
    """List the neighbours of a vector: one cut more or less, one node merged or cut into its children."""
    tree = tree_of(space)
    vectors = []
    for a in range(len(space.attributes)):
        if tree.constrained[a]:
            for node in range(tree.owners[a], tree.owners[a + 1]):
                changed = vector.copy()
                if toggle(changed, tree, a, node):
                    vectors.append(changed)
        else:
            for bit in range(tree.offsets[a], tree.offsets[a + 1]):
                changed = vector.copy()
                changed[bit] ^= 1
                vectors.append(changed)
    return np.array(vectors, np.uint8).reshape(len(vectors), space.bits)


@kernel
def toggle(vector: Bits, tree: SpaceTree, a: int, node: int) -> bool:
    """Merge a node into one part, or cut it into its children if it is one; do nothing inside a larger part."""
    first, last = tree.first[node], tree.last[node]
    if first > tree.offsets[a] and not vector[first - 1]:
        return False
    if last < tree.offsets[a + 1] and not vector[last]:
        return False
    inside = False
    for bit in range(first, last):
        inside |= vector[bit] == 1
        vector[bit] = 0
    if not inside:
        for bit in range(first, last):
            vector[bit] = tree.children[node, bit]
    return True


@kernel
def cross(left: Bits, right: Bits, tree: SpaceTree, rolls: Numbers, swap: bool) -> None:
    """Cross pairs of parents in place, attribute by attribute; `rolls` are two uniform numbers for each.

    With `swap`, constrained attributes without a common cut are exchanged as a whole with probability 1/2.
    """
    for i in range(len(left)):
        for a in range(len(tree.constrained)):
            start, end = tree.offsets[a], tree.offsets[a + 1]
            place = end
            if not tree.constrained[a]:
                place = start + int(rolls[i, a, 0] * (end - start + 1))
            else:
                common = 0
                for bit in range(start, end):
                    common += left[i, bit] & right[i, bit]
                if common:
                    wanted = int(rolls[i, a, 0] * common)
                    for bit in range(start, end):
                        if left[i, bit] & right[i, bit]:
                            if wanted == 0:
                                place = bit + 1
                                break
                            wanted -= 1
                elif swap and rolls[i, a, 1] < 0.5:
                    place = start
            for bit in range(place, end):
                left[i, bit], right[i, bit] = right[i, bit], left[i, bit]


@kernel
def flip(vectors: Bits, tree: SpaceTree, rolls: Numbers, rate: float) -> None:
    """Flip each bit of the unconstrained attributes in place with a probability: the paper's mutation."""
    for i in range(len(vectors)):
        for a in range(len(tree.constrained)):
            if not tree.constrained[a]:
                for bit in range(tree.offsets[a], tree.offsets[a + 1]):
                    if rolls[i, bit] < rate:
                        vectors[i, bit] ^= 1


@kernel
def mutate(vectors: Bits, tree: SpaceTree, rolls: Numbers, rate: float) -> None:
    """Change each attribute in place with a probability: one cut added, removed or moved, or one node merged or cut.

    `rolls` are three uniform numbers for each vector and attribute.
    """
    for i in range(len(vectors)):
        for a in range(len(tree.constrained)):
            start, end = tree.offsets[a], tree.offsets[a + 1]
            if rolls[i, a, 0] >= rate or start == end:
                continue
            if tree.constrained[a]:
                nodes = tree.owners[a + 1] - tree.owners[a]
                chosen = int(rolls[i, a, 1] * nodes)
                for step in range(nodes):  # the next node that can be changed
                    if toggle(vectors[i], tree, a, tree.owners[a] + (chosen + step) % nodes):
                        break
            else:
                bit = start + int(rolls[i, a, 1] * (end - start))
                if rolls[i, a, 2] < 0.5 and bit + 1 < end:
                    vectors[i, bit], vectors[i, bit + 1] = vectors[i, bit + 1], vectors[i, bit]
                else:
                    vectors[i, bit] ^= 1
