"""What items are worth to their owner: the weights w and the penalties Y of UL (Loukides et al. 2011), from a file.

One line for an item, some items or a node of the tree: names, a colon, a weight, and perhaps a penalty:

    250.01 250.02: 3
    290-319: 2 10

A published part weighs the mean of its items' weights; an item that is left out costs its penalty for every record that
has it. Where nothing is said a weight is 1, and a penalty 1: as much as everything published as one. The papers leave
both to the owner; that a part weighs the mean of its items is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Codes, Numbers
from sfumato.errors import BadInputError
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.policy.item_lists import lines_of, named_items, names_in

LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class ItemWeights:
    """For every item its weight, and what it costs to leave it out of a record."""

    weights: Numbers
    penalties: Numbers
    may_choose: bool = True
    """Whether a maker may leave items out that could be published with others; not where the limit is another's."""

    def of_some(self, items: Codes) -> ItemWeights:
        """Return what some items are worth, to a maker that sees only these and leaves out no more than it must."""
        return ItemWeights(self.weights[items], self.penalties[items], may_choose=False)


def read_weights(baskets: Baskets, file: str) -> ItemWeights:
    """Read the weights of items; an item that stands in two lines, or a number that is none, is an error."""
    lines, mark = lines_of(baskets, file)
    worth = ItemWeights(np.ones(len(baskets.items)), np.ones(len(baskets.items)))
    seen: dict[int, int] = {}
    for number, text in lines:
        names, colon, rest = text.rpartition(":")
        values = [_positive(part) for part in rest.split()]
        if not colon or not names.strip() or len(values) not in (1, 2) or None in values:
            raise BadInputError(
                f"{file}, line {number}: a line has items, a colon, a weight above 0 and perhaps a penalty above 0; "
                "write for example 250.01 250.02: 3 10"
            )
        for code in named_items(baskets, names_in(baskets, names, mark), f"{file}, line {number}"):
            if code in seen:
                raise BadInputError(
                    f"{file}, line {number}: the item {baskets.items[code]!r} is in line {seen[code]} already; an "
                    "item has one weight"
                )
            seen[code] = number
            worth.weights[code], worth.penalties[code] = values[0], values[-1] if len(values) == 2 else 1.0
    return worth


def _positive(text: str) -> float | None:
    """Read a number above 0; nothing where it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= LARGEST else None
