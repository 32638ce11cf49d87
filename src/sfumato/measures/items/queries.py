"""COUNT queries with a predicate on both sides: how many records of 60 to 69 years have this code?

Of a random record some items are drawn, and of some random quasi-identifiers an interval of values around the record's
own. So every query has an answer above zero, and frequent items are drawn often, as with `item-queries`.

Workloads of COUNT queries on baskets: how many records have all of these items?

Four ways to draw them, by name, and your own file:

- `transaction`: a random record, and random items of it: never empty, and frequent items are asked for often.
- `uniform-items`: every item equally likely.
- `frequency-weighted`: items as often as they occur.
- `frequent-pairs`: random ones of the most frequent pairs.
- `file`: one query per line.

Only queries that some record answers are kept, because errors are relative. For one or two items the mean error over
all possible queries is computed (`expectation`). For more items it is that of drawn workloads, and several of the same
kind show how far it depends on the draw.
"""

from dataclasses import dataclass, fields
from math import ceil
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.config.options import Configured, Option
from sfumato.data.dataset import MixedTable
from sfumato.data.items import Baskets
from sfumato.engines.item_files import numbered_lines, split_line
from sfumato.errors import BadInputError
from sfumato.measures.items.estimates import BasketReader, MixedReader, Questions
from sfumato.measures.items.expectation import Expectation, expectation
from sfumato.release._itemsets import Rows, frequent_pairs
from sfumato.requirements.items import Itemset
from sfumato.runtime.arrays import Numbers
from sfumato.texts.catalogue import refusal

LARGEST = 5
EXACT_SIZE = 2
"""Up to so many items in a query the expectation over all queries is worked out."""

MOST_PAIRS = 1 << 24
"""Up to so many pairs of items (as bounded by the lengths of records) that is the usual way: some 50 bytes each."""

DRAWN = ("number", "workloads", "seed")
MOST_DRAWS = 200
"""How many times as many queries are drawn as are asked for, in search of some that a record answers."""


