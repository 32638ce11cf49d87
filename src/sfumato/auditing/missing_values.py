"""Where a missing value matches everything (sdcMicro's reading) there are no groups, but every record has a frequency.

Two records match if they agree in every quasi-identifier that both show. A record with missing values matches records
that do not match each other, so what is said here is said of records and of the combinations that they show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.auditing.decision import Failure
from sfumato.auditing.published_file import Counted, TextColumn, number_combinations
from sfumato.requirements.requirement import KAnonymity, Requirement
from sfumato.runtime.arrays import Counts, Flags, Quiet
from sfumato.texts.catalogue import refusal

GENEROUS = (
    "a missing value matches everything, so records form no groups: k, prosecutor and marketer count for every record "
    "all that agree with it wherever both show a value. This trusts that nobody knows what is missing; who does can "
    "rule records out, so compare --missing value"
)


@dataclass(frozen=True, eq=False, repr=False)
class Matching(Quiet):
    """The combinations that records show, how many records show each, and how many records match it."""

    counted: Counted
    quasi: tuple[str, ...]
    first: Counts
    """A counted tuple that shows each combination."""

    records: Counts
    frequencies: Counts

    @staticmethod
    def of(counted: Counted, quasi: Sequence[str]) -> Matching:
        """Count for every combination the records that match it."""
        first, number = counted.number(quasi)
        records = np.bincount(number, weights=counted.counts).astype(np.int64)
        columns = [
            TextColumn(column.texts, column.codes[first]) for column in (counted.columns[name] for name in quasi)
        ]
        return Matching(counted, tuple(quasi), first, records, frequencies(columns, records))

    @property
    def uniques(self) -> int:
        """The records that no other record matches."""
        return int((self.frequencies == 1).sum())

    def measures(self) -> dict[str, float]:
        """Return the risks of being found: of the record that fewest match, and of the average one."""
        smallest, total = int(self.frequencies.min()), int(self.records.sum())
        return {
            "k": smallest,
            "prosecutor": 1 / smallest,
            "marketer": float((self.records / self.frequencies).sum()) / total,
        }

    def failures(self, wanted: Requirement) -> tuple[Failure, ...]:
        """Say where too few records match; only k can be asked for, since there are no groups."""
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
    """Count for every combination the records that agree with it wherever both show a value.

    Two combinations compare in the columns that neither misses. So for every set of columns that two together miss,
    all combinations that miss nothing else are told apart by the other columns, and each is counted with those that
    complete the set.
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
    """Say whether any record misses one of these columns."""
    return any(_shows_nothing(counted.columns[name]).any() for name in quasi)


def reread(counted: Counted, names: Sequence[str], meaning: Mapping[str, str]) -> Counted:
    """Read some texts of some columns as others, such as `NA` as missing or the missing value as `*`."""
    for name in names:
        column = counted.columns[name]
        if not meaning.keys().isdisjoint(column.texts):
            counted = counted.replaced(name, column.called([meaning.get(text, text) for text in column.texts]))
    return counted
