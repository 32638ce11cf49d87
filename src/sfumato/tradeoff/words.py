"""Settings in words: what a point is, as a sentence that a person who knows no requirement by name can read.

Read from the texts of a point alone, so that a map read back from a file speaks the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.anonymizers import anonymizer
from sfumato.phrases import counted, listed, percent
from sfumato.requirements import requirement
from sfumato.tradeoff.map import Point

FORMS = {
    "generalization": "published as ranges",
    "bucketization": "published in buckets with exact quasi-identifiers",
}


def settings(point: Point) -> str:
    """Say in a sentence how a release is made.

    >>> settings(Point("1", "mondrian", "generalization", "k-anonymity k=10", {}, "measured"))
    'Mondrian, every group at least 10 records, published as ranges'
    """
    if point.words:
        return point.words
    maker = anonymizer(point.anonymizer)
    if maker.baseline:
        return maker.baseline
    if maker.noisy:
        return f"{maker.in_words()}: differential privacy, published as boxes with noisy counts"
    group = "bucket" if point.form == "bucketization" else "group"
    rules = [part.rule_in_words(group) for part in requirement(point.requirement).parts]
    parts = [maker.in_words(), *rules, FORMS[point.form]]
    left_out = float(point.parameters.get("suppress", 0))
    return ", ".join([*parts, f"at most {percent(left_out, 3)} of the records left out"] if left_out else parts)


def origin_in_words(name: str, about: Mapping[str, Any]) -> str:
    """Say where data came from, where that is known and not their name."""
    return "" if about.get("origin") in (None, name) else f" ({about['origin']})"


def size_in_words(about: Mapping[str, Any]) -> str:
    """Say how many records there are, exactly or as far as that may be said, with a comma behind; or nothing."""
    size = counted(int(about["records"]), "record") if "records" in about else about.get("size", "")
    return f"{size}, " if size else ""


def studied_table(name: str, about: Mapping[str, Any]) -> str:
    """Say which table a map is about: its records, what an outsider may know, what nobody should learn."""
    quasi, sensitive = list(about.get("quasi", ())), list(about.get("sensitive", ()))
    text = (
        f"the table {name}{origin_in_words(name, about)} were tried: {size_in_words(about)}"
        f"{counted(len(quasi), 'quasi-identifier')} an outsider may know ({listed(quasi)})"
    )
    return text + (f", and the sensitive {listed(sensitive)} nobody should learn. " if sensitive else ". ")
