"""PersonRecords: the unit of all attacks. One person is one target, and one record of each person is known.

Which record is known is drawn from all records of the person. Without a person column every record is another person.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.data.cells import Cells, distinct_rows
from sfumato.data.items import taken_rows
from sfumato.data.persons import PersonPairs
from sfumato.release.records import cell_codes
from sfumato.runtime.arrays import Codes, Counts, Flags, RedactedRepr


@dataclass(frozen=True, eq=False, repr=False)
class PersonRecords(RedactedRepr):
    """The records of some persons, person by person, and the record of each that an attacker knows."""

    codes: Codes
    """The different records of every person."""

    owner: Counts
    """The person of every record: numbers from 0, never falling."""

    known: Counts
    """For every person the place of the known record."""

    @staticmethod
    def each(codes: Codes) -> PersonRecords:
        """Return records that each belong to another person."""
        persons = np.arange(len(codes))
        return PersonRecords(codes, persons, persons)

    @staticmethod
    def of(cells: Cells, codes: Codes, pairs: PersonPairs | None, generator: np.random.Generator) -> PersonRecords:
        """Draw the known records of persons; `codes` are those of the cells.

        Persons are in an order that follows from their records, so names change nothing.
        """
        if pairs is None:
            return PersonRecords.each(np.repeat(codes, cells.counts, axis=0))
        place = np.empty(pairs.number, np.int64)
        place[pairs.ordered] = np.arange(pairs.number)
        order = np.argsort(place[pairs.person], kind="stable")
        records, ends = pairs.records[pairs.ordered], np.cumsum(pairs.count[order], dtype=np.int64)
        drawn = np.cumsum(records) - records + (generator.random(len(records)) * records).astype(np.int64)
        known = np.searchsorted(ends, drawn, side="right")
        return PersonRecords(codes[pairs.cell[order]], place[pairs.person[order]], known)

    def __len__(self) -> int:
        return len(self.known)

    @property
    def known_codes(self) -> Codes:
        """The known record of every person."""
        return self.codes[self.known]

    @cached_property
    def starts(self) -> Counts:
        """The records of person p are at `starts[p]:starts[p + 1]`."""
        return np.searchsorted(self.owner, np.arange(len(self) + 1))

    def columns(self, width: int) -> PersonRecords:
        """Keep the first columns."""
        return replace(self, codes=np.ascontiguousarray(self.codes[:, :width]))

    def some(self, persons: Counts) -> PersonRecords:
        """Return some persons, numbered in this order."""
        ends, codes = taken_rows(self.starts, self.codes, persons)
        known = self.known[persons] - self.starts[persons] + ends[:-1]
        return PersonRecords(codes, np.repeat(np.arange(len(persons)), np.diff(ends)), known)

    def joined(self, others: PersonRecords) -> PersonRecords:
        """Return these persons, then others."""
        known = np.concatenate([self.known, others.known + len(self.codes)])
        owner = np.concatenate([self.owner, others.owner + len(self)])
        return PersonRecords(np.concatenate([self.codes, others.codes]), owner, known)

    def distinct(self) -> PersonRecords:
        """Keep one of the persons whose records show the same; sets of records are compared by sums of random bits."""
        first, number = distinct_rows(self.codes)
        owner, row = np.divmod(np.unique(self.owner * len(first) + number), max(len(first), 1))
        bits = np.iinfo(np.int64)
        drawn = np.random.default_rng(1).integers(bits.min, bits.max, (len(first), 2), endpoint=True)
        sums = np.add.reduceat(drawn[row], np.searchsorted(owner, np.arange(len(self))))
        return self.some(distinct_rows(sums)[0])

    def unique(self) -> PersonRecords:
        """Keep the records that one person alone has, and the persons who have one."""
        first, number = distinct_rows(self.codes)
        last = np.empty(len(first), np.int64)
        last[number] = self.owner
        return self.chosen((self.owner[first] == last)[number])

    def chosen(self, which: Flags) -> PersonRecords:
        """Keep some records, and the persons who have one; of each of these the first is known."""
        known, owner = np.unique(self.owner[which], return_index=True)[1], self.owner[which]
        return PersonRecords(self.codes[which], np.cumsum(np.diff(owner, prepend=owner[:1]) > 0), known)

    def any(self, flags: Flags) -> Flags:
        """Return for every person whether one of the records is flagged."""
        return np.bincount(self.owner, flags, len(self)) > 0


def records_of(cells: Cells, generator: np.random.Generator) -> PersonRecords:
    """Return the persons of a table with the known record of each."""
    return PersonRecords.of(cells, cell_codes(cells), cells.persons, generator)
