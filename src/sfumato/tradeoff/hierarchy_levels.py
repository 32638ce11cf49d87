"""The hierarchy of a column: its tree with counts, and the effect of publishing it at each level on k.

It counts records, also of rare values: internal. The TOML file contains no counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfumato.config.options import check_whole
from sfumato.data.cells import distinct_rows, weighted_counts
from sfumato.data.hierarchies.categorical import FEWEST, LEAST_RECORDS, LEAST_SHARE, similar_groups
from sfumato.data.hierarchies.declared import Declared
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.written import entry_of
from sfumato.data.reading import Roles, Table, with_roles
from sfumato.measures.group_risk import GroupRisk, group_risk
from sfumato.runtime.arrays import Codes, Counts, RedactedRepr
from sfumato.runtime.staging import check_targets, staged
from sfumato.texts.catalogue import refusal

SMALL = 5
"""Groups of fewer records are counted as small."""

SURVEYED = 40
"""A tree is shown down to the finest level with at most this many nodes."""

HEAD = (
    "A hierarchy, written by `sfumato hierarchy` for editing. Use it with --hierarchies, or",
    "copy it into a study under [table.hierarchy].",
)
OBSERVED = (
    "The values come from the records. Delete this line only if they are all possible values,",
    "whether they occur or not: differential privacy relies on it.",
)


@dataclass(frozen=True, repr=False)
class Node(RedactedRepr):
    """A node of the tree with the records below it."""

    public_fields: ClassVar[tuple[str, ...]] = ("level",)

    level: int
    label: str
    records: int
    children: tuple[Node, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the node and its subtree as plain values."""
        below = {"children": [child.to_dict() for child in self.children]} if self.children else {}
        return {"level": self.level, "label": self.label, "records": self.records, **below}


@dataclass(frozen=True)
class LevelRisk:
    """The risk of the table if the column is published at one level of its hierarchy."""

    level: int
    example: str
    """The label with the most records."""

    alone: GroupRisk
    """The risk from this column alone."""

    together: GroupRisk | None
    """The risk from it and the other quasi-identifiers, ungeneralized; None if there are none."""


@dataclass(frozen=True, eq=False, repr=False)
class ColumnHierarchy(RedactedRepr):
    """The hierarchy of a column with the counts of its values: internal."""

    public_fields: ClassVar[tuple[str, ...]] = ("column", "others")

    table: str
    column: str
    hierarchy: Hierarchy
    counts: Counts
    """The records of every leaf."""

    grown: bool
    """Whether the leaf for missing values exists only because some record lacks a value."""

    others: tuple[str, ...]
    """The other quasi-identifiers."""

    levels: tuple[LevelRisk, ...]
    notices: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.counts.sum())

    @property
    def surveyed(self) -> int:
        """The finest level with at most `SURVEYED` nodes."""
        few = (risk.level for risk in self.levels if risk.alone.combinations <= SURVEYED)
        return min(few, default=self.hierarchy.height)

    def tree(self, level: int | None = None) -> Node:
        """Return the occurring nodes from the root down to a level (by default `surveyed`)."""
        least = self.surveyed if level is None else level
        check_whole("level", least, least=0, most=self.hierarchy.height)
        leaves = np.flatnonzero(self.counts).astype(np.int64)
        return next(self._nodes(self.hierarchy.height, leaves, least))

    def _nodes(self, level: int, leaves: Counts, least: int) -> Iterator[Node]:
        """Yield the nodes of a level above some leaves, each with its subtree."""
        above = self.hierarchy.ancestors[level, leaves]
        for start, end in zip(*_runs(above), strict=True):
            label = self.hierarchy.levels[level].labels[above[start]]
            names = leaves[start:end]
            below = tuple(self._nodes(level - 1, names, least)) if level > least else ()
            if len(below) == 1 and below[0].label == label:  # the same node on the next level
                below = below[0].children
            yield Node(level, label, int(self.counts[names].sum()), below)

    def entry(self) -> dict[str, object]:
        """Return the entry of a TOML file."""
        plain = self.hierarchy.without_missing() if self.grown else self.hierarchy
        return entry_of(plain)

    def to_toml(self) -> str:
        """Return the TOML file for `--hierarchies`."""
        import tomlkit

        document, table = tomlkit.document(), tomlkit.table()
        for line in HEAD:
            document.add(tomlkit.comment(line))
        document.add(tomlkit.nl())
        for key, value in self.entry().items():
            if key == "observed":
                for line in OBSERVED:
                    table.add(tomlkit.comment(line))
            item = tomlkit.item(value)
            table.add(key, item.multiline(True) if key in ("values", "children", "rows") else item)  # type: ignore[attr-defined]
        document.add(self.column, table)
        return tomlkit.dumps(document)

    def write(self, path: Path, force: bool = False, inputs: tuple[Path, ...] = ()) -> Path:
        """Write the whole TOML file or nothing; never overwrite an input."""
        check_targets([path], force, inputs)
        text = self.to_toml()
        with staged([path]) as drafts:
            drafts[0].write_text(text, encoding="utf-8", newline="\n")
        return path

    def to_dict(self, level: int | None = None) -> dict[str, Any]:
        """Return everything as plain values, the tree down to a level."""
        return {
            "table": self.table,
            "column": self.column,
            "records": self.records,
            "observed": self.hierarchy.observed,
            "others": list(self.others),
            "levels": [
                {
                    "level": risk.level,
                    "nodes": len(self.hierarchy.levels[risk.level].labels),
                    "example": risk.example,
                    "alone": _plain(risk.alone),
                    "together": None if risk.together is None else _plain(risk.together),
                }
                for risk in self.levels
            ],
            "tree": self.tree(level).to_dict(),
        }


