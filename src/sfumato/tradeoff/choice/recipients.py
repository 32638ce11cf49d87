"""For whom a release is made, as presets of bounds.

Cormode et al. 2013 conclude that the trust in the recipient decides: the strongest protection for third parties, while
l-diversity suffices within an organization. Their numbers are those of thresholds in use (`docs/choosing.md`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.table.table import Unit
from sfumato.texts.catalogue import t
from sfumato.tradeoff.choice.bounds import Bound
from sfumato.tradeoff.choice.exposure import shows_exact

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point

GROUP_SIZES = ("k", "smallest_group")
"""The measures by which a recipient bounds the size of groups."""


@dataclass(frozen=True)
class Recipient:
    """For whom a release is made: how far it is trusted, in bounds."""

    name: str
    meaning: str
    bounds: tuple[Bound, ...]
    hides_identity: bool
    """Whether releases with exact quasi-identifiers are left out, unless a weaker bound on k was given."""

    @property
    def least_k(self) -> float:
        """The least k that is asked for; 1 where there is no such bound."""
        return next((bound.value for bound in self.bounds if (bound.measure, bound.side) == ("k", "min")), 1)

    def bounds_of(self, unit: Unit) -> tuple[Bound, ...]:
        """Return the bounds on groups of records, or of persons: as many of these, none with more than their part."""
        if unit != "persons":
            return self.bounds
        size = next(bound for bound in self.bounds if bound.measure in GROUP_SIZES)
        least = t("fit.persons_behind", size=size)
        part = t("fit.no_person", size=size)
        others = (bound for bound in self.bounds if bound is not size)
        return (Bound("k", "min", size.value, least), Bound("prosecutor", "max", 1 / size.value, part), *others)

    def why_unknown(self, map_: Map) -> str:
        """Say why no release of a map is known to be fit; nothing where the bounds can be checked."""
        sensitive = map_.about.get("sensitive", ())
        if map_.study.unit != "persons" or not sensitive:
            return ""
        return t("fit.no_release", self=self, sensitive=sensitive)

    def admits_exact(self, given: Sequence[Bound]) -> bool:
        """Say whether exact quasi-identifiers may be had: identity need not be hidden, or was waived by a weaker k."""
        least = [bound.value for bound in given if (bound.measure, bound.side) == ("k", "min")]
        return not self.hides_identity or any(value < self.least_k for value in least)

    def objections(self, map_: Map, point: Point, measures: Mapping[str, float]) -> list[str]:
        """Say what speaks against giving a release to it: bounds on what was measured of it, and identity that shows.

        A bound on what is not measured of such a release says nothing of it.
        """
        exact = t("fit.shows_exact")
        against = [*filter(None, [self.why_unknown(map_)]), *[exact] * (self.hides_identity and shows_exact(point))]
        return against + [
            t("fit.asked", bound=bound, measures=measures[bound.measure])
            for bound in self.bounds_of(map_.study.unit)
            if bound.measure in measures and bound.outside(measures[bound.measure])
        ]


RECIPIENTS: dict[str, Recipient] = {
    recipient.name: recipient
    for recipient in (
        Recipient(
            "public",
            "anybody who may join the file with anything",
            (
                Bound(
                    "k",
                    "min",
                    11,
                    "a risk of at most 1/11 = .09 for each record, as EMA policy 0070 and Health Canada have it",
                ),
                Bound(
                    "l_frequency",
                    "min",
                    2,
                    "no value holds for more than half of a group, so no guess is more often right than wrong",
                ),
                Bound(
                    "itemset_risk",
                    "max",
                    1 / 11,
                    "at least 11 records fit what an attacker may know of a person, 1/11 = .09 as for tables",
                ),
            ),
            True,
        ),
        Recipient(
            "partner",
            "an outside party bound by a contract",
            (
                Bound("k", "min", 5, "a risk of at most 1/5 = .2, usual where biomedical data are shared"),
                Bound("itemset_risk", "max", 1 / 5, "a risk of at most .2, usual where biomedical data are shared"),
                Bound("l_distinct", "min", 2, "no group whose records all have the same sensitive value"),
            ),
            False,
        ),
        Recipient(
            "internal",
            "another department of the same organization",
            (
                Bound(
                    "smallest_group", "min", 3, "no group of fewer than 3 records, .33, the weakest threshold in use"
                ),
                Bound("itemset_risk", "max", 1 / 3, "a risk of at most .33, the weakest threshold in use"),
                Bound("l_distinct", "min", 2, "no group whose records all have the same sensitive value"),
            ),
            False,
        ),
    )
}
