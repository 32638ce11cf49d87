"""Recipients as presets of bounds, and which points of a map may be published.

Cormode et al. 2013 conclude that trust in the recipient decides: third parties need the strongest protection, while
l-diversity suffices within an organization. The numbers are established thresholds (`docs/guides/choosing.md`).

A point is publishable by what it shows, not by its maker: any maker can return the unchanged table, or a release with a
unique record. Both are refused. Buckets and the trivial release without sensitive values show exact quasi-identifiers
on purpose. They are allowed, with a warning, unless the question is how well quasi-identifiers are hidden.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, log
from typing import TYPE_CHECKING, Any

from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES
from sfumato.measures.group_risk import standing
from sfumato.release.records import RecordRelease
from sfumato.release.release import Release
from sfumato.texts.catalogue import counted, refusal, t
from sfumato.tradeoff.question.question import Bound, Side

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point
    from sfumato.tradeoff.study.study import Study

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


def unpublishable_reason(point: Point) -> str:
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
    if why := unpublishable_reason(point):
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
        raise refusal("alone", id=id, what=what, alone=alone, release=release, unit=unit)


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


EXACT = "exact"
"""What `--allow` may allow: releases with exact quasi-identifiers, such as buckets."""


@dataclass(frozen=True)
class Fitness:
    """Whether a release is fit for a recipient: every bound was measured, and none is violated."""

    bounds: tuple[Bound, ...]
    """The bounds that apply to the release."""

    against: tuple[str, ...]
    """The violated bounds, in words."""

    unmeasured: tuple[str, ...]
    """The measures of the other bounds that are unknown."""

    @property
    def is_fit(self) -> bool:
        """Whether the release is known to be fit."""
        return not self.against and not self.unmeasured

    @property
    def objections(self) -> tuple[str, ...]:
        """Why the release is not fit, or not known to be; empty if it is fit."""
        unknown = (t("fit.unmeasured", measures=self.unmeasured, n=len(self.unmeasured)),) if self.unmeasured else ()
        return (*self.against, *unknown)


@dataclass(frozen=True)
class Recipient:
    """A recipient: its trust, as bounds on identity and attribute risk."""

    name: str
    meaning: str
    bounds: tuple[Bound, ...]
    epsilon: Bound
    """The bound on a differentially private release, instead of the others, which count records of groups."""

    def bounds_on(self, map_: Map) -> tuple[Bound, ...]:
        """Return the bounds that apply to a map."""
        return self.bounds_of(map_.study, bool(map_.about.get("sensitive", True)))

    def bounds_of(self, study: Study, sensitive: bool) -> tuple[Bound, ...]:
        """Return the bounds that apply to a study; of persons the same number, and their largest share of a group."""
        applying = (bound for bound in self.bounds if MEASURES[bound.measure].is_said_of(study.section))
        size, *others = (bound for bound in applying if sensitive or not bound.measure.startswith("l_"))
        if study.unit != "persons" or size.measure != "k":
            return (size, *others)
        least, part = t("fit.persons_behind", size=size), t("fit.no_person", size=size)
        return (replace(size, reason=least), Bound("prosecutor", "max", 1 / size.value, part), *others)

    def requirement(self, sensitive: Sequence[str], persons: bool = False) -> str:
        """Return the bounds as a requirement on a table with these sensitive columns."""
        (k,) = (bound.value for bound in self.bounds if bound.measure == "k")
        parts = [f"k-anonymity k={k:g}{f' share={floor(1e4 / k) / 1e4:g}' if persons else ''}"]
        for bound in self.bounds:
            family, _, variant = bound.measure.partition("_")
            on = [f' on="{name.replace(chr(34), chr(34) * 2)}"' if len(sensitive) > 1 else "" for name in sensitive]
            parts += [f"l-diversity l={bound.value:g} variant={variant}{each}" for each in on if family == "l"]
        return " & ".join(parts)

    def fitness(
        self,
        map_: Map,
        point: Point,
        measures: Mapping[str, float] | None = None,
        given: Sequence[Bound] = (),
        allow: Collection[str] = (),
    ) -> Fitness:
        """Judge a release by the bounds, except those that `given` ones replace.

        With `allow=["exact"]` the k of exact quasi-identifiers is not bounded, but the size of their groups.
        """
        known = point.measures if measures is None else measures
        bounds = self.bounds_on(map_)
        if point.is_noisy:
            bounds = (self.epsilon,)
        elif EXACT in allow and shows_exact(point):
            sizes = [replace(bound, measure="smallest_group") for bound in bounds if bound.measure == "k"]
            bounds = (*sizes, *(bound for bound in bounds if bound.measure not in ("k", "prosecutor")))
        replaced = {(bound.measure, bound.side) for bound in given}
        bounds = tuple(bound for bound in bounds if (bound.measure, bound.side) not in replaced)
        against = (
            t("fit.asked", bound=bound, column=_worst_column(point, bound), measures=known[bound.measure])
            for bound in bounds
            if bound.measure in known and bound.outside(known[bound.measure])
        )
        return Fitness(bounds, tuple(against), tuple(b.measure for b in bounds if b.measure not in known))


def _worst_column(point: Point, bound: Bound) -> str:
    """Name the sensitive column that violates a bound most, if there are several."""
    values = {name: each[bound.measure] for name, each in point.by_sensitive.items() if bound.measure in each}
    if len(values) < 2:
        return ""
    worst = max(values, key=lambda name: bound.outside(values[name]))
    return t("fit.column", name=worst)


_ASKED: Mapping[str, Mapping[str, tuple[Side, float]]] = {
    "public": {"k": ("min", 11), "l_frequency": ("min", 2), "itemset_risk": ("max", 1 / 11)},
    "partner": {"k": ("min", 5), "itemset_risk": ("max", 1 / 5), "l_distinct": ("min", 2)},
    "internal": {"k": ("min", 3), "itemset_risk": ("max", 1 / 3), "l_distinct": ("min", 2)},
}
"""The bounds by recipient, the most careful first; the catalogue has their reasons."""

RECIPIENTS: dict[str, Recipient] = {
    name: Recipient(
        name,
        t(f"recipient.{name}"),
        tuple(Bound(measure, *bound, t(f"recipient.{name}_{measure}")) for measure, bound in bounds.items()),
        Bound("epsilon", "max", log(3), t("recipient.epsilon")),
    )
    for name, bounds in _ASKED.items()
}
