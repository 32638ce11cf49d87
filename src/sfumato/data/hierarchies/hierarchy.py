"""A hierarchy: a declared domain of ordered leaves with levels of nodes above them, up to the one root `*`.

The leaves are ordered so that every node is an interval of leaf codes. A box is then a pair of integers per attribute.
The operations on an interval of codes (its published text, its width, its loss) are the same for numbers, dates and
categories. A missing value is a separate leaf after all others; only the root contains it together with other leaves.
So are values outside of the declared domain, if these must be counted.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from math import isinf
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.hierarchies.notation import (
    read_date,
    read_number,
    set_text,
    stretch_notations,
    write_date,
    write_number,
)
from sfumato.runtime.arrays import Codes, RedactedRepr
from sfumato.texts.catalogue import refusal, t

ROOT = "*"
MISSING = ""
"""The text of a missing value in a file: an empty field. In a set it is a bare `?`."""

Scale = Literal["category", "number", "date"]
BROADEST = 6
"""The most intervals at the coarsest automatic level of numbers."""

TINY = 1e-9
"""The tolerance for quotients that are whole numbers."""


@dataclass(frozen=True, repr=False)
class Level(RedactedRepr):
    """One level of a hierarchy: its nodes in leaf order, each with its first leaf code and its label."""

    starts: tuple[int, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Hierarchy(RedactedRepr):
    """An ordered domain of leaves with its levels.

    >>> from sfumato.data.hierarchies.categorical import tree
    >>> status = tree([["Married", "Civ-Spouse", "AF-Spouse"], ["Not Married", "Never Married", "Divorced"]])
    >>> status.text(0, 1), status.text(1, 2), status.text(0, 3)
    ('Married', '{AF-Spouse, Never Married}', '*')
    >>> status.loss(0, 1)
    0.3333333333333333
    """

    levels: tuple[Level, ...]
    """From the leaves (level 0) to the root, each level a coarser partition than the one before."""

    widths: tuple[float, ...]
    """The width of each leaf: 1 for a single value, more for an interval of values."""

    scale: Scale = "category"
    """Whether leaves are categories, or intervals of numbers or of days (as ordinals) with `firsts` and `lasts`."""

    firsts: tuple[float, ...] = ()
    """The smallest value of every leaf (not of the missing one), `-inf` for an open end."""

    lasts: tuple[float, ...] = ()
    """The largest value of every leaf, `inf` for an open end."""

    continuous: bool = False
    """Whether leaves are half-open intervals of a continuous attribute (only the last contains its upper end)."""

    missing: bool = False
    """Whether the last leaf is the missing value."""

    strange: tuple[str, ...] = ()
    """Values outside of the declared domain, each a separate leaf directly below the root, before the missing one."""

    observed: bool = False
    """Whether the domain consists of the values that occur. Then it may not be shown in full."""

    fine: tuple[tuple[str, ...], ...] = ()
    """If leaves are nodes of a finer hierarchy: for each of them the labels of its leaves in the finer one.

    The loss of a leaf is then counted by the finer hierarchy: a coarse value is never counted as an exact one.
    """

    kinds: tuple[int, ...] = ()
    """If leaves are prefixes of unlisted texts: the number of texts of each."""

    keep: int = 0
    """The length of these prefixes; 0 for other leaves."""

    def __post_init__(self) -> None:
        _check_levels(self)
        _check_labels(self)
        _check_domain(self)

    public_fields: ClassVar[tuple[str, ...]] = ("scale", "height", "missing")

    @property
    def content(self) -> tuple[Any, ...]:
        """Its content as plain values, which distinguishes hierarchies."""
        levels = tuple((level.starts, level.labels) for level in self.levels)
        ends = self.firsts, self.lasts, self.continuous, self.missing, self.observed
        finer = (self.fine, self.kinds, self.keep) if self.inside else ()
        return (levels, self.widths, self.scale, *ends, *finer)

    # -- shape ---------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of leaves, the missing one included."""
        return len(self.widths)

    @property
    def domain_size(self) -> int:
        """The number of leaves of the declared domain, without strange values and the missing one."""
        return self.size - len(self.strange) - int(self.missing)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The labels of the leaves in code order."""
        return self.levels[0].labels

    @property
    def lists_values(self) -> bool:
        """Whether its leaves are exactly the values that occur."""
        return self.observed and self.firsts == self.lasts and not self.fine

    @property
    def height(self) -> int:
        """The number of levels above the leaves."""
        return len(self.levels) - 1

    @cached_property
    def cumulative(self) -> NDArray[np.float64]:
        """Cumulative widths: the width of leaves `lo..hi` is `cumulative[hi + 1] - cumulative[lo]`."""
        return np.concatenate([[0.0], np.cumsum(np.asarray(self.widths, dtype=np.float64))])

    @cached_property
    def ancestors(self) -> NDArray[np.int32]:
        """For each level and leaf, the index of the node above that leaf: an array (levels, leaves)."""
        table = np.empty((len(self.levels), self.size), dtype=np.int32)
        for row, bounds in zip(table, self._bounds, strict=True):
            row[:] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        return table

    @cached_property
    def node_widths(self) -> NDArray[np.int64]:
        """For each level and leaf, the number of leaves of the node above that leaf: an array (levels, leaves)."""
        return np.stack([np.bincount(nodes)[nodes] for nodes in self.ancestors])

    @cached_property
    def nodes(self) -> dict[tuple[int, int], str]:
        """Every node once: its interval of leaf codes and its label."""
        labels: dict[tuple[int, int], str] = {}
        for label, interval in self._labelled():
            labels.setdefault(interval, label)
        if self.size > 1:
            labels[0, self.size - 1] = ROOT
        return labels

    @cached_property
    def node_intervals(self) -> NDArray[np.int64]:
        """The first and the last leaf of every node once, in the order of `nodes`."""
        parts = [np.stack([starts[:-1], starts[1:] - 1], axis=1) for starts in self._bounds]
        intervals = np.concatenate(parts)
        _, first = np.unique(intervals[:, 0] * self.size + intervals[:, 1], return_index=True)
        return intervals[np.sort(first)]

    @cached_property
    def _bounds(self) -> tuple[NDArray[np.int64], ...]:
        """The starts of every level's nodes, followed by the number of leaves."""
        return tuple(np.array([*level.starts, self.size], np.int64) for level in self.levels)

    @cached_property
    def intervals(self) -> dict[str, tuple[int, int]]:
        """The interval of every label (a node that is repeated on the next level may have two)."""
        return dict(self._labelled())

    def _labelled(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield the nodes of all levels: the label of each, and its interval."""
        for level in self.levels:
            lasts = (*(start - 1 for start in level.starts[1:]), self.size - 1)
            yield from zip(level.labels, zip(level.starts, lasts, strict=True), strict=True)

    @cached_property
    def _labels(self) -> frozenset[str]:
        """All labels."""
        return frozenset().union(*(level.labels for level in self.levels))

    # -- arithmetic ----------------------------------------------------------------------------------------

    def loss(self, lo: int, hi: int) -> float:
        """Return the loss of publishing leaves `lo..hi` instead of one leaf, from 0 (a leaf) to 1 (the root).

        With s the share of the domain's width and N leaves it is (s - 1/N) / (1 - 1/N): ARX's formula, and for
        leaves of width 1 Iyengar's and Dewri et al.'s (|subset| - 1) / (|domain| - 1).
        """
        return float(self.losses(np.array([lo]), np.array([hi]))[0])

    def losses(self, lo: NDArray[np.integer], hi: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return `loss` for many intervals at once."""
        leaves = self.finest
        if leaves == 1:
            return np.zeros(len(lo))
        share = (self.cumulative[hi + 1] - self.cumulative[lo]) / self.cumulative[-1]
        loss = np.clip((share - 1 / leaves) / (1 - 1 / leaves), 0.0, 1.0)
        exact = (lo == hi) & (np.array(self.inside)[lo] == 1 if self.inside else True)
        return np.where(exact, 0.0, loss)

    @property
    def finest(self) -> int:
        """The number of leaves, of the finer hierarchy if there is one."""
        return sum(self.inside) or self.size

    @property
    def inside(self) -> tuple[int, ...]:
        """The number of leaves of a finer hierarchy in each leaf; empty without one."""
        return self.kinds or tuple(map(len, self.fine))

    def smallest_nodes(self, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
        """Return for many intervals the smallest node that covers each: its own interval."""
        first, last = lo.copy(), hi.copy()
        covered = lo == hi
        for bounds, above in zip(self._bounds, self.ancestors, strict=True):
            starts, ends = bounds[:-1], bounds[1:] - 1
            now = ~covered & (above[lo] == above[hi])
            first[now], last[now] = starts[above[lo[now]]], ends[above[lo[now]]]
            covered |= now
        return first, last

    def rounded_outward(self, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
        """Round the ends of many intervals outward to bands; an interval of one leaf is unchanged."""
        first, last = self.bands
        return np.where(lo < hi, first[lo], lo), np.where(lo < hi, last[hi], hi)

    @cached_property
    def bands(self) -> tuple[Codes, Codes]:
        """For each leaf the first and the last leaf of its band, to which the ends of ranges are rounded.

        Bands of numbers and dates are the nodes of the first level that joins leaves. If only the root does, they are
        round intervals, and a domain too small for these is one band. Leaves that are nodes of a finer hierarchy are
        bands themselves, and so are categories.
        """
        joining = [bounds[:-1] for bounds in self._bounds[1:-1] if len(bounds) <= self.size]
        if self.scale == "category" or self.inside:
            starts = self._bounds[0][:-1]
        elif joining:
            starts = joining[0]
        else:
            starts = np.append(_round_bands(self), np.arange(self.domain_size, self.size))
        lengths = np.diff(np.append(starts, self.size))
        first, last = np.repeat(starts, lengths), np.repeat(starts + lengths - 1, lengths)
        return first.astype(np.int32), last.astype(np.int32)

    def without_nodes(self) -> Hierarchy:
        """Return a hierarchy of the same leaves with only the root above them."""
        return replace(self, levels=(self.levels[0], self.levels[-1])) if self.height > 1 else self

    def coarsened(self, level: int) -> Hierarchy:
        """Return the hierarchy whose leaves are the nodes of a level; `fine` has the original leaves."""
        if level == 0:
            return self
        bounds = self._bounds[level]
        firsts, ends = bounds[:-1], bounds[1:]
        levels = tuple(
            Level(tuple(np.searchsorted(bounds, above.starts).tolist()), above.labels) for above in self.levels[level:]
        )
        finer = self.fine or tuple((label,) for label in self.leaves)
        kinds = tuple(np.add.reduceat(self.kinds, firsts).tolist()) if self.kinds else ()
        inside = firsts < len(self.firsts)
        return replace(
            self,
            levels=levels,
            widths=tuple((self.cumulative[ends] - self.cumulative[firsts]).tolist()),
            firsts=tuple(self.firsts[first] for first in firsts[inside].tolist()),
            lasts=tuple(self.lasts[end - 1] for end in ends[inside].tolist()) if self.lasts else (),
            fine=tuple(
                tuple(label for labels in finer[first:end] for label in labels)
                for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)
            ),
            kinds=kinds,
        )

    # -- text ----------------------------------------------------------------------------------------------

    def text(self, lo: int, hi: int, present: NDArray[np.bool_] | None = None, level: int = 0) -> str:
        """Return the published text of leaves `lo..hi`; different intervals have different texts.

        `present` has the leaves that occur among the published records. In an observed domain, sets omit other leaves,
        which only a suppressed record can have added. A node with different labels on several levels has that of
        `level`, if it is on it.
        """
        label = (self._label_at(level, lo, hi) if level else None) or self._label(lo, hi)
        if label is not None:
            return label
        with_missing = self.missing and hi == self.size - 1
        last = hi - 1 if with_missing else hi
        stretch = self._stretch(lo, last)
        if stretch is not None and not with_missing:
            return stretch
        members = [stretch] if stretch is not None else self._maximal_nodes(lo, last, present)
        written = set_text(members, with_missing)
        if written in self._labels:
            written = set_text(members, with_missing, quote_all=True)
        while written in self._labels:  # a category that looks like a set
            written = written[:-1] + ",}"
        return written

    def _label(self, lo: int, hi: int) -> str | None:
        """Return the label of a node as in `nodes`; None if these leaves are no node."""
        if lo == 0 and hi == self.size - 1 > 0:
            return ROOT
        labels = (self._label_at(level, lo, hi) for level in range(len(self.levels)))
        return next((label for label in labels if label is not None), None)

    def _label_at(self, level: int, lo: int, hi: int) -> str | None:
        bounds, index = self._bounds[level], self.ancestors[level, lo]
        return self.levels[level].labels[index] if bounds[index] == lo and bounds[index + 1] == hi + 1 else None

    def texts(
        self, lo: Codes, hi: Codes, present: NDArray[np.bool_] | None = None, level: int = 0
    ) -> tuple[list[str], Codes]:
        """Return the distinct texts of many intervals, and for each interval the index of its text."""
        keys, inverse = np.unique(lo.astype(np.int64) * self.size + hi, return_inverse=True)
        written = [self.text(int(key) // self.size, int(key) % self.size, present, level) for key in keys]
        assert len(set(written)) == len(written), t("notice.two_different_boxes_look")
        return written, inverse.astype(np.int32)

    def _stretch(self, lo: int, hi: int) -> str | None:
        """Return numbers or dates as one interval, None if no such notation fits."""
        if self.scale == "category" or lo == hi:
            return None
        for written in self._stretch_notations(lo, hi):
            if written not in self._labels:
                return written
        return None

    def stretch_texts(self, starts: Sequence[int], ends: Sequence[int]) -> list[str]:
        """Return the texts of many intervals of leaves, from its start to before its end; only leaves are nodes."""
        return [self._stretch(lo, end - 1) or self.text(lo, end - 1) for lo, end in zip(starts, ends, strict=True)]

    def _stretch_notations(self, lo: int, hi: int) -> list[str]:
        first, last = self.firsts[lo], self.lasts[hi]
        if isinf(first) and isinf(last):
            return []
        if isinf(last):
            return [f"{self.write_value(first)}+"]
        if isinf(first):
            following = hi + 1 < len(self.firsts)
            return [f"<{self.write_value(self.firsts[hi + 1])}" if following else f"<={self.write_value(last)}"]
        half_open = self.continuous and hi < len(self.lasts) - 1
        return stretch_notations(self.write_value(first), self.write_value(last), self.has_whole_numbers, half_open)

    @cached_property
    def has_whole_numbers(self) -> bool:
        """Whether all values are nonnegative whole numbers, so that `20-29` cannot be misread."""
        ends = np.array([*self.firsts, *self.lasts])
        ends = ends[np.isfinite(ends)]
        return self.scale == "number" and bool((ends >= 0).all() and (ends == np.floor(ends)).all())

    def write_value(self, value: float) -> str:
        """Format one number or day of this domain."""
        return write_date(value) if self.scale == "date" else write_number(value)

    def _maximal_nodes(self, lo: int, hi: int, present: NDArray[np.bool_] | None) -> list[str]:
        """Cover leaves `lo..hi` by as few nodes as possible, in order."""
        labels: list[str] = []
        while lo <= hi:
            end = max(last for last in self._ends_from(lo) if last <= hi)
            if present is None or not self.observed or present[lo : end + 1].any():
                label = self._label(lo, end)
                assert label is not None
                labels.append(label)
            lo = end + 1
        return labels

    def _ends_from(self, lo: int) -> list[int]:
        """List the last leaves of the nodes that start with a leaf."""
        starting = zip(self._bounds, self.ancestors[:, lo], strict=True)
        return [int(bounds[index + 1]) - 1 for bounds, index in starting if bounds[index] == lo]

    # -- values --------------------------------------------------------------------------------------------

    def encode(self, values: Sequence[str | None]) -> Codes:
        """Return the leaf code of each value, given as text (None: missing); -1 if the domain has none."""
        missing = self.size - 1 if self.missing else -1
        strange = {value: self.domain_size + place for place, value in enumerate(self.strange)}
        if self.scale == "category":
            leaves = self.fine or tuple((label,) for label in self.leaves)
            known = {label: code for code, labels in enumerate(leaves[: self.domain_size]) for label in labels}
            known |= strange
            if self.keep:
                known = {label[: self.keep]: code for label, code in known.items()}
                values = [None if v is None else v[: self.keep] for v in values]
            places = [missing if v is None else known.get(v, -1) for v in values]
            return np.array(places, dtype=np.int32)
        read = read_date if self.scale == "date" else read_number
        numbers = np.array([np.nan if v is None else read(v) for v in values], dtype=np.float64)
        absent = np.array([v is None for v in values], dtype=bool)
        codes = np.searchsorted(np.asarray(self.firsts), numbers, side="right") - 1
        lasts = np.asarray(self.lasts)[np.clip(codes, 0, None)]
        inside = ((numbers < lasts) | (numbers == self.lasts[-1])) if self.continuous else (numbers <= lasts)
        codes = np.where((codes >= 0) & inside & np.isfinite(numbers), codes, -1)
        if strange:
            codes = np.where(codes < 0, [strange.get(v or "", -1) for v in values], codes)
        return np.where(absent, missing, codes).astype(np.int32)

    def with_strange(self, values: Sequence[str]) -> Hierarchy:
        """Return the hierarchy with leaves for values outside of its domain; their records are never published."""
        if not values:
            return self
        numbers = {value: read_number(value) for value in values if np.isfinite(read_number(value))}
        ordered = sorted(values, key=lambda value: (value not in numbers, numbers.get(value, 0.0), value))
        labels = _told_apart(ordered, {*self.intervals, ROOT})
        *below, root = self.levels if self.size > 1 else (self.levels[0], Level((0,), (ROOT,)))
        end, more = self.size - int(self.missing), len(labels)
        grown = [
            Level(
                (*(start for start in level.starts if start < end), *range(end, self.size + more)),
                (*level.labels[: sum(start < end for start in level.starts)], *labels, *((MISSING,) * self.missing)),
            )
            for level in below
        ]
        width = float(np.mean(self.widths))
        widths = (*self.widths[:end], *((width,) * more), *self.widths[end:])
        fine = (*self.fine[:end], *((label,) for label in labels), *self.fine[end:]) if self.fine else ()
        kinds = (*self.kinds[:end], *((1,) * more), *self.kinds[end:]) if self.kinds else ()
        strange = (*self.strange, *ordered)
        return replace(self, levels=(*grown, root), widths=widths, strange=strange, fine=fine, kinds=kinds)

    def with_missing(self) -> Hierarchy:
        """Return the hierarchy with a leaf for missing values, unchanged if it has one."""
        if self.missing:
            return self
        *below, root = self.levels if self.size > 1 else (self.levels[0], Level((0,), (ROOT,)))
        grown = [Level((*level.starts, self.size), (*level.labels, MISSING)) for level in below]
        widths = (*self.widths, float(np.mean(self.widths)))
        fine, kinds = (*self.fine, (MISSING,)) if self.fine else (), (*self.kinds, 1) if self.kinds else ()
        return replace(self, levels=(*grown, root), widths=widths, missing=True, fine=fine, kinds=kinds)

    def without_missing(self) -> Hierarchy:
        """Return the hierarchy without the leaf for missing values."""
        if not self.missing:
            return self
        last = self.size - 1
        levels = tuple(
            Level(level.starts[:-1], level.labels[:-1]) if level.starts[-1] == last else level for level in self.levels
        )
        levels = levels if last > 1 else levels[:1]
        return replace(
            self, levels=levels, widths=self.widths[:-1], missing=False, fine=self.fine[:-1], kinds=self.kinds[:-1]
        )

    def domain_in_words(self) -> str:
        """Describe the domain for a message."""
        if self.scale != "category":
            return f"{self.write_value(self.firsts[0])} to {self.write_value(self.lasts[-1])}"
        examples = ", ".join(repr(label) for label in self.leaves[:5])
        return examples if self.size <= 5 else f"{examples}, ... ({self.size} values)"


def _round_bands(hierarchy: Hierarchy) -> NDArray[np.int64]:
    """Cut the leaves of a domain of numbers or days at multiples of a round width: the first leaf of each part."""
    firsts = np.asarray(hierarchy.firsts)
    closed = firsts[np.isfinite(firsts)]
    if len(closed) < 3:
        return np.zeros(1, np.int64)
    if hierarchy.scale == "date":
        parts = np.array([datetime.date.fromordinal(int(day)).month for day in closed], np.float64)
    else:
        step, reach = (Decimal(repr(round(float(width), 9))) for width in (np.diff(closed).min(), np.ptp(closed)))
        widths = round_widths(reach, step) if step else []
        parts = np.floor(closed / float(widths[0]) + TINY) if widths else np.zeros(len(closed))
    starts = np.flatnonzero(np.append(True, parts[1:] != parts[:-1])) + len(firsts) - len(closed)
    return np.unique(np.append(0, starts))


def round_widths(reach: Decimal, step: Decimal) -> list[Decimal]:
    """Return usual widths of levels: up to `BROADEST` groups at the top, halves of these, tens below.

    These are 5, 10 and 20; 5, 10 and 50; 5, 25, 50 and 100; or their multiples by powers of ten.
    """
    if reach <= 2 * step:
        return []
    ten = Decimal(1).scaleb((reach / BROADEST).adjusted())
    top = max(next(width for width in (ten, 2 * ten, 5 * ten, 10 * ten) if reach <= BROADEST * width), 5 * step)
    if top.normalize().as_tuple().digits == (1,):
        quarter = top / 4 % step == 0
        widths = [top, top / 2, *([top / 4, top / 20] if quarter else [top / 10])]
    else:
        widths = [top, *([top / 2, top / 4] if top.normalize().as_tuple().digits == (2,) else [top / 5, top / 10])]
    while widths[-1] / 10 > step:
        widths.append(Decimal(1).scaleb((widths[-1] / 2).adjusted()))
    return sorted(width for width in widths if width > step and width % step == 0)


def _told_apart(labels: Sequence[str], taken: set[str]) -> tuple[str, ...]:
    """Quote labels that collide with existing ones."""
    written = []
    for label in labels:
        quoted = label
        while quoted in taken or (quoted != label and quoted in labels):
            quoted = f'"{quoted}"'
        written.append(quoted)
    return tuple(written)


# -- validity of a hierarchy ---------------------------------------------------------------------------------


def _check_levels(hierarchy: Hierarchy) -> None:
    size = len(hierarchy.widths)
    if not hierarchy.levels or size == 0:
        raise refusal("hierarchy_needs_least_leaf")
    if hierarchy.levels[0].starts != tuple(range(size)):
        raise refusal("level_hierarchy_must_node")
    if len(hierarchy.levels[-1].starts) != 1:
        raise refusal("last_level_hierarchy_must", ROOT=ROOT)
    for finer, coarser in pairwise(hierarchy.levels):
        rising = all(one < next_one for one, next_one in pairwise(coarser.starts))
        if not rising or not set(coarser.starts) <= set(finer.starts) or coarser.starts[:1] != (0,):
            raise refusal("not_tree")
    if hierarchy.inside and len(hierarchy.inside) != size:
        raise refusal("hierarchy_whose_leaves_nodes")
    widths = np.asarray(hierarchy.widths, np.float64)
    if not ((widths > 0) & np.isfinite(widths)).all():
        raise refusal("widths_hierarchy_leaves_must")


def _check_labels(hierarchy: Hierarchy) -> None:
    size = len(hierarchy.widths)
    if any(len(level.labels) != len(level.starts) for level in hierarchy.levels):
        raise refusal("every_node_hierarchy_needs")
    if len(hierarchy._labels) < sum(len(level.labels) for level in hierarchy.levels):
        _check_repeated_labels(hierarchy)
    if size > 1 and hierarchy.levels[-1].labels != (ROOT,):
        raise refusal("root_hierarchy_written", ROOT=ROOT, labels=hierarchy.levels[-1].labels[0])


def _check_repeated_labels(hierarchy: Hierarchy) -> None:
    """Raise if a label repeats, except on the next level for the same node."""
    seen: dict[str, tuple[int, int]] = {}
    for label, (start, end) in hierarchy._labelled():
        first, last = seen.setdefault(label, (start, end))
        if (first, last) != (start, end):
            raise refusal("label_of_two_nodes", label=label, first=last - first + 1, start=end - start + 1)


def _check_domain(hierarchy: Hierarchy) -> None:
    if hierarchy.scale == "category":
        return
    firsts, lasts = np.asarray(hierarchy.firsts), np.asarray(hierarchy.lasts)
    expected = hierarchy.domain_size
    apart = lasts[:-1] <= firsts[1:] if hierarchy.continuous else lasts[:-1] < firsts[1:]
    if len(firsts) != expected or len(lasts) != expected or not (firsts <= lasts).all() or not apart.all():
        raise refusal("leaves_numeric_hierarchy_must")
