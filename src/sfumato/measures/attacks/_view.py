"""A table as the attackers of one kind of release see it: the columns that it shows, whom to attack, with what.

The shared facts of all releases are computed once here; `against` then attacks one release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.cells import Sensitive, distinct_rows
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.measures.attacks import anonymeter, record_linkage
from sfumato.measures.attacks._persons import PersonRecords
from sfumato.measures.attacks.advantage import LEAST_TRIES, Advantage, AttackFindings, rate_entry
from sfumato.measures.attacks.membership import Suspects, area, bounded, membership
from sfumato.release.records import read_as_records
from sfumato.release.release import Published
from sfumato.runtime.arrays import Codes, Counts, Numbers, RedactedRepr
from sfumato.runtime.cancellation import check_cancelled

if TYPE_CHECKING:
    from sfumato.measures.attacks.attacks import Attacks

TARGETS, SUSPECTS, REFERENCE = range(1, 4)
"""The random draws, each with its own seed."""


@dataclass(frozen=True, eq=False, repr=False)
class View(RedactedRepr):
    """Persons of the table and of the control by the columns that a release shows."""

    options: Attacks
    hierarchies: tuple[Hierarchy, ...]
    lines: Sequence[Numbers]
    """The line of every column, on which its leaves are put."""

    sensitive: tuple[Sensitive, ...]
    """The sensitive attributes that are shown: the last columns."""

    training: PersonRecords
    """The persons whose records the release was made from."""

    control: PersonRecords

    def random(self, *what: int) -> np.random.Generator:
        """Return a generator for one purpose."""
        return np.random.default_rng([self.options.seed, *what])

    def placed(self, codes: Codes) -> Numbers:
        """Put records on the lines of the columns."""
        return record_linkage.placed(self.lines, codes)

    @cached_property
    def distinct(self) -> tuple[PersonRecords, PersonRecords]:
        """The persons of the table and of the control who differ by what is shown of them."""
        return self.training.distinct(), self.control.distinct()

    @cached_property
    def targets(self) -> tuple[PersonRecords, int]:
        """Whom to attack: persons of the table, so many, and behind them persons of the control."""
        generator = self.random(TARGETS)
        members, others = (
            side.some(generator.permutation(len(side))[: self.options.number]) for side in (self.training, self.control)
        )
        return members.joined(others), len(members)

    @cached_property
    def sources(self) -> tuple[list[int], list[int]]:
        """The columns that two sources know."""
        return anonymeter.two_sources(self.training.known_codes)

    @cached_property
    def suspects(self) -> Suspects:
        """The people who may have been in the table."""
        return Suspects.drawn(self.training, self.control, 2 * self.options.number, self.random(SUSPECTS))

    @cached_property
    def to_reference(self) -> Numbers:
        """How far each of them is from the attacker's reference."""
        reference = self.placed(self.suspects.reference)
        return record_linkage.nearest_records(self.placed(self.suspects.both), reference, 1, self.random(REFERENCE))[1][
            :, 0
        ]

    @cached_property
    def uniques(self) -> tuple[PersonRecords, PersonRecords]:
        """Records that one person of the table alone has; and of the control, where nobody of the table has them."""
        others = self.control.unique()
        return self.training.unique(), others.chosen(~record_linkage.repeated(others.codes, self.training.codes))

    def ready(self) -> View:
        """Work out now what all releases share."""
        for shared in (self.distinct, self.targets, self.sources, self.uniques, self.to_reference):
            assert shared is not None
        return self

    def against(self, release: Published, generator: np.random.Generator) -> AttackFindings:
        """Attack a release that was made from the training records."""
        read = read_as_records(release, generator)
        released = np.ascontiguousarray(read.codes[:, : len(self.hierarchies)])
        if not len(released):
            return AttackFindings()
        points = self.placed(released)
        advantages = list(self._singled_out(_distinct(released), generator))
        check_cancelled()
        advantages += self._near(released, points, generator)
        check_cancelled()
        members = len(self.suspects.members)
        suspects = self.placed(self.suspects.both)
        to_release = record_linkage.nearest_records(suspects, points, 1, generator)[1][:, 0]
        advantages.append(bounded(membership(to_release, self.to_reference, members), release.guarantee))
        exact = record_linkage.exact_rows(release, len(self.hierarchies), generator)
        beside = {
            "closest_of_members": _median(to_release[:members]),
            "closest_of_others": _median(to_release[members:]),
            "replicated_of_table": rate_entry(record_linkage.replicated_uniques(self.uniques[0], exact)),
            "replicated_of_control": rate_entry(record_linkage.replicated_uniques(self.uniques[1], exact)),
        }
        asked = min(members, len(suspects) - members)  # of nobody, .5 would look like a finding
        described = {"membership_auc": area(to_release, self.to_reference, members)} if asked >= LEAST_TRIES else {}
        return AttackFindings(tuple(advantages), described, beside)

    def _singled_out(self, released: Codes, generator: np.random.Generator) -> list[Advantage]:
        """Single out by predicates on one column, and on several."""
        wanted, columns = self.options.number, min(self.options.columns, len(self.hierarchies))
        training, control = self.distinct
        several = anonymeter.multivariate(released, self.hierarchies, wanted, columns, generator)
        one = anonymeter.univariate(released, self.hierarchies, wanted, generator)
        return [
            anonymeter.singling_out(
                name,
                predicates,
                anonymeter.guessed_at_random(
                    released, self.hierarchies, wanted, predicates.columns.shape[1], generator
                ),
                training,
                control,
            )
            for name, predicates in (("singling_out", several), ("singling_out_univariate", one))
        ]

    def _near(self, released: Codes, points: Numbers, generator: np.random.Generator) -> list[Advantage]:
        """Link what two sources know, and infer what is secret, by the nearest records."""
        targets, members = self.targets
        places = self.placed(targets.known_codes)
        advantages = []
        if all(self.sources):
            sides = places[:members], places[members:]
            advantages.append(anonymeter.linkability(*sides, points, self.sources, generator))
        known = len(self.hierarchies) - len(self.sensitive)
        if not self.sensitive:
            return advantages
        closest = record_linkage.nearest_records(places[:, :known], points[:, :known], 1, generator)[0][:, 0]
        naive = generator.integers(len(released), size=members)
        for s, attribute in enumerate(self.sensitive):
            secrets = replace(targets, codes=targets.codes[:, known + s])
            guesses = released[closest, known + s], released[naive, known + s]
            advantages.append(anonymeter.inference(attribute, *guesses, secrets, members))
        return advantages


def _distinct(codes: Codes) -> Codes:
    return np.ascontiguousarray(codes[distinct_rows(codes)[0]])


def _median(distances: Numbers | Counts) -> float | None:
    return float(np.median(distances)) if len(distances) else None
