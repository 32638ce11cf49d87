"""A release by its cuts: every attribute's domain is cut in the same places for all records (Dewri et al. 2011).

This makes one point of the frontier that `tradeoff.search.pareto` finds; groups that the requirement does not admit are
suppressed, as far as the budget allows.

The space of cut vectors: where each quasi-identifier's ordered domain may be cut (Iyengar 2002, Dewri et al. 2011).

A generalization is a set of cuts: bit i says that a published value never contains both atom i and atom i + 1. *Atoms*
are the nodes of one level of the hierarchy (its leaves, or coarser ones where a granularity is declared). An
attribute that is *constrained* is cut along its hierarchy only: its parts are nodes. All others may be cut anywhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.anonymizer import Anonymizer, check_budget
from sfumato.anonymizers.full_domain.full_domain import recoded
from sfumato.config.options import Option, check_whole, split_outside_quotes
from sfumato.data.cells import Cells
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.reading import Table
from sfumato.release.release import Form, Release
from sfumato.requirements.requirement import Requirement
from sfumato.texts.catalogue import refusal, t

Bits = NDArray[np.uint8]
LEVEL = "@"
"""Before a number: all cuts of that level of the hierarchy."""


class Losing(NamedTuple):
    """How the loss of a part of one attribute is worked out: the difference of its ends, less than a mean leaf's."""

    begins: NDArray[np.float64]
    """The smallest value that a part shows if it begins with an atom."""

    ends: NDArray[np.float64]
    """And where they end, if it ends with an atom."""

    first: NDArray[np.int64]
    """The first leaf that is shown of such a part, and the last: nothing is lost where it is the same."""

    last: NDArray[np.int64]
    least: float