@dataclass(frozen=True)
class ItemQueries(Configured):
    """Workloads of COUNT queries, and how they are answered from a release.

    >>> str(ItemQueries(size=3, estimator="expanded"))
    'item-queries size=3 estimator=expanded'
    """

    kind: Annotated[
        Literal["transaction", "uniform-items", "frequency-weighted", "frequent-pairs", "file"], Option()
    ] = "transaction"
    """The source of the items of a query."""

    size: Annotated[int, Option(least=1, most=LARGEST)] = 2
    """Items in a query."""

    number: Annotated[int, Option(least=1)] = 1000
    """Queries in a workload."""

    workloads: Annotated[int, Option(least=1)] = 5
    """How many workloads, over which intervals are taken."""

    seed: Annotated[int, Option(least=0)] = 0
    """What decides the queries."""

    estimator: Annotated[Literal["half", "expanded", "nonempty", "uniform"], Option()] = "half"
    """How a reader answers from a published set of items; all of them are measured, this one is called `are`."""

    joint: Annotated[Literal["product", "exact"], Option()] = "product"
    """Two items of a query in one published set: the product of their odds, or the exact odds of both."""

    sanity: Annotated[float, Option(least=0, most=1)] = 0.0
    """Errors are relative to at least this share of the records."""

    top: Annotated[float, Option(more_than=0, most=1)] = 0.01
    """Of frequent-pairs: the share of the pairs that is called frequent."""

    file: Annotated[str | None, Option(takes="file", when=("kind", "file"), needed="queries.txt")] = None
    """The file of queries, one per line."""

    workload: Annotated[Literal["auto", "exact", "sampled"], Option()] = "auto"
    """The expectation over all queries, or a sample of them; auto is exact of one or two items, unless number,
    workloads or seed are given."""

    name: ClassVar[str] = "item-queries"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind == "frequent-pairs" and self.size != 2:
            raise BadInputError(f"item-queries kind=frequent-pairs asks for pairs: size must be 2, not {self.size}")
        if self.workload != "exact":
            return
        if self.size > EXACT_SIZE or self.kind == "file":
            raise refusal(
                "queries_too_large_to_be_exact", what="of a file" if self.kind == "file" else f"size={self.size}"
            )
        if self.is_drawn:
            raise BadInputError("number, workloads and seed have no say in item-queries workload=exact; leave them out")

    @property
    def is_drawn(self) -> bool:
        """Whether the drawing of queries was configured."""
        usual = {each.name: each.default for each in fields(self)}
        return any(getattr(self, name) != usual[name] for name in DRAWN)

    @property
    def is_exact(self) -> bool:
        """Whether the expectation over all queries is wanted; where there are too many pairs they are drawn."""
        if self.workload != "auto":
            return self.workload == "exact"
        return self.kind != "file" and self.size <= EXACT_SIZE and not self.is_drawn

    def expectation(self, baskets: Baskets) -> Expectation | None:
        """List all queries with their weights; None where they are drawn."""
        if not self.is_exact or (self.workload == "auto" and self.size > 1 and most_pairs(baskets) > MOST_PAIRS):
            return None
        asked = expectation(baskets, self.kind, self.size, self.top)
        if asked is None:
            raise self._none(baskets)
        return asked

    @property
    def unread(self) -> tuple[str, ...]:
        """The fields that have no say because the kind decides them."""
        if self.kind == "file":
            return ("size", "workload", *DRAWN, "top")
        return ("file",) if self.kind == "frequent-pairs" else ("file", "top")

    def draw(self, baskets: Baskets) -> list[list[Itemset]]:
        """Draw the workloads: each a list of sets of items that some record has."""
        if self.file is not None:
            return [read_queries(Path(self.file), baskets)]
        seeds = np.random.SeedSequence(self.seed).spawn(self.workloads)
        return [self._drawn(baskets, np.random.default_rng(seed)) for seed in seeds]

    def _drawn(self, baskets: Baskets, random: np.random.Generator) -> list[Itemset]:
        if self.kind == "transaction":
            return self._of_transactions(baskets, random)
        if self.kind == "frequent-pairs":
            pairs = frequent_pairs(Rows.of_baskets(baskets).merged(), self.top)
            if not len(pairs):
                raise self._none(baskets)
            return [(int(a), int(b)) for a, b in pairs[random.integers(len(pairs), size=self.number)]]
        return self._of_items(baskets, random)

    def _of_transactions(self, baskets: Baskets, random: np.random.Generator) -> list[Itemset]:
        usable = np.flatnonzero(baskets.lengths >= self.size)
        if not len(usable):
            raise self._none(baskets)
        odds = baskets.weights[usable] / baskets.weights[usable].sum()
        queries = []
        for row in random.choice(usable, self.number, p=odds):
            items = baskets.codes[baskets.starts[row] : baskets.starts[row + 1]]
            queries.append(tuple(sorted(random.choice(items, self.size, replace=False).tolist())))
        return queries

    def _of_items(self, baskets: Baskets, random: np.random.Generator) -> list[Itemset]:
        """Draw sets of items, and keep those that a record has, until there are enough or no more come."""
        items = len(baskets.items)
        if self.size > items:
            raise self._none(baskets)
        odds = baskets.supports / baskets.occurrences if self.kind == "frequency-weighted" else None
        reader, queries = BasketReader.of_baskets(baskets), list[Itemset]()
        for _ in range(MOST_DRAWS):
            drawn = random.choice(items, (self.number, self.size), p=odds)
            drawn = np.sort(drawn[[len(set(row)) == self.size for row in drawn.tolist()]], axis=1)
            sets = [tuple(row) for row in drawn.tolist()]
            queries += [itemset for itemset, count in zip(sets, reader.matches(sets), strict=True) if count > 0]
            if len(queries) >= self.number:
                break
        if not queries:
            raise self._none(baskets)
        return queries[: self.number]

    def _none(self, baskets: Baskets) -> BadInputError:
        other = "" if self.kind == "transaction" else ", or for kind=transaction"
        return BadInputError(
            f"{baskets.origin}: no {self.kind} query of {self.size} items has an answer above zero; ask for fewer "
            f"items (item-queries size=1){other}"
        )


