"""What a release does not protect against, said of this very release: the honest part of a certificate.

Texts are for everybody: whether one is said, and what it says, follows from the settings and from the published groups
alone. What needs the table, and how much there is of it, stands in `count` and is for the publisher.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from math import isfinite

import numpy as np

from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.data.cells import Histograms, Sensitive
from sfumato.data.hierarchies.hierarchy import read_number
from sfumato.release.changes import ends_of_single_records
from sfumato.release.release import Release, widened
from sfumato.requirements.requirement import Requirement
from sfumato.texts.format import counted, ended, listed


@dataclass(frozen=True)
class Caution:
    """One thing that a release does not protect against."""

    about: str
    text: str
    """For everybody: says nothing that cannot be read off the file."""

    count: str = ""
    """For the publisher: how much of it there is in this release."""


IDENTITY = (
    "The exact quasi-identifiers stand in this file. It does not hide who is in the table; it only loosens the link to "
    "the sensitive values. The size of a bucket is not k-anonymity."
)
"""Of what is in buckets."""


def cautions(release: Release, requirement: Requirement, maker: Anonymizer) -> list[Caution]:
    """List what this release does not protect against; its maker says what can be reasoned from how it was made."""
    return [
        *_identity(release),
        *_sensitive(release, requirement),
        *_target(release, maker.decided_by),
        *_stop(maker.stops_at),
        *_dealing(release, maker.dealing),
        *_ranges(release, maker),
        *_always(release, requirement),
    ]


def found_first(cautions: Iterable[Caution]) -> list[Caution]:
    """Put first what was found in a release: for the publisher, since the order tells what was."""
    return sorted(cautions, key=lambda caution: caution.count == "")


def _identity(release: Release) -> Iterator[Caution]:
    if release.form == "bucketization":
        unique = int((release.quasi_counts == 1).sum())
        yield Caution(
            "identity",
            IDENTITY,
            f"{counted(unique, 'combination')} of quasi-identifiers occur once" if unique else "",
        )
    elif release.histograms is None:
        yield Caution("identity", "The exact quasi-identifiers stand in this file; only sensitive values do not.")
    elif release.is_exact:
        yield Caution(
            "identity",
            "The exact quasi-identifiers stand in this file beside the sensitive values: nothing was generalized. "
            "All that hides a person is who else has the same ones.",
        )
    yield Caution(
        "membership",
        "Whoever knows the quasi-identifiers of a person can judge whether the person is in the table: a combination "
        "that no published box covers is not, or was suppressed. Only differential privacy limits this.",
    )


def _sensitive(release: Release, requirement: Requirement) -> Iterator[Caution]:
    histograms = release.histograms
    if histograms is None or not histograms.sensitive:
        return
    for place, attribute in enumerate(histograms.sensitive):
        yield from _unique_numbers(attribute, histograms, place)
        yield from _homogeneity(attribute, histograms, place)
        yield from _similarity(attribute, histograms, place)
    yield from _undeclared_similarity(histograms.sensitive)
    yield from _skewness(histograms, requirement)
    if len(histograms.sensitive) > 1:
        names = listed([attribute.name for attribute in histograms.sensitive])
        yield Caution(
            "several sensitive columns",
            f"Each requirement speaks of one column. The columns {names} stay together in a row: who knows one of a "
            "person's values may learn the others.",
        )


def unique_numbers(attribute: Sensitive, histograms: Histograms, place: int) -> int:
    """Count the published numbers of a sensitive column that stand in one record each."""
    once = histograms.of(place).sum(axis=0) == 1
    return sum(isfinite(read_number(label)) for label, alone in zip(attribute.labels, once, strict=True) if alone)


def _unique_numbers(attribute: Sensitive, histograms: Histograms, place: int) -> Iterator[Caution]:
    if unique := unique_numbers(attribute, histograms, place):
        yield Caution(
            "single values",
            f"Some numbers of {attribute.name} stand in one row only: whoever knows such a number of a person finds "
            "that row.",
            f"{unique:,} of {counted(int(histograms.sizes.sum()), 'row')}",
        )


def _homogeneity(attribute: Sensitive, histograms: Histograms, place: int) -> Iterator[Caution]:
    alike = (histograms.of(place) > 0).sum(axis=1) == 1
    if alike.any():
        records = counted(int(histograms.sizes[alike].sum()), "record")
        yield Caution(
            "homogeneity",
            f"There are groups in which all records have the same {attribute.name}: whoever is known to be in such a "
            "group, that value is known of, whatever the size of the group.",
            f"{counted(int(alike.sum()), 'group')}, {records}",
        )


def _similarity(attribute: Sensitive, histograms: Histograms, place: int) -> Iterator[Caution]:
    """Find groups whose values differ and yet lie all under one node below the root.

    A hierarchy that was made of the table's values depends on all of them, so then nothing is said of what it finds.
    """
    hierarchy = attribute.hierarchy
    if hierarchy.observed or hierarchy.height < 2:
        return
    parents = hierarchy.ancestors[-2][attribute.leaves]
    present = histograms.of(place) > 0
    families = np.stack([present[:, parents == node].any(axis=1) for node in np.unique(parents)], axis=1)
    alike = (families.sum(axis=1) == 1) & (present.sum(axis=1) > 1)
    if alike.any():
        yield Caution(
            "similarity",
            f"There are groups whose values of {attribute.name} differ but lie under one node of its hierarchy: what "
            "they have in common is known of everybody in the group.",
            counted(int(alike.sum()), "group"),
        )


def _undeclared_similarity(sensitive: Iterable[Sensitive]) -> Iterator[Caution]:
    """Name the columns in which nothing was declared by which values are similar."""
    if observed := [attribute.name for attribute in sensitive if attribute.hierarchy.observed]:
        yield Caution(
            "similarity",
            f"Values of {listed(observed)} that differ may still have something in common, which is then known of "
            "everybody in the group. Nothing was declared by which to look for that.",
        )


def _skewness(histograms: Histograms, requirement: Requirement) -> Iterator[Caution]:
    """Name the columns whose distribution in a group nothing bounds, and the one that differs most from the table."""
    bounding = [p for p in requirement.parts if p.name in ("t-closeness", "beta-likeness", "delta-disclosure")]
    gains = {
        attribute.name: float((histograms.of(place) / histograms.sizes[:, None] / attribute.shares).max())
        for place, attribute in enumerate(histograms.sensitive)
        if not any(part.on in (None, attribute.name) for part in bounding)
    }
    if not gains:
        return
    worst = max(gains, key=lambda name: gains[name])
    column = f" ({worst})" if len(gains) > 1 else ""
    yield Caution(
        "skewness",
        f"Nothing was required of how far a group's distribution of {listed(gains)} may lie from the table's: a rare "
        "value can be much more likely in a group than in the table.",
        f"up to {gains[worst]:.3g} times as likely{column}" if gains[worst] > 1.5 else "",
    )


def _target(release: Release, target: str | None) -> Iterator[Caution]:
    """Say what it means that groups were formed to tell the values of a column apart."""
    if target is None:
        return
    if target in release.table.roles.sensitive:
        yield Caution(
            "target",
            f"Groups were formed so that {target} differs between them, as far as the requirement allows. That makes "
            f"{target} easier to predict, for a researcher and for whoever looks a person up; nothing but the "
            "requirement limits how sure that is. And where groups end depends on values of single records.",
        )
    elif target in release.table.roles.neutral:
        yield Caution(
            "target",
            f"Where groups end was decided looking at {target}, so it depends on the values of single records; that "
            f"is harmless as far as {target} itself is, which stands in the file.",
        )


def _stop(stop: str | None) -> Iterator[Caution]:
    """Say that a rule to stop is no promise."""
    if stop is not None:
        yield Caution(
            "stop",
            f"Cutting ended at groups beyond {stop} (Cormode et al. 2013). This is no promise: a group is cut as long "
            "as it satisfies this itself, so groups of this file may lie beyond it.",
        )


def _dealing(release: Release, dealing: str) -> Iterator[Caution]:
    """Say what the maker's way of dealing records to groups gives away, and of how many records."""
    if dealing:
        moved = int(release.details.get("exchanged", 0))
        sentence = (
            f"{counted(moved, 'record')} of {release.assignment.records:,} outside the bucket of most people like them"
        )
        yield Caution("dealing", dealing, sentence if moved else "")


