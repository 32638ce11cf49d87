"""What is claimed for a file that was made elsewhere, and whether the file shows it.

A requirement is judged on the groups of equal texts from the definitions (`evidence.decision`), Q being that of the
table, as the audit judges it. Differential privacy is a promise about how a file was drawn: nothing in it can show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from sfumato.anonymizers.foreign.rows import ReadRows
from sfumato.errors import BadInputError
from sfumato.evidence.counted import TextColumn
from sfumato.evidence.decision import Failure, failures
from sfumato.evidence.matching import Matching, misses_a_value
from sfumato.evidence.profile import Profile, baseline
from sfumato.phrases import counted, number
from sfumato.requirements import Requirement, requirement

Judgement = Literal["holds", "fails", "unchecked"]


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds of a file."""

    claim: str
    verdict: Judgement
    why: str
    """In a sentence; it tells no value of the table."""

    def values(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def epsilon_text(epsilon: float, delta: float | None) -> str:
    """Write a claim of differential privacy."""
    return f"differential privacy epsilon={number(epsilon)}" + ("" if delta is None else f" delta={delta:g}")


def epsilon_verdict(epsilon: float, delta: float | None) -> Verdict:
    """Say what can be said of a claim of differential privacy."""
    why = "It is a promise about how the file was drawn, and nothing that stands in a file can show it."
    return Verdict(epsilon_text(epsilon, delta), "unchecked", why)


def judged(claim: str, rows: ReadRows, people: bool) -> Verdict:
    """Judge a required property of groups on the rows of a file."""
    wanted = requirement(claim)
    if not people:
        why = "Its records stand for nobody, so groups of them say nothing of how people hide among each other."
        return Verdict(claim, "unchecked", why)
    if not rows.quasi:
        return Verdict(claim, "unchecked", "No quasi-identifier is in the file.")
    try:
        failed = _failures(wanted, rows)
    except BadInputError as error:
        return Verdict(claim, "unchecked", f"It cannot be checked on this file: {error}.")
    if not failed:
        return Verdict(claim, "holds", "Every group of rows that look alike satisfies it.")
    worst = failed[0]
    where = f"{counted(worst.groups, 'group')} of {worst.of:,} ({counted(worst.records, 'row')})"
    return Verdict(claim, "fails", f"{worst.requirement} fails in {where}; the file reaches {worst.achieved}.")


def _failures(wanted: Requirement, rows: ReadRows) -> list[Failure]:
    quasi = list(rows.quasi)
    if any(column.any_missing for column in rows.quasi.values()) and misses_a_value(rows.texts, quasi):
        return list(Matching.of(rows.texts, quasi).failures(wanted))
    group = rows.group[1]
    sizes = np.rint(np.bincount(group, rows.counted.counts)).astype(np.int64)
    return failures(wanted, profiles(rows), sizes, lambda column, place: {})


def profiles(rows: ReadRows) -> Mapping[str, Profile]:
    """Count the sensitive values of every group beside those of the table."""
    known = {}
    for attribute in rows.table.cells.sensitive:
        if attribute.name in rows.sensitive:
            column, labels = rows.sensitive[attribute.name], attribute.hierarchy.leaves
            labelled = column.column.called([labels[leaf] for leaf in column.leaves])
            every = TextColumn(tuple(attribute.labels), np.arange(attribute.size, dtype=np.int32))
            compared = baseline(attribute.name, every, attribute.counts, labelled.texts, attribute.hierarchy)
            known[attribute.name] = Profile.of(compared, labelled, rows.group[1], rows.counted.counts)
    return known


def people_alone(rows: ReadRows) -> int:
    """Count the rows that no other row looks like; where a missing value is any value, that no other row matches.

    Of a bucketization those that are alone in their bucket.
    """
    quasi = list(rows.quasi)
    if not quasi:
        return 0
    if any(column.any_missing for column in rows.quasi.values()) and misses_a_value(rows.texts, quasi):
        matching = Matching.of(rows.texts, quasi)
        return int(matching.records[matching.frequencies == 1].sum())
    sizes = np.rint(np.bincount(rows.group[1], rows.counted.counts))
    return int((sizes == 1).sum())
