"""What a written file shows by itself: with the settings, all that a public certificate may be made of.

Nothing here looks at the table. So two tables that come out as the same file are told apart by nothing that leaves the
house, whatever was suppressed in either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sfumato.engines import Reading
from sfumato.evidence.counted import Source, open_published
from sfumato.publish.audit.audit import audit
from sfumato.publish.check_command import ReleasedColumns
from sfumato.release.changes import shown_in_file
from sfumato.release.writing import GROUP
from sfumato.requirements import Requirement, TCloseness, requirement

MEASURED = (
    "k",
    "smallest_group",
    "prosecutor",
    "marketer",
    "average_group",
    "weighted_k",
    "l_frequency",
    "l_distinct",
    "l_entropy",
    "l_recursive",
    "t_equal",
    "t_js",
    "delta",
    "beta",
    "p_loss",
    "p_loss_mean",
    "p_loss_median",
    "p_loss_95",
    "a_know",
    "a_acc",
    "information_gain",
)
"""Measures that everybody can work out from a file, Q being that of the file."""

OF_ROWS = ("smallest_group", "average_group")
"""Those that remain where persons were counted: a file alone shows rows, not whose they are."""

ORDERED = "t_ordered"
"""One more, where everybody sees the order of the values."""


@dataclass(frozen=True)
class FileAlone:
    """What a file shows by itself."""

    rows: int
    measures: Mapping[str, float]
    by_sensitive: Mapping[str, Mapping[str, float]]
    shares: Mapping[str, Mapping[str, float]]
    """Q of the file, for every sensitive column, the commonest value first."""

    kept: str | None
    """What was judged of the file: the parts asked for that it can confirm, each as strong as it keeps it if wanted."""

    asked: tuple[Requirement, ...]
    """What was asked for, part by part of `kept`."""

    confirmed: tuple[str, ...]
    """The parts of `kept` that the file confirms, relative to itself."""

    with_neutral: tuple[int, int] | None
    """Of groups by quasi-identifiers and neutral columns: the smallest, and how many rows are alone in theirs."""

    shown: Mapping[str, str]
    """How the file shows each quasi-identifier, in a few words."""


def read_alone(
    source: Path | pa.Table,
    columns: ReleasedColumns,
    form: str,
    parts: tuple[Requirement, ...],
    delimiter: str | None,
    escaped_formulas: bool = False,
    strongest: bool = False,
) -> FileAlone:
    """Audit a file without its original; `strongest` looks for the strongest requirement that it keeps."""
    asked = tuple(part for part in parts if judged_alone(part, columns))
    file = open_published(source, Reading(delimiter=delimiter, header=True, escaped=escaped_formulas))
    verdict = audit(
        file,
        columns.quasi,
        columns.sensitive,
        group=GROUP if form == "bucketization" else None,
        require=" & ".join(map(str, asked)) or None,
        suppressed="keep",
        strongest=strongest,
    )
    failing = {failure.requirement for failure in verdict.failures}
    kept = () if verdict.require is None else requirement(verdict.require).parts
    shares = {}
    for name in columns.sensitive:
        pairs = sorted(zip(*_texts(file, name), strict=True), key=lambda pair: (-pair[1], pair[0]))
        shares[name] = {text: number / verdict.records for text, number in pairs}
    return FileAlone(
        verdict.records,
        _measures(verdict.measures, columns.sensitive, columns),
        {name: _measures(measures, (name,), columns) for name, measures in verdict.by_sensitive.items()},
        shares,
        verdict.require,
        asked,
        tuple(text for part in kept if (text := str(part)) not in failing),
        verdict.with_neutral,
        {name: shown_in_file(*_texts(file, name)) for name in columns.quasi},
    )


def _texts(file: Source, name: str) -> tuple[list[str], list[int]]:
    """Count the texts of one column."""
    counted = file.count((name,))
    column = counted.columns[name]
    return [column.texts[code] for code in column.codes], counted.counts.tolist()


def judged_alone(part: Requirement, columns: ReleasedColumns) -> bool:
    """Say whether a part can be judged without a hierarchy and without whose the rows are: neither is published."""
    if columns.unit == "persons":
        return False
    if not isinstance(part, TCloseness) or part.distance in ("equal", "js"):
        return True
    about = (part.on,) if part.on is not None else columns.sensitive
    return part.distance == "ordered" and all(name in columns.ordered for name in about)


def _measures(measures: Mapping[str, float], sensitive: tuple[str, ...], columns: ReleasedColumns) -> dict[str, float]:
    if columns.unit == "persons":
        return {name: value for name, value in measures.items() if name in OF_ROWS}
    allowed = (*MEASURED, ORDERED) if all(name in columns.ordered for name in sensitive) else MEASURED
    return {name: value for name, value in measures.items() if name in allowed}