@dataclass(frozen=True)
class CutAttribute:
    """One quasi-identifier of a space: where its domain may be cut."""

    name: str
    hierarchy: Hierarchy
    constrained: bool
    level: int = 0
    """The level whose nodes are the atoms: the finest that may be published."""

    counts_atoms: bool = False
    """Whether losses count atoms and not leaves, as if the table had been collected at this level."""

    between_bands: bool = False
    """Whether bands are the atoms: the ends of all other ranges of numbers and dates are rounded to them."""

    def __post_init__(self) -> None:
        check_whole(t("notice.level", name=self.name), self.level, least=0)
        if self.level > self.hierarchy.height:
            raise refusal("level_must_most", name=self.name, height=self.hierarchy.height, level=self.level)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first leaf of every atom."""
        if self.between_bands:
            return np.unique(self.hierarchy.bands[0]).astype(np.int64)
        return np.asarray(self.hierarchy.levels[self.level].starts, np.int64)

    def losing(self, codes: NDArray[np.int32]) -> Losing:
        """The basis of losses: those of the measure `loss`, or as if atoms were the leaves.

        If the domain was observed, published ends are those of bands of values that occur (`release.shown_ends`).
        """
        if self.counts_atoms:
            first = last = np.arange(len(self.starts))
            cumulative = np.arange(len(self.starts) + 1) / len(self.starts)
        else:
            first, last = self.starts, np.append(self.starts[1:], self.hierarchy.size) - 1
            cumulative = self.hierarchy.cumulative / self.hierarchy.cumulative[-1]
        if self.hierarchy.observed and not self.counts_atoms:
            leaves = np.unique(codes).astype(np.int64)
            begins, ends = self.hierarchy.bands
            first = np.maximum(begins[leaves[np.minimum(np.searchsorted(leaves, first), len(leaves) - 1)]], first)
            last = np.minimum(ends[leaves[np.maximum(np.searchsorted(leaves, last, side="right") - 1, 0)]], last)
        scale = 1 / (1 - 1 / max(len(cumulative) - 1, 2))
        return Losing(cumulative[first] * scale, cumulative[last + 1] * scale, first, last, scale - 1)

    @property
    def bits(self) -> int:
        """The number of places between two atoms."""
        return len(self.starts) - 1

    @cached_property
    def partitions(self) -> list[Bits]:
        """The cuts of every level from the atoms to the root, each different set once."""
        partitions: list[Bits] = []
        for level in self.hierarchy.levels[self.level :]:
            cuts = np.isin(self.starts[1:], level.starts).astype(np.uint8)
            if not partitions or not np.array_equal(partitions[-1], cuts):
                partitions.append(cuts)
        return partitions

    @cached_property
    def nodes(self) -> list[tuple[int, int, Bits]]:
        """Every node above the atoms: its first atom, its last, and the cuts between its children."""
        nodes = []
        for finer, coarser in zip(self.partitions, self.partitions[1:], strict=False):
            ends = [*(np.flatnonzero(coarser) + 1), self.bits + 1]
            for first, end in zip([0, *ends[:-1]], ends, strict=True):
                inside = np.zeros(self.bits, np.uint8)
                inside[first : end - 1] = finer[first : end - 1]
                if inside.any():
                    nodes.append((int(first), int(end - 1), inside))
        return nodes

    def is_valid(self, cuts: Bits) -> bool:
        """Whether cuts are allowed: anywhere, or where constrained only into nodes."""
        if not self.constrained:
            return True
        allowed = {(first, last) for first, last, _ in self.nodes} | {(i, i) for i in range(self.bits + 1)}
        ends = [*(np.flatnonzero(cuts) + 1), self.bits + 1]
        return all((first, end - 1) in allowed for first, end in zip([0, *ends[:-1]], ends, strict=True))

    @cached_property
    def count(self) -> int:
        """The number of allowed cut sets."""
        return self._count(0, self.bits) if self.constrained else 2**self.bits

    def children(self, first: int, last: int) -> list[tuple[int, int]]:
        """The children of a node; none of an atom."""
        for start, end, inside in self.nodes:
            if (start, end) == (first, last):
                ends = [*(np.flatnonzero(inside) + 1), last + 1]
                return [(int(a), int(b) - 1) for a, b in zip([first, *ends[:-1]], ends, strict=True)]
        return []

    def _count(self, first: int, last: int) -> int:
        ways = 1
        children = self.children(first, last)
        for child in children:
            ways *= self._count(*child)
        return ways + 1 if children else 1

    def every(self) -> list[Bits]:
        """List all allowed cut sets."""
        sets = self._below(0, self.bits) if self.constrained else self._anywhere()
        cut_sets = []
        for chosen in sets:
            cuts = np.zeros(self.bits, np.uint8)
            cuts[list(chosen)] = 1
            cut_sets.append(cuts)
        return cut_sets

    def _anywhere(self) -> Iterator[tuple[int, ...]]:
        for size in range(self.bits + 1):
            yield from combinations(range(self.bits), size)

    def _below(self, first: int, last: int) -> Iterator[tuple[int, ...]]:
        yield ()
        children = self.children(first, last)
        if children:
            between = tuple(child[1] for child in children[:-1])
            for parts in product(*(list(self._below(*child)) for child in children)):
                yield between + tuple(cut for part in parts for cut in part)

    def leaf_cuts(self, cuts: Bits) -> list[int]:
        """Return the leaves before which the domain is cut."""
        return [int(start) for start in self.starts[1:][cuts.astype(bool)]]


@dataclass(frozen=True)
class CutSpace:
    """All allowed cut vectors of a table's quasi-identifiers, the bits of the attributes one after the other."""

    attributes: tuple[CutAttribute, ...]

    @cached_property
    def offsets(self) -> list[int]:
        """The first bit of every attribute, and the end."""
        return [0, *map(int, np.cumsum([attribute.bits for attribute in self.attributes]))]

    @property
    def bits(self) -> int:
        """The length of a vector."""
        return self.offsets[-1]

    @property
    def count(self) -> int:
        """The number of allowed vectors."""
        total = 1
        for attribute in self.attributes:
            total *= attribute.count
        return total

    @property
    def level_count(self) -> int:
        """The number of vectors that are one level for every attribute."""
        total = 1
        for attribute in self.attributes:
            total *= len(attribute.partitions)
        return total

    def parts(self, vector: Bits) -> list[Bits]:
        """Take a vector apart: the bits of every attribute."""
        return [vector[a:b] for a, b in zip(self.offsets, self.offsets[1:], strict=False)]

    def is_valid(self, vector: Bits) -> bool:
        """Return whether every constrained attribute is cut along its hierarchy."""
        return all(
            attribute.is_valid(cuts) for attribute, cuts in zip(self.attributes, self.parts(vector), strict=True)
        )

    def text(self, vector: Bits) -> str:
        """Write a vector as `CutVector.cuts`: the cuts of every attribute that has any."""
        leaves = {
            attribute.name: (attribute.hierarchy, attribute.leaf_cuts(cuts))
            for attribute, cuts in zip(self.attributes, self.parts(vector), strict=True)
        }
        return ", ".join(f"{quoted(name)}={write_cuts(*about)}" for name, about in leaves.items() if about[1])


def cut_space(
    cells: Cells,
    constrained: Iterable[str] | None = None,
    levels: Mapping[str, int] | None = None,
    counts_atoms: bool = False,
    between_bands: bool = False,
) -> CutSpace:
    """Make the space of a table: `constrained` names what is cut along its hierarchy only (by default all categories).

    `levels` is the granularity: the level of the hierarchy that is the finest an attribute may show (0: its leaves).
    With `between_bands` an attribute that is named in neither is cut between its bands only; one that has a single band
    shows its leaves, or nothing. Losses are those of the releases, which count leaves; with `counts_atoms` they are
    relative to the granularity.
    """
    names = [quasi.name for quasi in cells.quasi]
    chosen = None if constrained is None else set(constrained)
    for name in (*(chosen or ()), *(levels or {})):
        if name not in names:
            raise refusal("no_quasi_identifier_cut_vector", name=name, names=", ".join(names))
    attributes = []
    for quasi in cells.quasi:
        bound = quasi.hierarchy.scale == "category" if chosen is None else quasi.name in chosen
        level = (levels or {}).get(quasi.name, 0)
        banded = between_bands and not bound and quasi.name not in (levels or {})
        if banded and len(np.unique(quasi.hierarchy.bands[0][: quasi.hierarchy.domain_size])) == 1:
            bound, banded = True, False
        attributes.append(CutAttribute(quasi.name, quasi.hierarchy, bound, level, counts_atoms, banded))
    return CutSpace(tuple(attributes))


