"""Sequential trees: every column is drawn from a tree that predicts it by the columns before (Reiter 2005).

    synthpop's method `cart` (Nowok, Raab & Dibben 2016).

    The first column: as many values as the table has records, drawn from its own with replacement.
    Each following column y, with X the columns before it:
        fit a CART tree of y on X to the table, with at least `leaf` records in every leaf
        for every synthetic record: find the leaf where its X lies, and draw one of the values of y in it.

The columns go from the one with the fewest values that occur to the one with the most, or in the `order` given. A tree
cuts leaf codes: these are in the order of numbers, or of the hierarchy, where siblings stand side by side.

What it promises: nothing. Every value of a synthetic record is somebody's, and where the leaves are small whole
records recur. Certificates and maps report for every release how many unique records of the table it contains
(`release.records.replicated_uniques`). Such a record is nobody's by the way it was made, and somebody's all the same.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers.anonymizer import Dial, size_dial
from sfumato.anonymizers.perturbation.record_anonymizer import RecordMaker, Seed
from sfumato.config.options import Option
from sfumato.errors import BadInputError
from sfumato.release.records import Records
from sfumato.runtime.arrays import Codes, Counts


@dataclass(frozen=True)
class Cart(RecordMaker):
    """Draw synthetic records, each column from a tree of those before it."""

    leaf: Annotated[int, Option(least=1)] = 5
    """How many records of the table a leaf of a tree has at least."""

    order: Annotated[tuple[str, ...], Option(takes="columns")] = ()
    """The columns in the order in which they are drawn; those that are not named follow."""

    seed: Seed = None

    name: ClassVar[str] = "cart"
    drawn_as: ClassVar[str] = "synthetic records"
    aligned: ClassVar[bool] = False
    people: ClassVar[bool] = False

    def dial(self, records: int) -> Dial | None:
        """Turn how many records a leaf has."""
        return size_dial("leaf", records)

    def check_columns(self, columns: Records) -> None:
        """Raise where the order names a column that is not there."""
        self._order(columns)

    def records(self, original: Records, generator: np.random.Generator) -> Records:
        """Draw column after column."""
        first, *others = self._order(original)
        drawn = np.empty_like(original.codes)
        drawn[:, first] = generator.choice(original.codes[:, first], len(original))
        before = [first]
        for place in others:
            drawn[:, place] = self._drawn(original, place, before, drawn[:, before], generator)
            before.append(place)
        return original.recoded(drawn)

    def _order(self, records: Records) -> list[int]:
        named = [records.place(name) for name in self.order]
        if len(set(named)) < len(named):
            raise BadInputError(f"order: a column appears twice in {', '.join(self.order)}")
        kinds = [len(np.unique(column)) for column in records.codes.T]
        others = sorted(set(range(len(records.names))) - set(named), key=lambda place: (kinds[place], place))
        return [*named, *others]

    def _drawn(
        self, original: Records, place: int, before: list[int], given: Codes, generator: np.random.Generator
    ) -> Codes:
        """Draw one column where the columns before it are given."""
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # a second to import

        kind = DecisionTreeRegressor if original.is_number(place) else DecisionTreeClassifier
        tree = kind(min_samples_leaf=self.leaf, random_state=int(generator.integers(2**31)))
        tree.fit(original.codes[:, before].astype(np.float32), original.codes[:, place])
        return drawn_from(tree.apply(original.codes[:, before]), original.codes[:, place], tree.apply(given), generator)


def drawn_from(leaf: Counts, values: Codes, where: Counts, generator: np.random.Generator) -> Codes:
    """Draw for each of some leaves one of the values that the table has there."""
    order = np.argsort(leaf, kind="stable")
    starts = np.searchsorted(leaf[order], np.arange(leaf.max() + 2))
    sizes = starts[where + 1] - starts[where]
    return values[order[starts[where] + (generator.random(len(where)) * sizes).astype(np.int64)]]
