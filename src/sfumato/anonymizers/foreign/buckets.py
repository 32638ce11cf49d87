"""Who is in which bucket of a file that was bucketized elsewhere, where its points and values leave one way only.

    a file shows   n(x, g): people with the quasi-identifiers x in bucket g;   h(g, s): values s in bucket g
    the table has  c(x, s): people with x and s
    wanted are     a(x, s, g) with the sums n over s, h over x, and at most c over g
    repeat: a point all of whose people are in one bucket brings its values there
            a point whose people all have one value brings it to every bucket
            a bucket with one point left gives it the values that are left
    every point is settled: it is certain who is where

In practice points are in one bucket (Mondrian's), or most of them are single people (Anatomy's).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Counts
from sfumato.process.interrupts import look
from sfumato.table import Assignment, weighted_counts


@dataclass(eq=False)
class Puzzle:
    """What is left to settle. Cells (x, s) and entries (x, g) are lists; both name their point."""

    cell_point: Counts
    cell_value: Counts
    people: Counts
    """Of every cell those who are not settled."""

    entry_point: Counts
    entry_bucket: Counts
    rows: Counts
    """Of every entry those that are not settled."""

    values: Counts
    """Buckets x values: those that are not settled; no columns where values cannot be followed."""

    def __post_init__(self) -> None:
        self.points = int(max(self.cell_point.max(), self.entry_point.max())) + 1
        self.parts: list[tuple[Counts, Counts, Counts]] = []

    def settled(self) -> Assignment | None:
        """Settle what has one way only; None where something is left, or does not fit."""
        while self.rows.any():
            look()
            left = int(self.rows.sum())
            self._in_one_bucket()
            if self.values.shape[1]:
                self._with_one_value()
                self._last_in_bucket()
            if min(self.people.min(), self.rows.min(), self.values.min(initial=0)) < 0:
                return None
            if int(self.rows.sum()) == left:
                return None
        return Assignment.gathered(*map(np.concatenate, zip(*self.parts, strict=True)))

    def _of_points(self, point: Counts, number: Counts) -> Counts:
        return weighted_counts(point, number, self.points)

    def _everybody(self) -> np.ndarray:
        """Say of which points as many rows as people are left: nobody of theirs is left out."""
        people = self._of_points(self.cell_point, self.people)
        full: np.ndarray = (people == self._of_points(self.entry_point, self.rows)) & (people > 0)
        return full

    def _in_one_bucket(self) -> None:
        """Send the people of points to the one bucket where they are shown."""
        live = self.rows > 0
        one = self._everybody() & (self._of_points(self.entry_point[live], np.ones(live.sum())) == 1)
        bucket = np.zeros(self.points, np.int64)
        bucket[self.entry_point[live]] = self.entry_bucket[live]
        cell = np.flatnonzero(one[self.cell_point] & (self.people > 0))
        self._settle(cell, bucket[self.cell_point[cell]], self.people[cell])
        self.rows[live & one[self.entry_point]] = 0

    def _with_one_value(self) -> None:
        """Send the people of points, who all have one value, to all buckets where they are shown."""
        left = self.people > 0
        one = self._everybody() & (self._of_points(self.cell_point[left], np.ones(left.sum())) == 1)
        cell = np.zeros(self.points, np.int64)
        cell[self.cell_point[left]] = np.flatnonzero(left)
        entry = np.flatnonzero(one[self.entry_point] & (self.rows > 0))
        self._settle(cell[self.entry_point[entry]], self.entry_bucket[entry], self.rows[entry])
        self.rows[entry] = 0

    def _last_in_bucket(self) -> None:
        """Give the values that are left in a bucket to the one point that is left there."""
        live = np.flatnonzero(self.rows > 0)
        alone = np.bincount(self.entry_bucket[live], minlength=len(self.values))[self.entry_bucket[live]] == 1
        entries = live[alone]
        entries = entries[np.unique(self.entry_point[entries], return_index=True)[1]]  # a point at a time
        key = self.cell_point * self.values.shape[1] + self.cell_value
        order = np.argsort(key)
        which, value = np.nonzero(self.values[self.entry_bucket[entries]])
        wanted = self.entry_point[entries][which] * self.values.shape[1] + value
        place = np.searchsorted(key[order], wanted)
        place[place == len(order)] = 0
        cell = order[place]
        fits = key[cell] == wanted
        bucket = self.entry_bucket[entries][which]
        if not fits.all():
            self.rows[entries] = -1  # a value that nobody of the point has
            return
        self._settle(cell, bucket, self.values[bucket, value])
        self.rows[entries] = 0

    def _settle(self, cell: Counts, bucket: Counts, number: Counts) -> None:
        """Note that people of cells are in buckets."""
        self.parts.append((cell, bucket, number))
        np.subtract.at(self.people, cell, number)
        if self.values.shape[1]:
            np.subtract.at(self.values, (bucket, self.cell_value[cell]), number)
