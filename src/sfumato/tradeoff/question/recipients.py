"""Recipients as presets of bounds, and which points of a map may be published.

Cormode et al. 2013 conclude that trust in the recipient decides: third parties need the strongest protection, while
l-diversity suffices within an organization. The numbers are established thresholds (`docs/guides/choosing.md`).

A point is publishable by what it shows, not by its maker: any maker can return the unchanged table, or a release with a
unique record. Both are refused. Buckets and the trivial release without sensitive values show exact quasi-identifiers
on purpose. They are allowed, with a warning, unless the question is how well quasi-identifiers are hidden.
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
"""Measures of how well quasi-identifiers are hidden, and their loss; meaningless for releases that do not hide them."""


IN_BUCKETS = t("meaning.in_buckets")


def shows_exact(point: Point) -> bool:
    """Return whether a release shows exact quasi-identifiers on purpose."""
    return point.form == "bucketization" or point.candidate.anonymizer.shows_exact


def refusal(point: Point) -> str:
    """Return why a measured point may not be published, as a predicate of its name; empty if it may."""
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
    """Return why unchanged baskets may not be published; empty if they may."""
    changed = any(measures.get(name, 0) for name in ("ncp", "items_suppressed", "occurrences_suppressed"))
    if changed or measures.get("itemset_risk", 0) < 1 or getattr(wanted, "k", 1) >= 2:
        return ""
    return t("exposure.shows_baskets")


def foreign_refusal(brought: Mapping[str, Any]) -> str:
    """Return why a truthful external release with a unique person may not be published; else empty."""
    if brought.get("verdict") == "fails":
        return t("exposure.claimed_not", claim=brought["claim"], why=brought["why"])
    if brought["truthful"] and brought["alone"]:
        alone = counted(brought["alone"], "row")
        return t("exposure.shows_people", alone=alone, rows=brought["rows"])
    return ""


def check_published(point: Point) -> None:
    """Raise unless a point is a measured release that may be published."""
    if point.status != "measured":
        raise BadInputError(f"point {point.id} was not made ({point.status}: {point.reason}); choose another")
    if why := refusal(point):
        raise BadInputError(f"point {point.id} {why}")


def check_shown(release: Release, id: str) -> None:
    """Raise if a release shows a unique person, whatever its point contains.

    Buckets, and releases without sensitive values, publish exact quasi-identifiers on purpose, with a warning.
    """
    without_sensitive = release.histograms is None and bool(release.table.roles.sensitive)
    persons = release.group_persons
    sizes, unit = (release.sizes, "record") if persons is None else (persons.persons, "person")
    if release.form == "generalization" and not without_sensitive and (alone := int((sizes == 1).sum())):
        what = t("exposure.shows_table_as") if release.is_exact else t("exposure.shows_alone", unit=unit)
        raise BadInputError(t("refusal.alone", id=id, what=what, alone=alone, release=release, unit=unit))


def hardly_changed(release: RecordRelease) -> str:
    """Return why perturbed or synthetic records may not be published: almost all equal records of the table.

    Empty if enough of them differ, or if no record is unique.
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
    """Raise if almost all records equal those of the table, and some are unique."""
    if why := hardly_changed(release):
        raise BadInputError(f"{called} {why}")


def is_unchanged(point: Point) -> bool:
    """Return whether a release shows every record unchanged."""
    names = ("loss",) if "loss" in point.measures else ("ncp", "items_suppressed", "occurrences_suppressed")
    return (
        not point.is_noisy
        and not shows_exact(point)
        and point.has(names)
        and all(point.measures[name] == 0 for name in names)
    )


def warnings(point: Point) -> list[str]:
    """Return warnings about what a release shows."""
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
"""The measures of group sizes in a recipient's bounds."""


@dataclass(frozen=True)
class Recipient:
    """A recipient: its trust, as bounds."""

    name: str
    meaning: str
    bounds: tuple[Bound, ...]
    hides_identity: bool
    """Whether releases with exact quasi-identifiers are excluded, unless a weaker bound on k is given."""

    @property
    def least_k(self) -> float:
        """The least k; 1 without such a bound."""
        return next((bound.value for bound in self.bounds if (bound.measure, bound.side) == ("k", "min")), 1)

    def bounds_of(self, unit: Unit) -> tuple[Bound, ...]:
        """Return the bounds on groups of records or of persons; the same number of persons, none above their share."""
        if unit != "persons":
            return self.bounds
        size = next(bound for bound in self.bounds if bound.measure in GROUP_SIZES)
        least = t("fit.persons_behind", size=size)
        part = t("fit.no_person", size=size)
        others = (bound for bound in self.bounds if bound is not size)
        return (Bound("k", "min", size.value, least), Bound("prosecutor", "max", 1 / size.value, part), *others)

    def admits_exact(self, given: Sequence[Bound]) -> bool:
        """Return whether exact quasi-identifiers are allowed: by the preset, or by a weaker given k."""
        least = [bound.value for bound in given if (bound.measure, bound.side) == ("k", "min")]
        return not self.hides_identity or any(value < self.least_k for value in least)

    def objections(self, map_: Map, point: Point, measures: Mapping[str, float]) -> list[str]:
        """List the violated bounds of a release, and exact quasi-identifiers if they are excluded.

        A bound on an unmeasured measure is skipped.
        """
        exact = t("fit.shows_exact")
        against = [exact] * (self.hides_identity and shows_exact(point))
        return against + [
            t("fit.asked", bound=bound, measures=measures[bound.measure])
            for bound in self.bounds_of(map_.study.unit)
            if bound.measure in measures and bound.outside(measures[bound.measure])
        ]

    def unmeasured(self, map_: Map, point: Point) -> list[str]:
        """List the unknown measures of the bounds; the release is then not known to be fit."""
        names = [bound.measure for bound in self.bounds_of(map_.study.unit) if bound.measure not in point.measures]
        sensitive = bool(map_.about.get("sensitive"))
        apply = [name for name in names if MEASURES[name].is_said_of(map_.study.section)]
        return [name for name in apply if sensitive or not name.startswith("l_")]


_ASKED: Mapping[str, tuple[bool, Mapping[str, tuple[Side, float]]]] = {
    "public": (True, {"k": ("min", 11), "l_frequency": ("min", 2), "itemset_risk": ("max", 1 / 11)}),
    "partner": (False, {"k": ("min", 5), "itemset_risk": ("max", 1 / 5), "l_distinct": ("min", 2)}),
    "internal": (False, {"smallest_group": ("min", 3), "itemset_risk": ("max", 1 / 3), "l_distinct": ("min", 2)}),
}
"""By recipient, whether exact quasi-identifiers are excluded, and the bounds; the catalogue has their reasons."""

RECIPIENTS: dict[str, Recipient] = {
    name: Recipient(
        name,
        t(f"recipient.{name}"),
        tuple(Bound(measure, *bound, t(f"recipient.{name}_{measure}")) for measure, bound in bounds.items()),
        hides,
    )
    for name, (hides, bounds) in _ASKED.items()
}
