"""Frequencies of records if a missing value matches everything (as in sdcMicro); there are no groups then.

Two records match if they agree in every quasi-identifier that both show. A record with missing values may match records
that do not match each other, so results are about records and their combinations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.auditing.decision import Failure
from sfumato.auditing.published_file import Counted, TextColumn, number_combinations
from sfumato.requirements.requirement import KAnonymity, Requirement
from sfumato.runtime.arrays import Counts, Flags, RedactedRepr
from sfumato.texts.catalogue import refusal

GENEROUS = (
    "a missing value matches everything, so records form no groups: k, prosecutor and marketer count for every record "
    "all that agree with it wherever both show a value. This trusts that nobody knows what is missing; who does can "
    "rule records out, so compare --missing value"
)


@dataclass(frozen=True, eq=False, repr=False)
class Matching(RedactedRepr):
    """The published combinations, the number of records with each, and the number of matching records."""

    counted: Counted
    quasi: tuple[str, ...]
    first: Counts
    """A counted tuple of each combination."""

    records: Counts
    frequencies: Counts

    @staticmethod
    def of(counted: Counted, quasi: Sequence[str]) -> Matching:
        """Count for each combination the records that match it."""
        first, number = counted.number(quasi)
        records = np.bincount(number, weights=counted.counts).astype(np.int64)
        columns = [
            TextColumn(column.texts, column.codes[first]) for column in (counted.columns[name] for name in quasi)
        ]
        return Matching(counted, tuple(quasi), first, records, frequencies(columns, records))

    @property
    def uniques(self) -> int:
        """The number of records that match no other."""
        return int((self.frequencies == 1).sum())

    def measures(self) -> dict[str, float]:
        """Return the risks of re-identification: of the record with the fewest matches, and the average."""
        smallest, total = int(self.frequencies.min()), int(self.records.sum())
        return {
            "k": smallest,
            "prosecutor": 1 / smallest,
            "marketer": float((self.records / self.frequencies).sum()) / total,
        }

    def failures(self, wanted: Requirement) -> tuple[Failure, ...]:
        """Return the failure of too few matching records; only k is supported, because there are no groups."""
        failed = []
        for part in wanted.parts:
            if not isinstance(part, KAnonymity):
                raise refusal("audit_error.no_groups", part=part)
            failing = np.flatnonzero(self.frequencies < part.k)
            if len(failing):
                worst = int(failing[np.argmin(self.frequencies[failing])])
                shows = self.counted.show(int(self.first[worst]), self.quasi)
                size, least = int(self.frequencies[worst]), int(self.frequencies.min())
                about = (len(failing), len(self.records), int(self.records[failing].sum()))
                failed.append(Failure(str(part), *about, shows, size, f"k={least}"))
        return tuple(failed)


def frequencies(columns: Sequence[TextColumn], records: Counts) -> Counts:
    """Count for each combination the records that agree with it wherever both show a value.

    Two combinations are compared in the columns that neither misses. So for every union of two sets of missing columns,
    all combinations without further missing columns are grouped by the other columns, and each is counted with those
    that complete the union.
    """
    missing = np.stack([_shows_nothing(column) for column in columns], axis=1)
    patterns, pattern = np.unique(missing, axis=0, return_inverse=True)
    pattern = pattern.reshape(-1)
    either = patterns[:, None, :] | patterns[None, :, :]
    totals = np.zeros(len(records), np.int64)
    for both in np.unique(either.reshape(-1, len(columns)), axis=0):
        completes = (either == both).all(axis=2)
        taking_part = np.flatnonzero(completes.any(axis=1)[pattern])
        compared = [column for column, gone in zip(columns, both, strict=True) if not gone]
        known = [TextColumn(column.texts, column.codes[taking_part]) for column in compared]
        key = number_combinations(known, len(taking_part))[1]
        for place in np.flatnonzero(completes.any(axis=1)):
            others = completes[place][pattern[taking_part]]
            alike = np.bincount(key[others], records[taking_part[others]], int(key.max()) + 1)
            mine = pattern[taking_part] == place
            totals[taking_part[mine]] += alike[key[mine]].astype(np.int64)
    return totals


def _shows_nothing(column: TextColumn) -> Flags:
    flags: Flags = np.array([text == "" for text in column.texts], np.bool_)[column.codes]
    return flags


def misses_a_value(counted: Counted, quasi: Sequence[str]) -> bool:
    """Return whether any record misses one of these columns."""
    return any(_shows_nothing(counted.columns[name]).any() for name in quasi)


def reread(counted: Counted, names: Sequence[str], meaning: Mapping[str, str]) -> Counted:
    """Replace some texts of some columns, such as `NA` by the missing value or the missing value by `*`."""
    for name in names:
        column = counted.columns[name]
        if not meaning.keys().isdisjoint(column.texts):
            counted = counted.replaced(name, column.called([meaning.get(text, text) for text in column.texts]))
    return counted
