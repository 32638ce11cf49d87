"""How risky a table with items is as it stands: who is alone by the row, by items, and by both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.errors import SfumatoError
from sfumato.mixed.measures.attacks import Persons
from sfumato.mixed.measures.reader import MixedReader, Questions
from sfumato.mixed.mixed_table import MixedTable
from sfumato.mixed.study import MixedCandidate, MixedStudy
from sfumato.transactions.check import BasketProblem, ItemsCheck, lengths_of, of_study
from sfumato.transactions.measures.attacks import Linking

MOST_KNOWN = 3


@dataclass(frozen=True, repr=False)
class MixedCheck(ItemsCheck):
    """What is said of a table with items as it stands."""

    table: str
    records: int
    quasi: tuple[str, ...]
    column: str
    items: int
    tree: bool
    empty: int
    lengths: Mapping[str, float]
    """Items of a record: the mean, the median and the most."""

    below: int
    """Fewer records that fit than this are too few."""

    alone_by_quasi: float
    few_by_quasi: float
    """The share of persons whom only their own record fits, and fewer than `below`, by the quasi-identifiers."""

    alone_by_items: Mapping[int, float]
    few_by_items: Mapping[int, float]
    """The same by so many random items."""

    alone_by_both: Mapping[int, float]
    few_by_both: Mapping[int, float]
    """The same by the quasi-identifiers and so many random items."""

    notices: tuple[str, ...] = ()
    study: str | None = None
    candidates: int = 0
    problems: tuple[BasketProblem, ...] = ()


def check_mixed(data: MixedTable, study: MixedStudy | None = None) -> MixedCheck:
    """Say how risky a table with items is as it stands, and which candidates of a study cannot be made."""
    linking = Linking() if study is None else study.scales.linking
    reader, everybody = MixedReader.of_data(data), replace(linking, persons=max(linking.persons, 1))
    by_items: dict[int, Any] = {}
    by_both: dict[int, Any] = {}
    for known in range(1, MOST_KNOWN + 1):
        persons = Persons.drawn(data, everybody, known)
        kept = [number for number, items in enumerate(persons.items) if items]
        asked = [persons.items[number] for number in kept]
        by_items[known] = reader.fitting(Questions.of_items(data, asked)) if kept else np.zeros(0, np.int64)
        by_both[known] = reader.fitting(persons.questions(data, range(len(persons.items)), persons.items, True))
    points = data.cells.points.counts
    return MixedCheck(
        table=data.origin,
        records=data.records,
        quasi=tuple(quasi.name for quasi in data.cells.quasi),
        column=data.column,
        items=len(data.baskets.items),
        tree=data.baskets.tree is not None,
        empty=data.baskets.size - data.baskets.filled,
        lengths=lengths_of(data.baskets),
        below=linking.below,
        alone_by_quasi=float(points[points == 1].sum() / data.records),
        few_by_quasi=float(points[points < linking.below].sum() / data.records),
        alone_by_items={known: _share(fits, 2) for known, fits in by_items.items()},
        few_by_items={known: _share(fits, linking.below) for known, fits in by_items.items()},
        alone_by_both={known: _share(fits, 2) for known, fits in by_both.items()},
        few_by_both={known: _share(fits, linking.below) for known, fits in by_both.items()},
        notices=data.notices,
        **({} if study is None else of_study(study, data, lambda candidate: _reason(candidate, data))),
    )


def _share(fits: Any, below: int) -> float:
    return float((fits < below).mean()) if len(fits) else 0.0


def _reason(candidate: MixedCandidate, data: MixedTable) -> str | None:
    """Say why a candidate cannot be made, where that is known without making it."""
    try:
        candidate.check(data)
    except SfumatoError as error:
        return str(error)
    if data.records < candidate.requirement.k:
        return f"there are only {data.records:,} records, so k can be at most {data.records:,}"
    return None