def hierarchy(table: Table, column: str, similar: bool = False) -> ColumnHierarchy:
    """Return the hierarchy of a column: its tree with counts, and the effect of publishing it at each level on k.

    The other quasi-identifiers stay ungeneralized. A column without a hierarchy, in any role, gets its automatic
    hierarchy. With `similar`, the hierarchy is replaced: frequent values whose records are alike in the other
    quasi-identifiers form groups.
    """
    others = tuple(name for name in sorted(table.roles.quasi) if name != column)
    looked_at = with_roles(table.engine, Roles((column, *others)), table.hierarchies, table.missing)
    if similar:
        given: dict[str, Declared] = {**table.hierarchies, column: _similar(looked_at, column)}
        looked_at = with_roles(table.engine, looked_at.roles, given, table.missing)
    cells, tree = looked_at.cells, looked_at.hierarchies[column]
    place = [quasi.name for quasi in cells.quasi].index(column)
    codes, rest = cells.codes[:, place], np.delete(cells.codes, place, axis=1)
    counts = weighted_counts(codes, cells.counts, tree.size)
    levels = []
    for level, above in enumerate(tree.ancestors):
        sizes = weighted_counts(above, counts, len(tree.levels[level].labels))
        combined = np.column_stack([above[codes], rest])
        together = _sized(weighted_counts(distinct_rows(combined)[1], cells.counts, 0)) if others else None
        levels.append(LevelRisk(level, tree.levels[level].labels[int(sizes.argmax())], _sized(sizes), together))
    notices = tuple(notice for notice in looked_at.notices if notice.startswith(f"column {column!r}"))
    grown = column in looked_at.grown or column in table.grown
    return ColumnHierarchy(table.engine.origin, column, tree, counts, grown, others, tuple(levels), notices)


def _similar(table: Table, column: str) -> dict[str, object]:
    """Return the declaration of the groups that the other quasi-identifiers suggest."""
    scale = table.hierarchies[column].scale
    groups = similar_groups(table.cells, column) if scale == "category" else []
    if not groups:
        raise refusal("similarity", column=column, fewest=FEWEST, least_records=LEAST_RECORDS, share=LEAST_SHARE)
    return {"type": "groups", "groups": groups}


def _sized(sizes: Counts) -> GroupRisk:
    present = sizes[sizes > 0]
    return group_risk(present, present)


def _runs(numbers: Codes) -> tuple[Counts, Counts]:
    """Return the starts and ends of runs of equal numbers."""
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    return starts, np.append(starts[1:], len(numbers))


def _plain(risk: GroupRisk) -> dict[str, int]:
    return {
        "groups": risk.combinations,
        "smallest": risk.smallest,
        "unique": risk.uniques,
        f"below_{SMALL}": risk.below[SMALL],
    }
