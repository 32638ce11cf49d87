"""Top and bottom coding: values beyond a limit are shown as an open end, such as `80+` (Hundepool et al. 2012, 3.2.4).

    For each column with an upper limit u: a value of u or more is published as `u+`.
    For each column with a lower limit l:  a value of l or less is published as an open end below.
    Everything else is published as it is.

The limits are given (`upper="age=80"`), or found from a `share`: the fewest values at an end that at least this share
of the records have. If a leaf covers several values, the open end begins with the leaf of the limit.

Promised: values are truthful, and the largest (which might identify a person) are hidden. The end of the domain is
left open, also where it was taken from the data. It promises nothing about groups: a person who is unique in the
published columns stays unique. A requirement given with it is kept by leaving records out, as far as that is allowed,
or refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.anonymizers.anonymizer import Anonymizer, Dial, check_budget
from sfumato.anonymizers.full_domain.full_domain import recoded
from sfumato.config.options import Option, named_entries
from sfumato.data.cells import Cells, Quasi
from sfumato.data.reading import Table
from sfumato.release.release import Form, Release
from sfumato.requirements.requirement import Requirement
from sfumato.runtime.arrays import Counts
from sfumato.texts.catalogue import refusal

EXAMPLE = "age=80"


@dataclass(frozen=True)
class TopCoding(Anonymizer):
    """Publish the largest or smallest values of numbers and dates as open ends.

    >>> str(TopCoding(upper="age=80"))
    'top-coding upper="age=80"'
    """

    upper: Annotated[str, Option()] = ""
    """The value from which on each column is an open end, such as `age=80, hours=60`."""

    lower: Annotated[str, Option()] = ""
    """The value up to which each column is an open end, such as `age=18`."""

    share: Annotated[float | None, Option(more_than=0, most=1)] = None
    """In place of limits: the share of the records in an open end, at least."""

    ends: Annotated[Literal["top", "bottom", "both"], Option()] = "top"
    """At which end of a column the share is taken."""

    columns: Annotated[tuple[str, ...], Option(takes="columns")] = ()
    """The columns of which the share is taken; without any, all of numbers or dates."""

    name: ClassVar[str] = "top-coding"
    example: ClassVar[str | None] = 'top-coding upper="age=80"'
    shows_exact: ClassVar[bool] = True
    treats_households_alike = True
    counts_persons = True

    def __post_init__(self) -> None:
        super().__post_init__()
        given = bool(named_entries("upper", self.upper, EXAMPLE) or named_entries("lower", self.lower, EXAMPLE))
        if given == (self.share is not None):
            raise refusal("top_coding")
        if self.share is None and (self.columns or self.ends != "top"):
            raise refusal("top_coding_columns")

    def dial(self, records: int) -> Dial | None:
        """Turn the share, where it is one."""
        return None if self.share is None else Dial("share", max(1 / records, 1e-4), 0.5)

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Recode the ends, and suppress the groups that are not admitted."""
        if form != "generalization":
            raise refusal("top_coding_publishes_open")
        cells = table.cells
        lo, hi, quasi = cells.codes.copy(), cells.codes.copy(), list(cells.quasi)
        for a, (below, above) in self._limits(cells).items():
            hierarchy = quasi[a].hierarchy
            last = hierarchy.domain_size - 1
            if below >= above:
                raise refusal("top_coding_open", name=quasi[a].name)
            codes = cells.codes[:, a]
            hi[codes <= below, a], lo[codes <= below, a] = below, 0
            top = (codes >= above) & (codes <= last)
            lo[top, a], hi[top, a] = above, last
            firsts = (-inf, *hierarchy.firsts[1:]) if below >= 0 else hierarchy.firsts
            lasts = (*hierarchy.lasts[:-1], inf) if above <= last else hierarchy.lasts
            opened = replace(hierarchy.without_nodes(), firsts=firsts, lasts=lasts)  # a node may name the end
            quasi[a] = replace(quasi[a], hierarchy=opened)
        release = recoded(table.over(quasi), requirement, form, lo, hi)
        check_budget(release, requirement, budget, "with these ends", "take larger ends")
        return release

    def _limits(self, cells: Cells) -> dict[int, tuple[int, int]]:
        """Return by column the last leaf of the open end below (-1: none), and the first of that above (size: none)."""
        limits: dict[int, tuple[int, int]] = {}
        names = self.columns or [each.name for each in cells.quasi if each.hierarchy.scale != "category"]
        if self.share is not None:
            for name in names:
                a = _place("columns", name, cells.quasi)
                limits[a] = _ends(cells.leaf_counts[a][: cells.quasi[a].hierarchy.domain_size], self.share, self.ends)
            if not limits:
                raise refusal("top_coding_numbers_dates")
        for field, text in (("lower", self.lower), ("upper", self.upper)):
            for name, value in named_entries(field, text, EXAMPLE):
                a = _place(field, name, cells.quasi)
                below, above = limits.get(a, (-1, cells.quasi[a].hierarchy.size))
                leaf = _leaf(field, cells.quasi[a], value)
                limits[a] = (leaf, above) if field == "lower" else (below, leaf)
        return limits


def _place(field: str, name: str, quasi: Sequence[Quasi]) -> int:
    """Find a column of numbers or dates by its name."""
    names = [each.name for each in quasi if each.hierarchy.scale != "category"]
    if name not in names:
        known = ", ".join(names) or "none"
        raise refusal("no_quasi_identifier_numbers", field=field, name=name, known=known)
    return [each.name for each in quasi].index(name)


def _leaf(field: str, quasi: Quasi, value: str) -> int:
    """Find the leaf of a limit."""
    leaf = int(quasi.hierarchy.encode([value])[0])
    if not 0 <= leaf < quasi.hierarchy.domain_size:
        raise refusal(
            "no_value", field=field, value=value, name=quasi.name, domain_in_words=quasi.hierarchy.domain_in_words()
        )
    return leaf


def _ends(counts: Counts, share: float, ends: str) -> tuple[int, int]:
    """Find the fewest leaves at an end that have at least a share of the records: the last below, the first above."""
    wanted = share * counts.sum() - 1e-9
    below, above = -1, len(counts) + 1
    if ends != "top":
        below = int(np.searchsorted(np.cumsum(counts), wanted))
    if ends != "bottom":
        above = len(counts) - 1 - int(np.searchsorted(np.cumsum(counts[::-1]), wanted))
    return below, above
