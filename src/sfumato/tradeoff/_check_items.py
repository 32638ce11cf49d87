"""Risks of unanonymized records with items: which are unique by items, by quasi-identifiers, and by both."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sfumato.data.dataset import MixedTable
from sfumato.data.declaration import ITEMS
from sfumato.data.items import Baskets
from sfumato.errors import SfumatoError
from sfumato.measures.group_risk import THRESHOLDS
from sfumato.measures.items.estimates import BasketReader, MixedReader, Questions
from sfumato.measures.items.linking import Linking, Persons
from sfumato.release._itemsets import Rows, Spread, itemset_spread, weakest
from sfumato.runtime.arrays import RedactedRepr
from sfumato.texts.catalogue import counted
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.study import Study

MOST_KNOWN = 4
MOST_KNOWN_BESIDE = 3
"""The largest number of known items of a person, in addition to the quasi-identifiers."""

SHOWN = 8


@dataclass(frozen=True)
class BasketProblem:
    """A candidate of a study that cannot be made."""

    candidate: str
    reason: str


@dataclass(frozen=True, repr=False, kw_only=True)
class ItemsCheck(RedactedRepr):
    """A check of records with items before anonymization, and of a study of them."""

    records: int
    unit: str
    """The counted unit of items: records, or persons where one may have several."""

    items: int
    tree: bool
    empty: int
    lengths: Mapping[str, float]
    """Items per record: mean, median and maximum."""

    notices: tuple[str, ...]
    study: str | None = None
    candidates: int = 0
    problems: tuple[BasketProblem, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether every candidate of the study is feasible, as far as this is known beforehand."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values."""
        return asdict(self)


@dataclass(frozen=True, repr=False, kw_only=True)
class BasketCheck(ItemsCheck):
    """A check of baskets before anonymization."""

    baskets: str
    known: int
    rare_items: Mapping[int, int]
    """By threshold, the number of items that fewer persons have."""

    rare_sets: Mapping[int, float]
    """By threshold, the share of occurring sets of up to `known` items that fewer persons have."""

    attacked: int
    """Persons drawn at random for the next two fields."""

    alone: Mapping[int, float]
    """By number of known random items of a record, the share of persons who match no other person."""

    below: Mapping[int, float]
    """The same for records that match fewer than five."""

    weakest: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, repr=False, kw_only=True)
class MixedCheck(ItemsCheck):
    """A check of a table with items before anonymization."""

    table: str
    quasi: tuple[str, ...]
    column: str
    below: int
    """A record with fewer matching records than this is at risk."""

    alone_by_quasi: float
    few_by_quasi: float
    """Shares of persons whom one record matches, and fewer than `below`, by the quasi-identifiers."""

    alone_by_items: Mapping[int, float]
    few_by_items: Mapping[int, float]
    """The same by number of known random items."""

    alone_by_both: Mapping[int, float]
    few_by_both: Mapping[int, float]
    """The same by the quasi-identifiers and the known random items."""


def check_items(
    data: Baskets | MixedTable, study: Study | None = None, known: int = 2, tries_candidates: bool = True
) -> ItemsCheck:
    """Measure the risk of unanonymized records with items, and list the infeasible candidates of a study.

    The scales of the study define the attacker.
    """
    baskets = data.baskets if isinstance(data, MixedTable) else data
    lengths = np.repeat(baskets.lengths, baskets.weights)
    shared: dict[str, Any] = {
        "records": baskets.size,
        "unit": baskets.unit,
        "items": len(baskets.items),
        "tree": baskets.tree is not None,
        "empty": int(baskets.weights[baskets.lengths == 0].sum()),
        "lengths": {"mean": float(lengths.mean()), "median": float(np.median(lengths)), "most": float(lengths.max())},
        "notices": data.notices,
    }
    if study is not None and tries_candidates:
        shared |= of_study(study, data)
    if isinstance(data, MixedTable):
        return _check_mixed(data, Linking() if study is None else study.scales.linking, shared)
    return _check_baskets(data, known if study is None else study.scales.known, shared)


