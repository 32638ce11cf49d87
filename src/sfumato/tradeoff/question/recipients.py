"""For whom a release is made, as presets of bounds.

Cormode et al. 2013 conclude that the trust in the recipient decides: the strongest protection for third parties, while
l-diversity suffices within an organization. Their numbers are those of thresholds in use (`docs/guides/choosing.md`).

Which points of a map are releases that a person may publish: decided by what they show, not by who made them.

The unchanged table can come out under any maker's name, and so can a release in which somebody is alone: neither is an
answer. Buckets and the trivial release without sensitive values show exact quasi-identifiers on purpose: they may be
had, with their warning, where the question is not how well quasi-identifiers are hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.data.reading import Unit
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES
from sfumato.measures.group_risk import standing
from sfumato.release.records import RecordRelease
from sfumato.release.release import Release
from sfumato.texts.catalogue import counted, t
from sfumato.tradeoff.question.question import Bound, Side

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point

ABOUT_HIDING = frozenset(
    (
        "k",
        "smallest_group",
        "prosecutor",
        "marketer",
        "weighted_k",
        "average_group",
        "discernibility",
        "loss",
        "generalization_loss",
    )
)
"""Measures of how well quasi-identifiers are hidden, and at what loss: they say nothing of who does not hide them."""


IN_BUCKETS = t("meaning.in_buckets")


def shows_exact(point: Point) -> bool:
    """Say whether a release shows exact quasi-identifiers on purpose."""
    return point.form == "bucketization" or point.candidate.anonymizer.shows_exact


def refusal(point: Point) -> str:
    """Say why a measured point is no release to publish, behind its name; nothing where it may be."""
    if not point.candidate.anonymizer.is_release:
        what = point.candidate.anonymizer.in_words()
        return t("exposure.other_end", what=what)
    if point.brought is not None and (why := foreign_refusal(point.brought)):
        return why
    if point.refused or point.brought is not None:
        return point.refused
    if point.is_noisy or shows_exact(point):
        return ""
    measures = point.measures
    if min(measures.get("k", 2), measures.get("smallest_group", 2)) <= 1:
        exposure = t("exposure.shows_table_as") if is_unchanged(point) else t("exposure.shows_group")
        return t("exposure.behind_some", exposure=exposure)
    return shown_baskets(measures, point.candidate.requirement) if is_unchanged(point) else ""


def shown_baskets(measures: Mapping[str, float], wanted: Any) -> str:
    """Say why baskets that are shown as they are are no release to publish; nothing where they may be."""
    changed = any(measures.get(name, 0) for name in ("ncp", "items_suppressed", "occurrences_suppressed"))
    if changed or measures.get("itemset_risk", 0) < 1 or getattr(wanted, "k", 1) >= 2:
        return ""
    return t("exposure.shows_baskets")


def foreign_refusal(brought: Mapping[str, Any]) -> str:
    """Say why what was made elsewhere is no release to publish: it shows people truthfully, and somebody alone."""
    if brought.get("verdict") == "fails":
        return t("exposure.claimed_not", claim=brought["claim"], why=brought["why"])
    if brought["truthful"] and brought["alone"]:
        alone = counted(brought["alone"], "row")
        return t("exposure.shows_people", alone=alone, rows=brought["rows"])
    return ""


def check_published(point: Point) -> None:
    """Raise unless a point is a release that was made and measured, and may be published."""
    if point.status != "measured":
        raise BadInputError(f"point {point.id} was not made ({point.status}: {point.reason}); choose another")
    if why := refusal(point):
        raise BadInputError(f"point {point.id} {why}")


def check_shown(release: Release, id: str) -> None:
    """Raise where somebody is alone in a release: decided by the release itself, whatever is said of its point.

    Buckets, and what shows no sensitive value, publish exact quasi-identifiers on purpose, and say so.
    """
    without_sensitive = release.histograms is None and bool(release.table.roles.sensitive)
    persons = release.group_persons
    sizes, unit = (release.sizes, "record") if persons is None else (persons.persons, "person")
    if release.form == "generalization" and not without_sensitive and (alone := int((sizes == 1).sum())):
        what = t("exposure.shows_table_as") if release.is_exact else t("exposure.shows_alone", unit=unit)
        raise BadInputError(t("refusal.alone", id=id, what=what, alone=alone, release=release, unit=unit))


def hardly_changed(release: RecordRelease) -> str:
    """Say why records in place of records are no release to publish: they are the table's own, but for a few.

    Nothing where they are others, or nobody among them is alone.
    """
    kept = standing(release)
    if not kept.hardly_changed:
        return ""
    alone = t("exposure.like_no", kept=kept)
    same = t("exposure.as") if kept.standing == kept.of else t("exposure.nearly_as")
    if kept.standing == kept.of and release.people:
        records = t("exposure.not_one", kept=kept)
    elif release.people:
        records = t("exposure.stand_just_as", kept=kept)
    else:
        distinct = counted(kept.of, "distinct record")
        records = t("exposure.stand_just", kept=kept, distinct=distinct)
    return t("exposure.shows_table", same=same, records=records, alone=alone)


def check_changed(release: RecordRelease, called: str) -> None:
    """Raise where records are those of the table, but for a few, and somebody is alone."""
    if why := hardly_changed(release):
        raise BadInputError(f"{called} {why}")


def is_unchanged(point: Point) -> bool:
    """Say whether a release shows every record as it is."""
    names = ("loss",) if "loss" in point.measures else ("ncp", "items_suppressed", "occurrences_suppressed")
    return (
        not point.is_noisy
        and not shows_exact(point)
        and point.has(names)
        and all(point.measures[name] == 0 for name in names)
    )


def warnings(point: Point) -> list[str]:
    """Say what a person has to know of what a release shows, before anything else."""
    if point.brought is not None:
        buckets = [IN_BUCKETS] if point.form == "bucketization" else []
        return [*buckets, point.candidate.anonymizer.caution, *point.brought["cautions"]]
    if point.form == "bucketization":
        return [IN_BUCKETS]
    if point.candidate.anonymizer.caution:
        return [point.candidate.anonymizer.caution]
    if is_unchanged(point):
        return [t("exposure.shows_every")]
    return []


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

    def admits_exact(self, given: Sequence[Bound]) -> bool:
        """Say whether exact quasi-identifiers may be had: identity need not be hidden, or was waived by a weaker k."""
        least = [bound.value for bound in given if (bound.measure, bound.side) == ("k", "min")]
        return not self.hides_identity or any(value < self.least_k for value in least)

    def objections(self, map_: Map, point: Point, measures: Mapping[str, float]) -> list[str]:
        """Say what speaks against giving a release to it: bounds on what was measured of it, and identity that shows.

        A bound on what is not measured of such a release says nothing of it.
        """
        exact = t("fit.shows_exact")
        against = [exact] * (self.hides_identity and shows_exact(point))
        return against + [
            t("fit.asked", bound=bound, measures=measures[bound.measure])
            for bound in self.bounds_of(map_.study.unit)
            if bound.measure in measures and bound.outside(measures[bound.measure])
        ]

    def unmeasured(self, map_: Map, point: Point) -> list[str]:
        """Name the measures of the bounds that are unknown of a release: it is not known to be fit."""
        names = [bound.measure for bound in self.bounds_of(map_.study.unit) if bound.measure not in point.measures]
        sensitive = bool(map_.about.get("sensitive"))
        apply = [name for name in names if MEASURES[name].is_said_of(map_.study.section)]
        return [name for name in apply if sensitive or not name.startswith("l_")]


_ASKED: Mapping[str, tuple[bool, Mapping[str, tuple[Side, float]]]] = {
    "public": (True, {"k": ("min", 11), "l_frequency": ("min", 2), "itemset_risk": ("max", 1 / 11)}),
    "partner": (False, {"k": ("min", 5), "itemset_risk": ("max", 1 / 5), "l_distinct": ("min", 2)}),
    "internal": (False, {"smallest_group": ("min", 3), "itemset_risk": ("max", 1 / 3), "l_distinct": ("min", 2)}),
}
"""By recipient, whether identity is hidden, and the bounds; the catalogue has their reasons."""

RECIPIENTS: dict[str, Recipient] = {
    name: Recipient(
        name,
        t(f"recipient.{name}"),
        tuple(Bound(measure, *bound, t(f"recipient.{name}_{measure}")) for measure, bound in bounds.items()),
        hides,
    )
    for name, (hides, bounds) in _ASKED.items()
}
