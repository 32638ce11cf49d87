"""The hierarchy of one column, looked at: its tree with counts, and what publishing it at a level would do to k.

It counts records, also where few have a value: for the publisher's eyes. What is written as TOML holds no count.
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
from sfumato.errors import BadInputError
from sfumato.measures.group_risk import GroupRisk, group_risk
from sfumato.runtime.arrays import Codes, Counts, Quiet
from sfumato.runtime.staging import check_targets, staged
from sfumato.texts.catalogue import t

SMALL = 5
"""Groups of fewer records than this are counted as small ones."""

SURVEYED = 40
"""A tree is shown down to the finest level that has no more nodes than this."""

HEAD = (
    "A hierarchy, written by `sfumato hierarchy` for a person to edit. Give it back with --hierarchies, or",
    "put it into a study under [table.hierarchy].",
)
OBSERVED = (
    "The values were taken from the records. Take this line out only where they are all values that are possible,",
    "whether they occur or not: differential privacy relies on it.",
)


@dataclass(frozen=True, repr=False)
class Node(Quiet):
    """A node of the tree with the records below it."""

    spoken: ClassVar[tuple[str, ...]] = ("level",)

    level: int
    label: str
    records: int
    children: tuple[Node, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Write it and what is below it as plain values."""
        below = {"children": [child.to_dict() for child in self.children]} if self.children else {}
        return {"level": self.level, "label": self.label, "records": self.records, **below}


@dataclass(frozen=True)
class LevelRisk:
    """How easily records are found where the column is published at one level of its hierarchy."""

    level: int
    example: str
    """The label that most records have there."""

    alone: GroupRisk
    """By this column alone."""

    together: GroupRisk | None
    """Together with the other quasi-identifiers as they stand; None where there are none."""


@dataclass(frozen=True, eq=False, repr=False)
class ColumnHierarchy(Quiet):
    """The hierarchy of a column with the counts of its values. For the publisher's eyes."""

    spoken: ClassVar[tuple[str, ...]] = ("column", "others")

    table: str
    column: str
    hierarchy: Hierarchy
    counts: Counts
    """The records of every leaf."""

    grown: bool
    """Whether there is a leaf for missing values only because some record misses one."""

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
        """The finest level whose nodes can be looked through."""
        few = (risk.level for risk in self.levels if risk.alone.combinations <= SURVEYED)
        return min(few, default=self.hierarchy.height)

    def tree(self, level: int | None = None) -> Node:
        """Return the nodes that records have, from the root down to a level (by default as many as one can survey)."""
        least = self.surveyed if level is None else level
        check_whole("level", least, least=0, most=self.hierarchy.height)
        leaves = np.flatnonzero(self.counts).astype(np.int64)
        return next(self._nodes(self.hierarchy.height, leaves, least))

    def _nodes(self, level: int, leaves: Counts, least: int) -> Iterator[Node]:
        """Make the nodes of a level above some leaves, and below each its own."""
        above = self.hierarchy.ancestors[level, leaves]
        for start, end in zip(*_runs(above), strict=True):
            label = self.hierarchy.levels[level].labels[above[start]]
            names = leaves[start:end]
            below = tuple(self._nodes(level - 1, names, least)) if level > least else ()
            if len(below) == 1 and below[0].label == label:  # the same node on the next level
                below = below[0].children
            yield Node(level, label, int(self.counts[names].sum()), below)

    def entry(self) -> dict[str, object]:
        """Write it as the entry of a TOML file."""
        plain = self.hierarchy.without_missing() if self.grown else self.hierarchy
        return entry_of(plain)

    def to_toml(self) -> str:
        """Write it as a TOML file that `--hierarchies` takes."""
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
        """Write the TOML file, whole or not at all; never over one of the inputs."""
        check_targets([path], force, inputs)
        text = self.to_toml()
        with staged([path]) as drafts:
            drafts[0].write_text(text, encoding="utf-8", newline="\n")
        return path

    def to_dict(self, level: int | None = None) -> dict[str, Any]:
        """Write everything as plain values, the tree down to a level."""
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
    """Look at the hierarchy of a column: its tree with counts, and what publishing it at each level would do to k.

    The other quasi-identifiers of the table are taken as they stand. A column without a hierarchy, whatever its role,
    gets the automatic one that it would have as a quasi-identifier; with `similar`, groups of frequent values whose
    records are alike in the other quasi-identifiers, in place of the one it has.
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
    """Declare the groups that the other quasi-identifiers suggest."""
    scale = table.hierarchies[column].scale
    groups = similar_groups(table.cells, column) if scale == "category" else []
    if not groups:
        raise BadInputError(
            t("refusal.similarity", column=column, fewest=FEWEST, least_records=LEAST_RECORDS, share=LEAST_SHARE)
        )
    return {"type": "groups", "groups": groups}


def _sized(sizes: Counts) -> GroupRisk:
    present = sizes[sizes > 0]
    return group_risk(present, present)


def _runs(numbers: Codes) -> tuple[Counts, Counts]:
    """Say where runs of equal numbers begin, and where they end."""
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    return starts, np.append(starts[1:], len(numbers))


def _plain(risk: GroupRisk) -> dict[str, int]:
    return {
        "groups": risk.combinations,
        "smallest": risk.smallest,
        "unique": risk.uniques,
        f"below_{SMALL}": risk.below[SMALL],
    }
