"""What a reader of an audit must know to understand its numbers, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from sfumato.auditing.missing_values import GENEROUS, Matching
from sfumato.auditing.profile import Baseline, Profile
from sfumato.auditing.published_file import EMPTY, EMPTY_SHOWN, Counted
from sfumato.auditing.question import AuditQuestion, PublishedAttribute
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.look_alikes import ascii_where_unclear, find_look_alikes
from sfumato.texts.catalogue import t

MOST_SHOWN = 5
"""How many values a sentence names."""


def star_notices(asked: AuditQuestion, plain: Counted, left_out: int) -> list[str]:
    """Say what rows that show nothing were taken for."""
    if left_out:
        return [t("audit_notice.stars_left_out", left_out=left_out, of=left_out + plain.records)]
    stars = int(plain.counts[plain.all_stars(asked.quasi)].sum())
    if not stars:
        return []
    if asked.suppressed == "keep":
        return [f"rows with * in all quasi-identifiers ({stars:,}) were kept as a group, as asked"]
    if stars == plain.records:
        return ["every row shows * in all quasi-identifiers: this was taken for one group, not for suppressed records"]
    return [t("audit_notice.stars_counted", stars=stars, records=plain.records)]


def empty_notices(asked: AuditQuestion, plain: Counted, attributes: Mapping[str, PublishedAttribute]) -> list[str]:
    """Say where missing values and empty texts are told apart, and where they are not."""
    notices = [
        t("audit_notice.empty_texts", name=name, empty_shown=EMPTY_SHOWN)
        for name in dict.fromkeys((*asked.quasi, *asked.grouping))
        if EMPTY in plain.columns[name].texts
    ]
    for name, attribute in attributes.items():
        missing = "" in attribute.counted.columns[name].texts
        if missing and EMPTY in asked.file.count((name,)).columns[name].texts:
            notices.append(f"sensitive column {name!r}: missing values and empty texts were counted as one value")
    return notices


def missing_notices(asked: AuditQuestion, plain: Counted, matching: Matching | None) -> list[str]:
    """Say what is read into missing values."""
    if asked.missing == "value":
        return []
    if matching is None:
        return ["no record misses a quasi-identifier, so --missing any changes nothing"]
    if asked.group is not None:
        return [GENEROUS]
    rest = "smallest_group, average_group, weighted_k and discernibility"
    rest += f", and what groups tell of {', '.join(asked.sensitive)}" if asked.sensitive else ""
    return [GENEROUS, f"{rest} are not given: records that match one record need not match each other"]


def notices_of(
    asked: AuditQuestion, attributes: Mapping[str, PublishedAttribute], given: Mapping[str, Hierarchy]
) -> list[str]:
    """Say what a reader must know to understand the numbers."""
    notices = []
    if asked.original is None:
        notices.append("without the original, Q is the distribution of the file itself (--original gives the true one)")
    if asked.group is not None:
        notices.append(t("audit_notice.buckets", group=asked.group))
    for name, attribute in attributes.items():
        assert attribute.profile is not None
        notices += _value_notices(attribute.profile.baseline)
        notices += name_look_alikes(name, attribute.texts, asked.judges_values)
        notices += name_unknown_values(name, attribute.profile) if asked.judges_values else []
    unknown = [
        name
        for name in asked.file.engine.columns
        if name not in (*asked.quasi, *asked.sensitive, *asked.neutral, *asked.apart, asked.group)
    ]
    if unknown:
        notices.append(t("audit_notice.no_role", unknown=", ".join(unknown)))
    return notices


def _value_notices(compared: Baseline) -> list[str]:
    notices = []
    if compared.known == 1:
        only = compared.values[int(np.flatnonzero(compared.counts)[0])]
        notices.append(f"sensitive column {compared.name!r} has one value only ({only!r}): everybody has it")
    elif compared.order != "the hierarchy":
        how = "as numbers" if compared.order == "number" else "as text"
        notices.append(f"t_ordered takes the values of {compared.name!r} {how} in rising order (it has no hierarchy)")
    strange = [value for value, count in zip(compared.values, compared.counts, strict=True) if count == 0]
    if strange:
        examples = ", ".join(map(repr, strange[:MOST_SHOWN]))
        notices.append(f"sensitive column {compared.name!r} has values that no original record has: {examples}")
    return notices


def name_look_alikes(name: str, texts: Iterable[str], gate: bool) -> list[str]:
    """Name the sensitive values that look alike: as a gate the audit counts them as one value."""
    alike = find_look_alikes(texts)
    if not alike:
        return []
    examples = "; ".join(", ".join(map(ascii_where_unclear, values[:MOST_SHOWN])) for values in alike[:MOST_SHOWN])
    more = "" if len(alike) <= MOST_SHOWN else f"; and {len(alike) - MOST_SHOWN:,} other sets"
    if gate:
        return [f"sensitive column {name!r}: values that look alike were counted as one ({examples}{more})"]
    return [t("audit_notice.look_alikes", name=name, examples=examples, more=more)]


def name_unknown_values(name: str, profile: Profile) -> list[str]:
    """Say how many sensitive values the file leaves open, and how a requirement reads them."""
    rows = int(profile.count[profile.open].sum())
    if not rows:
        return []
    return [t("audit_notice.open_values", name=name, rows=rows)]
