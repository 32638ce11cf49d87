"""Settings in words: what a point is, as a sentence that a person who knows no requirement by name can read.

Read from the candidate of a point alone, so that a map read back from a file speaks the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.tradeoff.map import Point
from sfumato.tradeoff.study.study import Candidate

FORMS = {
    "generalization": "published as ranges",
    "bucketization": "published in buckets with exact quasi-identifiers",
}


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
    if maker.noisy:
        return f"{maker.in_words()}: differential privacy, published as boxes with noisy counts"
    group = "bucket" if point.form == "bucketization" else "group"
    rules = [part.rule_in_words(group) for part in candidate.requirement.parts]
    parts = [maker.in_words(), *rules, FORMS[point.form]]
    left_out = candidate.suppress
    return ", ".join([*parts, f"at most {_percent(left_out)} of the records left out"] if left_out else parts)


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


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def listed(names: list[str]) -> str:
    """Join names as a person would: `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def counted(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun: `1 record`, `2,000 records`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
