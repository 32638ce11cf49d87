"""Settings in words: what a point is, as a sentence that a person who knows no requirement by name can read.

Read from the texts of a point alone, so that a map read back from a file speaks the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp
from typing import Any

from sfumato.configuration import OPTION
from sfumato.requirements import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    Requirement,
    TCloseness,
    requirement,
)
from sfumato.tradeoff.map import Point

BASELINES = {
    "original": "The original table as it is: no loss, full risk",
    "without-quasi": "No quasi-identifier is published, only the sensitive values",
    "without-sensitive": "No sensitive value is published, only the exact quasi-identifiers",
}
MAKERS = {
    "mondrian": "Mondrian",
    "mode=relaxed": "equal records may be parted",
    "spread=width": "attributes of many values are cut first",
    "box=region": "whole regions",
    "publish=node": "whole nodes of the hierarchies",
    "cut=range": "cut in the middle of ranges",
    "cut=variance": "cut where values vary most",
    "cut=loss": "cut where the loss falls most",
    "cut=information-gain": "cut where most is learnt",
    "full-domain": "one level per column",
    "local-recoding": "a node for every group",
    "hilbert": "cut along a Hilbert curve",
    "anatomy": "Anatomy, buckets of different values",
    "sabre": "SABRE, every value in proportion",
    "burel": "BUREL, every value in proportion",
    "exchange": "records exchanged between buckets",
    "dp-kd-tree": "Private kd-tree",
    "dp-quadtree": "Private quadtree",
    "dp-kd-hybrid": "Private kd-tree above a quadtree",
    "dp-privtree": "PrivTree",
    "dp-grid": "Adaptive private grid",
}
FORMS = {
    "generalization": "published as ranges",
    "bucketization": "published in buckets with exact quasi-identifiers",
}
DISTANCES = {
    "equal": "half L1",
    "ordered": "earth mover's, ordered values",
    "hierarchical": "earth mover's, value hierarchy",
    "js": "Jensen-Shannon",
}


def settings(point: Point) -> str:
    """Say in a sentence how a release is made.

    >>> settings(Point("1", "mondrian", "generalization", "k-anonymity k=10", {}, "measured"))
    'Mondrian, every group at least 10 records, published as ranges'
    """
    if point.words:
        return point.words
    if point.anonymizer in BASELINES:
        return BASELINES[point.anonymizer]
    if point.is_noisy:
        return f"{maker(point.anonymizer)}: differential privacy, published as boxes with noisy counts"
    group = "bucket" if point.form == "bucketization" else "group"
    rules = [rule(part, group) for part in requirement(point.requirement).parts]
    parts = [maker(point.anonymizer), *rules, FORMS[point.form]]
    left_out = float(point.parameters.get("suppress", 0))
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


def maker(text: str) -> str:
    """Name an anonymizer and what is not usual about it."""
    name, *options = [found.group() for found in OPTION.finditer(text)]
    said = ", ".join(_option(option) for option in options)
    said = said.replace(", target=", " of ")
    return MAKERS.get(name, name) + (f" ({said})" if said else "")


def _option(text: str) -> str:
    """Say one option of an anonymizer."""
    key, _, value = text.partition("=")
    if key == "stop":
        return f"not cut further where beyond {value.strip(chr(34))}, which is no promise"
    return MAKERS.get(text, text)


def rule(part: Requirement, group: str = "group") -> str:
    """Say what one requirement asks of every group."""
    value, values = (
        (f"value of {part.on}", f"values of {part.on}") if part.on else ("sensitive value", "sensitive values")
    )
    match part:
        case KAnonymity(k=k):
            return f"every {group} at least {k:,} {'record' if k == 1 else 'records'}"
        case LDiversity():
            return _diversity(part, value, values, group)
        case TCloseness(t=t, distance=distance):
            return f"the {values} of every {group} within {t:g} of the whole table's ({DISTANCES[distance]})"
        case DeltaDisclosure(delta=delta, absent=absent):
            extra = "" if absent == "infinite" else f", values absent from a {group} not counted"
            return f"no {value} {exp(delta):.3g} times as frequent or as rare in a {group} as in the table{extra}"
        case BetaLikeness(beta=beta, variant=variant):
            extra = "" if variant == "basic" else ", frequent values less"
            return f"no {value} more than {1 + beta:g} times as frequent in a {group} as in the table{extra}"
        case AlphaK(alpha=alpha, k=k):
            return f"every {group} at least {k:,} records and no {value} above {_percent(alpha)} of a {group}"
    return str(part)


def _diversity(part: LDiversity, value: str, values: str, group: str) -> str:
    match part.variant:
        case "frequency":
            return f"no {value} above 1/{part.l:g} ({_percent(1 / part.l)}) of a {group}"
        case "distinct":
            return f"at least {part.l:g} different {values} in every {group}"
        case "entropy":
            return f"every {group} at least as diverse as {part.l:g} equally frequent {values}"
    return f"recursive ({part.c:g}, {part.l:g})-diversity of {values} in every {group}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def listed(names: list[str]) -> str:
    """Join names as a person would: `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def counted(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun: `1 record`, `2,000 records`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