# -- text --------------------------------------------------------------------------------------------------


def quoted(text: str) -> str:
    """Put a name or a label into quotes where it needs them."""
    plain = text and text == text.strip() and text[0] != LEVEL and not any(mark in text for mark in ',="|')
    return text if plain else '"' + text.replace('"', '""') + '"'


def write_cuts(hierarchy: Hierarchy, cuts: Sequence[int]) -> str:
    """Write cuts: the finest level that has no others, such as `@2`, then the leaf that begins each further part."""
    written, left = [], set(cuts)
    for number, level in enumerate(hierarchy.levels):
        inner = set(level.starts[1:])
        if len(inner) > 1 and inner <= left:
            written.append(f"{LEVEL}{number}")
            left -= inner
            break
    return "|".join([*written, *(quoted(hierarchy.leaves[leaf]) for leaf in sorted(left))])


def read_cuts(text: str) -> list[tuple[str, tuple[str | int, ...]]]:
    """Read the text form: for every attribute the labels of leaves that begin a part, or numbers of levels."""
    cuts: list[tuple[str, tuple[str | int, ...]]] = []
    for part in split_outside_quotes(text, ",") if text.strip() else []:
        name, *rest = split_outside_quotes(part, "=")
        if len(rest) != 1 or not name.strip():
            raise refusal("cuts_cannot_read", part=part.strip())
        name = _unquoted(name)
        if name in dict(cuts):
            raise refusal("cuts_stands_twice", name=name)
        items = split_outside_quotes(rest[0], "|") if rest[0].strip() else []
        cuts.append((name, tuple(_item(name, item.strip()) for item in items)))
    return cuts


def _item(name: str, item: str) -> str | int:
    if not item.startswith(LEVEL):
        return _unquoted(item)
    if not item[1:].isascii() or not item[1:].isdigit():
        raise refusal("cuts_no_level", name=name, item=item)
    return int(item[1:])


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1].replace('""', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text


def leaf_starts(name: str, hierarchy: Hierarchy, items: Sequence[str | int]) -> NDArray[np.int32]:
    """Find the first leaf of every part that cuts make of a domain."""
    starts = {0}
    known = {label: leaf for leaf, label in enumerate(hierarchy.leaves)}
    for item in items:
        if isinstance(item, int):
            if item > hierarchy.height:
                raise refusal("cuts_levels", name=name, height=hierarchy.height, item=item)
            starts |= set(hierarchy.levels[item].starts)
        elif item not in known:
            raise refusal("cuts_no_value", item=item, name=name, domain_in_words=hierarchy.domain_in_words())
        else:
            starts.add(known[item])
    return np.array(sorted(starts), np.int32)


@dataclass(frozen=True)
class CutVector(Anonymizer):
    """Publish the part instead of the value: the part of its domain between two cuts.

    >>> str(CutVector("age=20|40, sex=@0"))
    'cut-vector cuts="age=20|40, sex=@0"'
    """

    cuts: Annotated[str, Option()]
    """The value that begins each part, or @ and a level of the hierarchy; an attribute without cuts is shown as `*`."""

    name: ClassVar[str] = "cut-vector"
    example: ClassVar[str | None] = 'cut-vector cuts="age=20|40, sex=@0"'
    treats_households_alike = True
    counts_persons = True
    is_found: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        read_cuts(self.cuts)

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Cut, and suppress the groups that are not admitted."""
        cells = table.cells
        named, names = dict(read_cuts(self.cuts)), [quasi.name for quasi in cells.quasi]
        for name in named:
            if name not in names:
                raise refusal("cuts_no_quasi_identifier", name=name, names=", ".join(names))
        lo, hi = np.empty_like(cells.codes), np.empty_like(cells.codes)
        for a, quasi in enumerate(cells.quasi):
            starts = leaf_starts(quasi.name, quasi.hierarchy, named.get(quasi.name, ()))
            part = np.searchsorted(starts, cells.codes[:, a], side="right") - 1
            lo[:, a] = starts[part]
            hi[:, a] = (np.append(starts[1:], quasi.hierarchy.size) - 1)[part]
        release = recoded(table, requirement, form, lo, hi, draw_in=True)
        check_budget(release, requirement, budget, "with these cuts", "make fewer cuts")
        return replace(release, details={"cuts": self.cuts})