def _check_baskets(baskets: Baskets, known: int, shared: Mapping[str, Any]) -> BasketCheck:
    """Measure the risk of unanonymized baskets."""
    rows = Rows.of_baskets(baskets)
    spread = itemset_spread(rows, known)
    reader, linking = BasketReader.of_baskets(baskets), Linking()
    fits = {n: reader.matches(linking.draw(baskets, n)) for n in range(1, MOST_KNOWN + 1)}
    rarest = weakest(rows, SHOWN) if known > 1 else [entry for entry in weakest(rows, SHOWN) if len(entry[1]) == 1]
    return BasketCheck(
        baskets=baskets.origin,
        known=known,
        rare_items={k: int((rows.singles < k).sum()) for k in THRESHOLDS},
        rare_sets={k: _below(spread, k) for k in THRESHOLDS},
        attacked=min(baskets.people.total, linking.persons),
        alone={n: float((counts == 1).mean()) if len(counts) else 0.0 for n, counts in fits.items()},
        below={n: float((counts < linking.below).mean()) if len(counts) else 0.0 for n, counts in fits.items()},
        weakest=tuple((n, tuple(baskets.items[code] for code in codes)) for n, codes in rarest),
        **shared,
    )


def _below(spread: Spread, k: int) -> float:
    total = int(spread.numbers.sum())
    return int(spread.numbers[spread.supports < k].sum()) / total if total else 0.0


def _check_mixed(data: MixedTable, linking: Linking, shared: Mapping[str, Any]) -> MixedCheck:
    """Measure the risk of an unanonymized table with items."""
    reader, everybody = MixedReader.of_data(data), replace(linking, persons=max(linking.persons, 1))
    by_items: dict[int, Any] = {}
    by_both: dict[int, Any] = {}
    for known in range(1, MOST_KNOWN_BESIDE + 1):
        persons = Persons.drawn(data, everybody, known)
        kept = [number for number, items in enumerate(persons.items) if items]
        asked = [persons.items[number] for number in kept]
        by_items[known] = reader.fitting(Questions.of_items(data, asked)) if kept else np.zeros(0, np.int64)
        by_both[known] = reader.fitting(persons.questions(data, range(len(persons.items)), persons.items, True))
    points = data.cells.points.counts
    return MixedCheck(
        table=data.origin,
        quasi=tuple(quasi.name for quasi in data.cells.quasi),
        column=data.column,
        below=linking.below,
        alone_by_quasi=float(points[points == 1].sum() / data.records),
        few_by_quasi=float(points[points < linking.below].sum() / data.records),
        alone_by_items={known: _share(fits, 2) for known, fits in by_items.items()},
        few_by_items={known: _share(fits, linking.below) for known, fits in by_items.items()},
        alone_by_both={known: _share(fits, 2) for known, fits in by_both.items()},
        few_by_both={known: _share(fits, linking.below) for known, fits in by_both.items()},
        **shared,
    )


def _share(fits: Any, below: int) -> float:
    return float((fits < below).mean()) if len(fits) else 0.0


def of_study(study: Study, data: Any) -> dict[str, Any]:
    """Check the scales of a study, and list each infeasible candidate with its reason."""
    problems = []
    try:
        study.scales.prepare(data).ready()
    except SfumatoError as error:
        problems.append(BasketProblem("[scales]", str(error)))
    for candidate in study.candidates:
        why = _reason(candidate, data)
        if why is not None:
            problems.append(BasketProblem(str(candidate), why))
    return {"study": study.name, "candidates": len(study.candidates), "problems": tuple(problems)}


def _reason(candidate: Candidate, data: Any) -> str | None:
    """Return the reason why a candidate is infeasible, if it is known without making it."""
    try:
        candidate.check(data)
    except SfumatoError as error:
        return str(error)
    k = candidate.requirement.k
    if candidate.has == ITEMS and data.filled < k and not candidate.limit.share:
        return f"only {counted(data.filled, data.unit)} have any item, so k can be at most {data.filled:,}"
    if candidate.has != ITEMS and data.records < k:
        return f"there are only {data.records:,} records, so k can be at most {data.records:,}"
    return None
