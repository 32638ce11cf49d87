"""The limit on cells: columns are coarsened to levels of their hierarchies until the combinations are few enough.

A search works on cells, so cells must fit into memory, for any number of rows. Above the limit columns are coarsened
one level at a time, first the one with the least loss per saving. Both are estimated from single columns: the loss of
the level over its records, and the decrease of the column's perplexity (exp of its entropy). This order depends only on
the columns' counts, so it is the same on every engine. The cells are counted to find the first sufficient step.

In a large table an engine also reads some columns coarser before it returns their texts, because a list of millions of
texts is too long. A declared hierarchy of days needs only the day of a timestamp, one of continuous numbers only the
interval of a number; such a rule changes only the transferred volume. Codes by prefixes (ZIP+4) are different: if there
are very many, the leaves are the longest prefixes of the levels, and each counts its texts, so that this loss is
measured, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.data.hierarchies.categorical import prefixes
from sfumato.data.hierarchies.declared import Declared, Filed
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.engines.protocol import Coding, DistinctValues, Engine, Rule
from sfumato.runtime.arrays import Counts
from sfumato.runtime.memory import machine_bytes, read_size
from sfumato.texts.catalogue import refusal, t

BYTES_OF_A_CELL = 2000
"""The memory of a search for a cell, with boxes and prepared measures, from `benchmarks/engines.py`."""

SHARE = 0.5
"""The share of a machine's memory without a declaration."""


def usual_most_cells(memory: str | None) -> int:
    """Return the number of cells that fit into the declared memory, or into half of the machine's."""
    size = read_size("memory", memory) if memory is not None else int(SHARE * (machine_bytes() or 16 << 30))
    return max(size // BYTES_OF_A_CELL, 1)


@dataclass(frozen=True)
class Coarsening:
    """The level of each coarsened column, and the numbers of cells before and after."""

    levels: Mapping[str, int]
    before: int
    after: int

    def notice(self, name: str, tree: Hierarchy, most_cells: int) -> str:
        """Describe the coarsening of a column."""
        coarse = len(tree.levels[self.levels[name]].starts)
        return t("notice.coarsened", name=name, coarse=coarse, tree=tree, coarsening=self, most_cells=most_cells)


@dataclass(frozen=True)
class BudgetedColumn:
    """A quasi-identifier: its hierarchy, the codes of its texts, the records of every leaf, its weight."""

    tree: Hierarchy
    coding: Coding
    counts: Counts
    weight: float = 1.0

    def at(self, level: int) -> Coding:
        """Return the codes of the nodes of a level; a value outside of the domain remains outside."""
        above = self.tree.ancestors[level]
        codes = {text: int(above[code]) if code >= 0 else code for text, code in self.coding.codes.items()}
        return Coding(self.coding.column, codes, self.coding.rule)

    def steps(self) -> list[tuple[float, int]]:
        """Return for each level below the root its cost per saving, relative to the level before."""
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
    """List the levels of all columns, from none coarsened to all as far as possible, the cheapest step first."""
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
    """Return the first step with few enough cells; None if no coarsening is needed."""
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
        raise refusal(
            "distinct_combinations", origin=engine.origin, cells=cells(0), cells_2=cells(high), most_cells=most_cells
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if cells(middle) <= most_cells else (middle, high)
    changed = {name: level for name, level in path[high].items() if level}
    return Coarsening(changed, cells(0), cells(high))


MANY_RECORDS = 1_000_000
"""The number of records from which texts are read by a rule, and uncoded values are not listed."""

MOST_LISTED = 100_000
"""The number of texts of a column that are listed even if prefixes would suffice."""


def rule_of(given: Declared | None) -> Rule | None:
    """Return the rule for reading a column with this declaration, if there is one."""
    content = _content(given)
    if isinstance(content, Hierarchy):
        return Rule("prefix", content.keep) if content.keep else Rule("day") if content.scale == "date" else None
    if not isinstance(content, Mapping):
        return None
    kind, keep = content.get("type"), content.get("keep")
    if kind == "dates":
        return Rule("day")
    if kind == "prefixes" and "values" not in content and isinstance(keep, list | tuple) and keep:
        return Rule("prefix", keep[0]) if isinstance(keep[0], int) and keep[0] > 0 else None
    step, lower = content.get("resolution", 1), content.get("lower")
    open_ended = content.keys() & {"open_below", "open_above", "quantiles"}
    whole = isinstance(step, int) and isinstance(lower, int) and not open_ended
    if kind == "numeric" and content.get("continuous") is True and whole and step > 0 and lower % step == 0:
        return Rule("floor", step)
    return None


def rule_for(engine: Engine, column: str, given: Declared | None) -> Rule | None:
    """Return the rule for reading a column of a large table; prefixes only if there are many texts of one length.

    Texts of several lengths could not be masked without revealing the longest length in all of them.
    """
    rule = rule_of(given) if engine.row_count > MANY_RECORDS else None
    if rule is None or rule.kind != "prefix" or is_built(given):
        return rule
    facts = engine.facts(column)
    alike = rule.number < facts.shortest == facts.longest
    return rule if alike and facts.distinct > MOST_LISTED else None


def prefix_hierarchy(engine: Engine, rule: Rule, given: Declared, distinct: DistinctValues, column: str) -> Hierarchy:
    """Build the hierarchy with prefixes as leaves, each with its number of texts."""
    content = _content(given)
    assert isinstance(content, Mapping) and distinct.kinds is not None
    length = engine.facts(column).longest
    kinds = {value: int(n) for value, n in zip(distinct.values, distinct.kinds, strict=True) if value is not None}
    codes = prefixes([value.ljust(length, "*") for value in kinds], list(content["keep"])[1:], observed=True)
    inside = tuple(kinds[leaf[: rule.number]] for leaf in codes.leaves)
    return replace(codes, kinds=inside, widths=tuple(map(float, inside)), keep=rule.number)


def is_built(given: Declared | None) -> bool:
    """Return whether a declaration is a hierarchy already."""
    return isinstance(_content(given), Hierarchy)


def _content(given: Declared | None) -> object:
    return given.content if isinstance(given, Filed) else given
