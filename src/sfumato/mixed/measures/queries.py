"""COUNT queries with a predicate on both sides: how many records of 60 to 69 years have this code?

Of a random record some items are taken, and of some random quasi-identifiers a stretch of values around the record's
own: so every query has an answer above zero, and frequent items are asked for often, as with `item-queries`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.arrays import Numbers
from sfumato.configuration import Configured, Option
from sfumato.errors import BadInputError
from sfumato.mixed.measures.reader import MixedReader, Questions
from sfumato.mixed.mixed_table import MixedTable


@dataclass(frozen=True)
class JointQueries(Configured):
    """A workload of COUNT queries on quasi-identifiers and items."""

    items: Annotated[int, Option("Items in a query.", least=1, most=5)] = 1
    dimensions: Annotated[int, Option("Quasi-identifiers in a query; all where there are fewer.", least=1)] = 2
    width: Annotated[
        float, Option("The share of a quasi-identifier's values that is selected.", more_than=0, most=1)
    ] = 0.2
    number: Annotated[int, Option("How many queries.", least=1)] = 1000
    seed: Annotated[int, Option("What decides the queries.", least=0)] = 0
    estimator: Annotated[
        Literal["half", "expanded", "nonempty", "uniform"],
        Option("How a reader answers from a part that stands for several items."),
    ] = "half"
    sanity: Annotated[float, Option("Errors are relative to at least this share of the records.", least=0, most=1)] = (
        0.001
    )
    name: ClassVar[str] = "joint-queries"

    def draw(self, data: MixedTable) -> Questions:
        """Draw the queries."""
        random, cells, baskets = np.random.default_rng(self.seed), data.cells, data.baskets
        usable = np.flatnonzero(baskets.lengths[data.pairs.basket] >= self.items)
        if not len(usable):
            raise BadInputError(
                f"{data.origin}: no record has {self.items} items to ask for; ask for fewer ({self.name} items=1)"
            )
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
