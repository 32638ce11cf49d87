"""A table with items: rows of quasi-identifiers, each with a basket of items; and a table without held-out records.

    Table:      the relational part, compressed to cells.
    Baskets:    the distinct baskets.
    Pairs:      which cell has which basket, in how many records.

All code for such tables uses the pairs. A record without items has the empty basket. Declared sensitive items form a
derived attribute of the record (`policy`), which is a sensitive attribute of the cells. Cells are divided by it here,
so that every requirement and measure of tables can read it.

Held-out records are drawn from a seed over the cells in code order, so the draw depends on the seed and the records,
but not on their order. If persons are counted, persons are drawn and held out with all their records, in an order that
follows from these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from sfumato.config.documents import named
from sfumato.data.cells import Cells, CountedValues, sensitive_attribute, sorted_cells, weighted_counts
from sfumato.data.hierarchies.categorical import flat
from sfumato.data.items import Baskets
from sfumato.data.persons import PersonPairs
from sfumato.data.reading import Table
from sfumato.runtime.arrays import Counts, Flags, RedactedRepr
from sfumato.texts.catalogue import refusal, t

NONE = "none"
"""The derived attribute of a record without sensitive items."""

TOGETHER = " + "
"""The separator of several sensitive items of a record."""


Named = Sequence[str] | Mapping[str, Sequence[str]]
"""Sensitive items, or nodes of the tree, by their labels; or with their items."""


@dataclass(frozen=True, eq=False, repr=False)
class CellBaskets(RedactedRepr):
    """The distinct pairs of a cell and a basket, by cell and basket, and the number of records of each."""

    cell: Counts
    basket: Counts
    count: Counts

    @staticmethod
    def gathered(cell: Counts, basket: Counts, count: Counts) -> CellBaskets:
        """Merge equal pairs and sort them."""
        width = int(basket.max(initial=0)) + 1
        keys, number = np.unique(cell * width + basket, return_inverse=True)
        return CellBaskets(keys // width, keys % width, weighted_counts(number.ravel(), count, len(keys)))

    def __len__(self) -> int:
        return len(self.count)


@dataclass(frozen=True, eq=False, repr=False)
class MixedTable(RedactedRepr):
    """A table, the baskets of its records, and which cell has which basket."""

    table: Table
    """The relational part, with the derived attribute if there are sensitive items."""

    declared: Table
    """The relational part as declared, without the derived attribute."""

    baskets: Baskets
    pairs: CellBaskets
    column: str
    """The name of the column of items, here and in the published file."""

    sensitive: tuple[str, ...] = ()
    """The items, or nodes of their tree, of the derived attribute."""

    notices: tuple[str, ...] = ()

    @property
    def cells(self) -> Cells:
        """The cells of the relational part."""
        return self.table.cells

    @property
    def origin(self) -> str:
        """The origin of the data, for messages."""
        return self.table.engine.origin

    @property
    def records(self) -> int:
        """The number of records."""
        return self.table.cells.records

    @property
    def columns(self) -> list[str]:
        """The columns of a release with one value each, in the order of the input, without the derived one."""
        return [name for name in self.table.published if name != self.column]

    @cached_property
    def digest(self) -> str:
        """A digest of the records, in any order, with their items and the tree of these."""
        cells, made = self.cells, hashlib.sha256(self.baskets.digest.encode())
        for quasi in cells.quasi:
            made.update(repr((quasi.name, quasi.hierarchy.content, quasi.weight)).encode())
        for sensitive in cells.sensitive:
            made.update(repr((sensitive.name, sensitive.labels)).encode())
        for array in (cells.codes, cells.values, self.pairs.cell, self.pairs.basket, self.pairs.count):
            made.update(np.ascontiguousarray(array).tobytes())
        return made.hexdigest()


def derived_values(baskets: Baskets, sensitive: Named) -> list[str]:
    """Return for each distinct basket its sensitive items or nodes: the derived attribute."""
    if isinstance(sensitive, Mapping):
        places = baskets.places
        held = [[places[item] for item in items if item in places] for items in sensitive.values()]
        having = [_has_any(baskets, np.array(items, np.int64)) for items in held]
    else:
        having = [_has_any(baskets, sensitive_places(baskets, label)) for label in sensitive]
    return [
        TOGETHER.join(label for label, has in zip(sensitive, row, strict=True) if has) or NONE
        for row in np.stack(having, axis=1).tolist()
    ]


def sensitive_places(baskets: Baskets, label: str) -> Counts:
    """Return the items of a sensitive item or node of the tree."""
    if label in baskets.places:
        return np.array([baskets.places[label]], np.int64)
    if baskets.tree is not None:
        for (first, last), name in baskets.tree.nodes.items():
            if name == label:
                return np.flatnonzero((baskets.leaf >= first) & (baskets.leaf <= last))
    tree = "" if baskets.tree is None else t("notice.no_node_item_tree")
    raise refusal("sensitive_item_no_record", label=label, origin=baskets.origin, tree=tree)


def _has_any(baskets: Baskets, items: Counts) -> Counts:
    wanted = np.zeros(len(baskets.items), np.int64)
    wanted[items] = 1
    row = np.repeat(np.arange(baskets.distinct), baskets.lengths)
    return np.bincount(row, wanted[baskets.codes], baskets.distinct) > 0  # type: ignore[return-value]


def mixed_table(
    table: Table,
    baskets: Baskets,
    pairs: CellBaskets,
    column: str,
    sensitive: Named = (),
    notices: Sequence[str] = (),
) -> MixedTable:
    """Join a table and the baskets of its records; sensitive items add their attribute to the table."""
    assert int(pairs.count.sum()) == table.cells.records == baskets.size, t("notice.every_record_basket")
    declared = table
    if sensitive:
        table, pairs = _with_derived(table, baskets, pairs, column, sensitive)
    return MixedTable(table, declared, baskets, pairs, column, tuple(sensitive), tuple(notices))


def _with_derived(
    table: Table, baskets: Baskets, pairs: CellBaskets, column: str, sensitive: Named
) -> tuple[Table, CellBaskets]:
    """Divide the cells by the derived attribute, which is then the table's last sensitive one by name."""
    cells, values = table.cells, derived_values(baskets, sensitive)
    with named(t("notice.sensitive_items_column", origin=baskets.origin, column=column)):
        hierarchy = flat(sorted(set(values)), observed=True)
    codes = hierarchy.encode(values)[pairs.basket]
    attribute, value = sensitive_attribute(column, hierarchy, codes, pairs.count)
    names = [each.name for each in cells.sensitive]
    place = int(np.searchsorted(np.array(names, dtype=object), column)) if names else 0
    several = np.insert(cells.values[pairs.cell], place, value, axis=1)
    rows = np.concatenate([pairs.cell[:, None], several], axis=1)
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    number = number.ravel()
    divided = Cells(
        cells.quasi,
        (*cells.sensitive[:place], attribute, *cells.sensitive[place:]),
        np.ascontiguousarray(cells.codes[distinct[:, 0]]),
        np.ascontiguousarray(distinct[:, 1:].astype(np.int32)),
        weighted_counts(number, pairs.count, len(distinct)),
    )
    roles = replace(table.roles, sensitive=(*table.roles.sensitive, column))
    other = replace(table, roles=roles, hierarchies={**table.hierarchies, column: hierarchy})
    vars(other)["_counted"] = (divided, table.dropped, table.link)
    return other, CellBaskets.gathered(number, pairs.basket, pairs.count)


