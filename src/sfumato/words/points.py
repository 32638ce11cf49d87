"""What is said of a point, its measures and what was studied, to a person who knows no requirement by name.

It is read from the candidate of a point alone, so that a map read back from a file speaks the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sfumato.measures import MEASURES
from sfumato.phrases import counted, listed, number
from sfumato.texts.catalogue import t
from sfumato.tradeoff import Candidate, Map, Point
from sfumato.tradeoff.public import PublicStudy

FORMS = {
    "generalization": "published as ranges",
    "bucketization": "published in buckets with exact quasi-identifiers",
}
ARROWS = "(^ higher is better, v lower is better)"
EXACT_VALUES = (
    "WARNING: the exact quasi-identifiers ARE in this file. It does not hide who is in the table; it only\n"
    "loosens the link to the sensitive values."
)


CLAIMS = {
    "holds": "it holds of the file",
    "fails": "it does not hold of the file",
    "unchecked": "it cannot be checked on the file",
}
"""What became of a claim."""

RIVALS = 3
"""How many releases that cannot be told apart are named."""


def settings(point: Point) -> str:
    """Say in a sentence how a release is made.

    >>> from sfumato import anonymizer, requirement
    >>> settings(Point("1", Candidate(anonymizer("mondrian"), requirement("k-anonymity k=10")), "measured"))
    'Mondrian, every group at least 10 records, published as ranges'
    """
    if point.words:
        return point.words
    candidate = point.candidate
    assert isinstance(candidate, Candidate)
    maker = candidate.anonymizer
    if maker.baseline:
        return maker.baseline
    if maker.shown_as:
        promise = t("release.differential_privacy") if maker.noisy else ""
        return t("release.published_as", maker=maker.in_words(), promise=promise, shown_as=maker.shown_as)
    group = "bucket" if point.form == "bucketization" else "group"
    parts = [maker.in_words(), *(part.rule_in_words(group) for part in candidate.requirement.parts), FORMS[point.form]]
    if candidate.suppress:
        parts.append(t("release.most_records", candidate=candidate))
    return ", ".join(parts)


def claim_sentence(point: Point) -> str:
    """Say what is claimed for a release, and what the file says to it; nothing where nothing is claimed.

    >>> from sfumato import anonymizer, requirement
    >>> candidate = Candidate(anonymizer("brought file=arx.csv"), requirement("k-anonymity k=1"))
    >>> found = {"claim": "k-anonymity k=5", "verdict": "holds", "why": "Every group satisfies it."}
    >>> claim_sentence(Point("1", candidate, "measured", brought=found))
    'Claimed: k-anonymity k=5; it holds of the file. Every group satisfies it.'
    """
    findings = point.brought or {}
    if "claim" not in findings:
        return ""
    return t("release.claimed", claim=findings["claim"], claims=CLAIMS[findings["verdict"]], why=findings["why"])


def found_sentences(point: Point) -> list[str]:
    """Say everything that was found of a release that was made elsewhere, first why it may not be published."""
    findings = point.brought
    if findings is None:
        return []
    refused = t("release.it", point=point) if point.refused else ""
    notices = [f"{notice[:1].upper()}{notice[1:]}." for notice in findings["notices"]]
    return [sentence for sentence in (refused, claim_sentence(point), *findings["cautions"], *notices) if sentence]


def foreign_lines(map_: Map) -> Iterator[str]:
    """Say of every release of a map that was made elsewhere what became of it."""
    for point in map_.points:
        if point.candidate.anonymizer.foreign:
            name = f"{point.id}, {point.words.partition(';')[0]}"
            if point.status == "measured":
                yield " ".join([f"{name}.", *found_sentences(point)])
            else:
                yield f"{name}: {point.status}, {point.reason}."


def studied(map_: Map) -> str:
    """Say what was studied, behind `N candidate releases of`; what is not known of it is not said."""
    study, about = map_.study, map_.about
    section, size = study.section, counted(int(about["records"]), "record") if "records" in about else ""
    if isinstance(study, PublicStudy):
        section, size = study.studied, study.size
    origin = "" if about.get("origin") in (None, study.name) else f" ({about['origin']})"
    size = f"{size}, " if size else ""
    if section == "items":
        columns, held = _columns(about), _held(about)
        return t("release.table_items", study=study, origin=origin, size=size, columns=columns, held=held)
    tried = t("release.tried", section=section, study=study, origin=origin, size=size)
    return tried + (_items(about) if section == "baskets" else _columns(about))


def _columns(about: Mapping[str, Any]) -> str:
    """Say what an outsider may know, and what nobody should learn."""
    quasi, sensitive = about.get("quasi", ()), about.get("sensitive", ())
    text = t("release.outsider_may", quasi=len(quasi), quasi2=quasi)
    return text + (t("release.sensitive_nobody", sensitive=sensitive) if sensitive else ". ")


def _held(about: Mapping[str, Any]) -> str:
    """Say what every record has beside its columns."""
    return t("release.every_record", items=_items(about).removeprefix("each ")) if "items" in about else ""


def _items(about: Mapping[str, Any]) -> str:
    items = t("release.some", items=int(about["items"])) if "items" in about else "items"
    return t("release.each_set", items=items) + (t("release.lie_tree") if about.get("tree") else ". ")


def measure_lines(
    measures: Mapping[str, float],
    sentences: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> list[str]:
    """Write measures in their usual order: name, value, which way is better, what it says, or else what it means.

    `columns` names the column that a measure is about, in brackets.
    """
    meanings = {name: measure.meaning for name, measure in MEASURES.items()} | dict(sentences or {})
    meanings |= {name: f"{meanings[name]} ({column})" for name, column in (columns or {}).items() if name in meanings}
    return [
        f"  {name:22} {number(measures[name]):>12} {'^' if measure.better == 'higher' else 'v'} {meanings[name]}"
        for name, measure in MEASURES.items()
        if name in measures
    ]


def not_told_apart(points: Iterable[Point], point: Point, axes: Sequence[str]) -> list[Point]:
    """List the releases that are not shown to be worse than a point: on no axis, as far as intervals tell.

    Workloads of queries and noise are drawn, so some measures have intervals; where these meet, who is ahead is chance.
    On an axis a release is worse where its whole interval is on the worse side of the point's; a measure without an
    interval is exact.
    """
    rivals = []
    for rival in points:
        if rival.id == point.id or rival.is_baseline or not rival.has(axes) or not point.has(axes):
            continue
        ahead = [_is_ahead(point, rival, name) for name in axes]
        if not any(by == "surely" for by in ahead) and "by chance" in ahead:
            rivals.append(rival)
    return rivals


def _is_ahead(point: Point, rival: Point, name: str) -> str:
    """Say whether a point is ahead of another by a measure: surely, by chance (their intervals meet), or not at all."""
    mine, theirs = ((each.intervals.get(name) or (each.measures[name],) * 2) for each in (point, rival))
    higher = MEASURES[name].better == "higher"
    if (mine[0] > theirs[1]) if higher else (mine[1] < theirs[0]):
        return "surely"
    by_value = point.measures[name] > rival.measures[name] if higher else point.measures[name] < rival.measures[name]
    return "by chance" if by_value else "no"


def alike_sentences(points: Iterable[Point], point: Point, axes: Sequence[str]) -> list[str]:
    """Say which releases are behind a point by no more than the draw; nothing where there are none."""
    rivals = not_told_apart(points, point, axes)
    if not rivals:
        return []
    drawn = [name for name in axes if name in point.intervals]
    named = listed([f"{rival.id} ({settings(rival)})" for rival in rivals[:RIVALS]])
    more = t("release.more", rivals=len(rivals) - RIVALS) if len(rivals) > RIVALS else ""
    by = t("release.of", drawn=drawn) if drawn else ""
    return [t("release.intervals_do", by=by, named=named, more=more)]
