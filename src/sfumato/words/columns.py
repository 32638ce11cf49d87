"""What was done to each column, in one sentence: computed from the release, and said wherever a release is."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.phrases import counted, ended, listed, percent
from sfumato.release.changes import UNCHANGED
from sfumato.texts.catalogue import t
from sfumato.tradeoff import Map, Point
from sfumato.words.points import found_sentences


def changes_sentence(changes: Mapping[str, str], suppressed: float = 0, records: int | None = None) -> str:
    """Say what was done to each column, those that were changed first, and how many records were left out.

    >>> changes_sentence({"ZIP": "to 2 digits", "sex": "unchanged", "birth": "by decade"}, 13, 1000)
    'ZIP to 2 digits; birth by decade; sex unchanged; 1.3 % of the records left out.'
    """
    changed = [f"{column} {what}" for column, what in changes.items() if what != UNCHANGED]
    same = [column for column, what in changes.items() if what == UNCHANGED]
    parts = changed + ([f"{listed(same)} {UNCHANGED}"] if same else [])
    if suppressed:
        some = percent(suppressed / records) + t("release.records") if records else counted(int(suppressed), "record")
        parts.append(t("release.left_out", some=some))
    return ended("; ".join(parts)) if parts else ""


def done_sentence(map_: Map, point: Point) -> str:
    """Say what was done to each column in the release of a point; nothing where the map does not know."""
    if point.brought is not None:
        changed = changes_sentence(point.changes, point.measures.get("suppressed", 0), map_.about.get("records"))
        return " ".join([*found_sentences(point), *([changed] if changed else [])])
    if point.is_noisy:
        return t("release.no_record")
    if point.refused:
        return t("release.it", point=point)
    if not point.is_grouped:
        return t("release.records_stand")
    changed = changes_sentence(point.changes, point.measures.get("suppressed", 0), map_.about.get("records"))
    return " ".join([changed, *(t("release.warning", found=found) for found in point.details.get("ends", ()))])
