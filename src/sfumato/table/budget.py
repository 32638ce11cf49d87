"""The cell budget: columns are coarsened to levels of their hierarchies until the distinct combinations are few enough.

A search works on cells, so cells must fit into memory, however many rows there are. Above the budget the columns are
coarsened one level at a time: first the one that loses least for what it saves, as far as single columns tell (loss of
the level over its records, against the fall of the column's perplexity, exp of its entropy). That path depends on
nothing but the columns' counts, so it is the same on every engine; where on it the cells are few enough is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Counts
from sfumato.engines import Coding, Engine
from sfumato.errors import BadInputError
from sfumato.process.memory import machine_bytes, read_size
from sfumato.table.hierarchies.hierarchy import Hierarchy

BYTES_OF_A_CELL = 2000
"""What a search takes for a cell, with boxes and what measures prepare; `benchmarks/engines.py` measures it."""

SHARE = 0.5
"""Of the memory of a machine on which nothing is declared."""


def usual_most_cells(memory: str | None) -> int:
    """Return how many cells fit into the memory that is declared, or into half of what the machine has."""
    size = read_size("memory", memory) if memory is not None else int(SHARE * (machine_bytes() or 16 << 30))
    return max(size // BYTES_OF_A_CELL, 1)


@dataclass(frozen=True)
class Coarsening:
    """To which level every column is coarsened, and how many cells there are before and after."""

    levels: Mapping[str, int]
    before: int
    after: int

    def notice(self, name: str, tree: Hierarchy, most_cells: int) -> str:
        """Say what was done to a column."""
        coarse = len(tree.levels[self.levels[name]].starts)
        return (
            f"column {name!r} is coarsened to {coarse:,} values instead of {tree.size:,}: {self.before:,} distinct "
            f"combinations would be more than {most_cells:,} (most_cells), now there are {self.after:,}. Its loss is "
            "counted; queries and populations are those of the coarser values"
        )


@dataclass(frozen=True)
class BudgetedColumn:
    """A quasi-identifier: its hierarchy, the codes of its texts, the records of every leaf, how much a loss counts."""

    tree: Hierarchy
    coding: Coding
    counts: Counts
    weight: float = 1.0

    def at(self, level: int) -> Coding:
        """Return the codes of the nodes of a level; a value outside of the domain stays outside."""
        above = self.tree.ancestors[level]
        codes = {text: int(above[code]) if code >= 0 else code for text, code in self.coding.codes.items()}
        return Coding(self.coding.column, codes, self.coding.rule)

    def steps(self) -> list[tuple[float, int]]:
        """Say for every level below the root what it costs, per what it saves beyond the level before."""
        options, lost, kinds = [], 0.0, _perplexity(self.counts)
        for level in range(1, self.tree.height):
            bounds = np.array([*self.tree.levels[level].starts, self.tree.size])
            loss = self.tree.losses(bounds[:-1], bounds[1:] - 1)
            sizes = np.add.reduceat(self.counts, bounds[:-1])
            cost, fewer = float(loss @ sizes) / max(sizes.sum(), 1), _perplexity(sizes)
            saved = np.log(kinds / fewer)
            options.append((self.weight * (cost - lost) / saved if saved > 0 else np.inf, level))
            lost, kinds = cost, fewer
        return options


def _perplexity(counts: Counts) -> float:
    shares = counts[counts > 0] / max(counts.sum(), 1)
    return float(np.exp(-(shares * np.log(shares)).sum())) if len(shares) else 1.0


def path_of(columns: Mapping[str, BudgetedColumn]) -> list[dict[str, int]]:
    """List the levels of all columns, from none coarsened to all as far as can be, the cheapest step first."""
    left = {name: column.steps() for name, column in columns.items()}
    levels = dict.fromkeys(columns, 0)
    path = [dict(levels)]
    while any(left.values()):
        name = min((name for name in left if left[name]), key=lambda name: (left[name][0], name))
        levels[name] = left[name].pop(0)[1]
        path.append(dict(levels))
    return path


def coarsened(
    engine: Engine, columns: Mapping[str, BudgetedColumn], others: Sequence[Coding], most_cells: int
) -> Coarsening | None:
    """Find the first step of the path at which the cells are few enough; None where they are so from the start."""
    possible = 1
    for coding in [*(column.coding for column in columns.values()), *others]:
        possible *= len(set(coding.codes.values())) or 1
    if min(engine.row_count, possible) <= most_cells:
        return None

    path, known = path_of(columns), dict[int, int]()

    def cells(step: int) -> int:
        if step not in known:
            coded = [column.at(path[step][name]) for name, column in columns.items()]
            known[step] = engine.cell_number([*coded, *others])
        return known[step]

    if cells(0) <= most_cells:
        return None
    low, high = 0, len(path) - 1
    if cells(high) > most_cells:
        raise BadInputError(
            f"{engine.origin}: there are {cells(0):,} distinct combinations, and {cells(high):,} where every column is "
            f"as coarse as its hierarchy can be, more than {most_cells:,} (most_cells); leave quasi-identifiers out, "
            "declare coarser hierarchies, or allow more (--most-cells, --memory)"
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if cells(middle) <= most_cells else (middle, high)
    changed = {name: level for name, level in path[high].items() if level}
    return Coarsening(changed, cells(0), cells(high))