def most_pairs(baskets: Baskets) -> int:
    """Bound the pairs of items that some record has."""
    lengths, items = baskets.lengths.astype(np.int64), len(baskets.items)
    return min(int((lengths * (lengths - 1) // 2).sum()), items * (items - 1) // 2)


def fitting_queries(baskets: Baskets) -> ItemQueries:
    """Return the usual queries; for single items where no basket has more."""
    return ItemQueries(size=min(ItemQueries.size, int(baskets.lengths.max())))


def read_queries(path: Path, baskets: Baskets) -> list[Itemset]:
    """Read queries from a file, one per line; an item that no basket has is an error, so is a query nobody answers."""
    queries: list[Itemset] = []
    lines: list[int] = []
    for line, text in numbered_lines(path):
        labels = list(dict.fromkeys(split_line(text)))
        unknown = [label for label in labels if label not in baskets.places]
        if unknown:
            raise BadInputError(f"{path}, line {line}: the item {unknown[0]!r} is in no basket of {baskets.origin}")
        if labels:
            queries.append(tuple(sorted(baskets.places[label] for label in labels)))
            lines.append(line)
    if not queries:
        raise BadInputError(f"{path}: there is no line with items; write one query per line")
    for line, count in zip(lines, BasketReader.of_baskets(baskets).matches(queries), strict=True):
        if count == 0:
            raise refusal("query_without_an_answer", path=path, line=line)
    return queries


@dataclass(frozen=True)
class JointQueries(Configured):
    """A workload of COUNT queries on quasi-identifiers and items."""

    items: Annotated[int, Option(least=1, most=5)] = 1
    """Items in a query."""

    dimensions: Annotated[int, Option(least=1)] = 2
    """Quasi-identifiers in a query; all where there are fewer."""

    width: Annotated[float, Option(more_than=0, most=1)] = 0.2
    """The share of a quasi-identifier's values that is selected."""

    number: Annotated[int, Option(least=1)] = 1000
    """How many queries."""

    seed: Annotated[int, Option(least=0)] = 0
    """What decides the queries."""

    estimator: Annotated[Literal["half", "expanded", "nonempty", "uniform"], Option()] = "half"
    """An analyst's answer from a part that includes several items."""

    sanity: Annotated[float, Option(least=0, most=1)] = 0.001
    """Errors are relative to at least this share of the records."""

    name: ClassVar[str] = "joint-queries"

    def draw(self, data: MixedTable) -> Questions:
        """Draw the queries."""
        random, cells, baskets = np.random.default_rng(self.seed), data.cells, data.baskets
        usable = np.flatnonzero(baskets.lengths[data.pairs.basket] >= self.items)
        if not len(usable):
            raise refusal("too_few_items_to_ask_for", data=data, joint_queries=self)
        odds = data.pairs.count[usable] / data.pairs.count[usable].sum()
        first, last = cells.whole
        lo, hi = np.tile(first, (self.number, 1)), np.tile(last, (self.number, 1))
        items = []
        for query, pair in enumerate(random.choice(usable, self.number, p=odds).tolist()):
            basket = int(data.pairs.basket[pair])
            held = baskets.codes[baskets.starts[basket] : baskets.starts[basket + 1]]
            items.append(tuple(sorted(random.choice(held, self.items, replace=False).tolist())))
            codes = cells.codes[data.pairs.cell[pair]]
            some = random.permutation(len(first))[: self.dimensions]
            for a in some.tolist():
                size = int(cells.domains[a])
                width = min(max(ceil(size * self.width - 1e-9), 1), size)
                earliest, latest = max(0, int(codes[a]) - width + 1), min(int(codes[a]), size - width)
                lo[query, a] = random.integers(earliest, latest + 1)
                hi[query, a] = lo[query, a] + width - 1
        return Questions(lo, hi, items)

    def errors(self, reader: MixedReader, questions: Questions, answers: Numbers, records: int) -> Numbers:
        """Return the relative error of every query as a reader of a release answers it."""
        estimates = reader.estimates(questions, self.estimator)
        return np.asarray(np.abs(estimates - answers) / np.maximum(answers, self.sanity * records), np.float64)
