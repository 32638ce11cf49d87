"""The deFinetti attack (Kifer 2009): what all groups together tell of one person's value.

An analyst who learns across groups (`EmReader`) deals the sensitive values of every group to its records. The attacker
guesses the value of which a record was dealt most.

Where persons are counted, a person is guessed once for each group and combination of quasi-identifiers in it that the
person's published records have. The guess is right if one of these records has the value.
"""

from dataclasses import dataclass, replace

import numpy as np

from sfumato.data.cells import find_sensitive
from sfumato.errors import BadInputError
from sfumato.measures.reconstruction import EmReader, Entries
from sfumato.release.release import Release
from sfumato.runtime.arrays import Counts, Numbers

TOLERANCE = 1e-9
"""Of values that were dealt equally to within this share, the one that is commoner in the group is guessed."""


@dataclass(frozen=True)
class DeFinetti:
    """How often the attack guesses right, beside guessing the commonest value of every group."""

    accuracy: float
    baseline: float

    @property
    def gain(self) -> float:
        """How much more often the attack is right than the baseline; below 0 the inference misleads him."""
        return self.accuracy - self.baseline


def definetti(release: Release, reader: EmReader | None = None, on: str | None = None) -> DeFinetti:
    """Attack one sensitive attribute of a release (the only one, where none is named)."""
    if release.histograms is None:
        raise BadInputError("this release shows no sensitive value, so there is nothing to learn them from")
    position = find_sensitive(release.cells.sensitive, on)
    entries = Entries.of(release, release.cells.points)
    histograms = release.histograms.of(position).astype(np.float64)
    return guessed(release, entries, (reader or EmReader()).dealt(entries, histograms), position)


def guessed(release: Release, entries: Entries, dealt: Numbers, sensitive: int) -> DeFinetti:
    """Guess everybody's value by what was dealt to them (entries x values), and count how often that is right."""
    assert release.histograms is not None
    histograms, assignment = release.histograms.of(sensitive), release.assignment
    guess, entry = best_values(dealt, histograms[entries.group]), entries.of_assignment
    if release.group_persons is None:
        true = release.cells.values[assignment.cell, sensitive]
        right = int(assignment.count[guess[entry] == true].sum())
        return DeFinetti(right / assignment.records, int(histograms.max(axis=1).sum()) / assignment.records)
    by_entry = replace(assignment, group=entry)
    counted = release.cells.group_persons(by_entry, len(guess))
    assert counted is not None
    having, people = counted.having[:, release.cells.span(sensitive)], int(counted.persons.sum())
    common = release.group_persons.having[:, release.cells.span(sensitive)].argmax(axis=1)[entries.group]
    shares = [int(having[np.arange(len(guess)), each].sum()) / people for each in (guess, common)]
    return DeFinetti(*shares)


def best_values(dealt: Numbers, common: Counts) -> Counts:
    """Take the value most of which was dealt; among equals the commoner in the group, then the first."""
    top = dealt.max(axis=1, keepdims=True)
    values: Counts = np.where(dealt >= top * (1 - TOLERANCE), common, -1).argmax(axis=1)
    return values