@dataclass(frozen=True, eq=False, repr=False)
class RemainingTable(Table):
    """A table without some of its records; cells without records are removed."""

    whole: Table | None = None
    kept: Counts | None = None
    """The number of remaining records of each cell of the whole table."""

    persons: PersonPairs | None = None
    """Their persons, if these are counted; the cells are those of the whole table."""

    held_out: PersonPairs | None = None
    """The persons of the held-out records."""

    @staticmethod
    def of(
        table: Table, kept: Counts, persons: PersonPairs | None = None, held_out: PersonPairs | None = None
    ) -> RemainingTable:
        """Keep a number of records of each cell of a table; if persons are counted, all records of the given ones."""
        if table.cells.persons is not None and persons is None:
            raise refusal("single_records_of_persons", table=table)
        declared = {field.name: getattr(table, field.name) for field in fields(Table)}
        return RemainingTable(**declared, whole=table, kept=kept, persons=persons, held_out=held_out)

    @staticmethod
    def drawn(table: Table, share: float, generator: np.random.Generator) -> RemainingTable:
        """Hold out a share of the records, or of the persons if these are counted; keep the others."""
        cells = table.cells
        if cells.persons is None:
            return RemainingTable.of(table, cells.counts - held_out(cells, share, generator))
        return RemainingTable.without(table, cells.persons, cells.persons.drawn(share, generator))

    @staticmethod
    def without(table: Table, persons: PersonPairs, left_out: Flags) -> RemainingTable:
        """Hold out some persons of a table."""
        remaining = persons.without(left_out)
        return RemainingTable.of(table, remaining.counts(), remaining, held_out=persons.without(~left_out))

    @cached_property
    def places(self) -> Counts:
        """The remaining cells of the whole table."""
        assert self.kept is not None
        return np.flatnonzero(self.kept)

    def remaining(self, cell: Counts) -> tuple[Counts, Counts]:
        """Return for rows with cells of the whole table, in random order, which remain, and their cell here."""
        self._check_no_persons()
        assert self.whole is not None and self.kept is not None
        order = np.argsort(cell, kind="stable")
        starts = np.searchsorted(cell[order], np.arange(self.whole.cells.size))
        rank = np.empty(len(cell), np.int64)
        rank[order] = np.arange(len(cell)) - starts[cell[order]]
        left = np.flatnonzero(rank < self.kept[cell])
        return left, np.searchsorted(self.places, cell[left])

    @cached_property
    def _counted(self) -> tuple[Cells, int, str]:
        assert self.whole is not None and self.kept is not None
        cells = self.whole.cells
        left = [attribute.leaves[cells.values[self.places, s]] for s, attribute in enumerate(cells.sensitive)]
        codes = np.column_stack([cells.codes[self.places], *left]).astype(np.int32)
        sensitive = [(attribute.name, attribute.hierarchy) for attribute in cells.sensitive]
        left_cells = sorted_cells(cells.quasi, sensitive, codes, self.kept[self.places])
        if self.persons is not None:
            cell = np.searchsorted(self.places, self.persons.cell).astype(np.int32)
            left_cells = left_cells.with_persons(replace(self.persons, cell=cell, cells=len(self.places)))
        return left_cells, self.whole.dropped, self.whole.link

    def _check_no_persons(self) -> None:
        """Raise if the records of a cell belong to different persons, some of whom may be held out."""
        if self.persons is not None:
            raise refusal("single_records_of_persons", table=self)

    def _count_neutral(self, column: str) -> CountedValues:
        """Draw, by cell, which of a neutral column's values the remaining records have."""
        self._check_no_persons()
        assert self.whole is not None and self.kept is not None
        counted, generator = self.whole.counts_of(column), np.random.default_rng(int(self.kept.sum()))
        counts = counted.counts.copy()
        for cell in np.flatnonzero(self.kept < self.whole.cells.counts):
            span = slice(counted.offsets[cell], counted.offsets[cell + 1])
            counts[span] = generator.multivariate_hypergeometric(counts[span], int(self.kept[cell]))
        number = np.repeat(np.arange(self.whole.cells.size), np.diff(counted.offsets))
        there = counts > 0
        offsets = np.r_[0, np.cumsum(np.bincount(number[there], minlength=self.whole.cells.size)[self.places])]
        return replace(counted, offsets=offsets, values=counted.values[there], counts=counts[there])


def held_out(cells: Cells, share: float, generator: np.random.Generator) -> Counts:
    """Draw a share of the records without replacement: the number held out of each cell."""
    wanted = round(share * cells.records)
    if not 0 < wanted < cells.records:
        raise refusal("nothing_held_out", share=share, cells=cells, wanted=wanted)
    return generator.multivariate_hypergeometric(cells.counts, wanted, method="marginals")