def _ranges(release: Release, maker: Anonymizer) -> Iterator[Caution]:
    """Describe what the ends of published ranges reveal, where the anonymizer publishes ranges of groups.

    Cuts and limits that the publisher names may lie within bands; then ranges end there.
    """
    ranges = maker.ranges_of(release.table)
    if release.form == "bucketization":
        return
    of_groups = "ranges" in {each.name for each in fields(maker)}  # type: ignore[arg-type]
    rounded = widened(release.cells, release.boxes.lo, release.boxes.hi, "rounded")
    within_bands = any(
        (ends != own).any() for ends, own in zip(rounded, (release.boxes.lo, release.boxes.hi), strict=True)
    )
    if ranges == "tight" if of_groups else within_bands:
        yield Caution(
            "exact ends",
            "The ends of published ranges can be values of single records: a range of 20-61 says that somebody is 61. "
            "Where ranges meet can be the value of a record that was left out.",
            "; ".join(map(str, ends_of_single_records(release, ranges))),
        )
    elif of_groups and ranges == "rounded":
        yield Caution(
            "rounded ends",
            "The ends of ranges of numbers and dates are rounded outward to the first level of the hierarchy. A value "
            "that all records of a group share is exact, and each set of categories begins and ends with values that "
            "records have.",
        )


def _always(release: Release, requirement: Requirement) -> Iterator[Caution]:
    if any(part.about_sensitive for part in requirement.parts) and release.histograms is not None:
        yield Caution(
            "minimality",
            "Where to cut was decided looking at sensitive values, no more general than needed. Who knows the "
            "algorithm can sometimes reason from what was not done (minimality attack, Wong et al. 2007).",
        )
    yield Caution(
        "composition",
        "Another release about the same people, by whomever, can be joined with this one; the promise is about this "
        "file alone. `sfumato audit FILE --with EARLIER` says what two releases give away together.",
    )
    yield Caution(
        "background knowledge",
        "Who knows more of a person than the quasi-identifiers (a value the person does not have, a relative in the "
        "same group) can exclude records; the promise is about the quasi-identifiers.",
    )
    if release.table.roles.neutral:
        names = listed(release.table.roles.neutral)
        yield Caution(
            "neutral columns",
            f"{ended(f'Published as they are, and taken for harmless: {names}')} Their content was not judged.",
        )
    observed = [quasi.name for quasi in release.cells.quasi if quasi.hierarchy.observed]
    observed = observed if release.form == "generalization" else []
    if release.histograms is not None:
        binned = (each for each in release.histograms.sensitive if each.hierarchy.firsts != each.hierarchy.lasts)
        observed += [attribute.name for attribute in binned if attribute.hierarchy.observed]
    if observed:
        yield Caution(
            "automatic hierarchies",
            f"Which values and groups {listed(observed)} can have was taken from the table, records that were left out "
            "included, and not declared beforehand. Who knows how that is done can sometimes reason from where "
            "intervals begin, how wide they are and how they are written (20-29 or 20..<30), and which groups there "
            "are to a record that is not published.",
        )
