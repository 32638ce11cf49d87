"""How risky baskets are as they stand: rare items and pairs, and what happens to persons of whom items are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.errors import SfumatoError
from sfumato.measures.disclosure.group_risk import THRESHOLDS
from sfumato.quiet import Quiet
from sfumato.transactions.anonymizers.anonymizer import Task
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.measures.attacks import Linking
from sfumato.transactions.measures.itemsets import Rows, Spread, itemset_spread, weakest
from sfumato.transactions.measures.reader import BasketReader
from sfumato.transactions.study import BasketCandidate, BasketStudy

MOST_KNOWN = 4
SHOWN = 8


@dataclass(frozen=True)
class BasketProblem:
    """A candidate of a study that cannot be made."""

    candidate: str
    reason: str


class ItemsCheck(Quiet):
    """What is said of records with items as they stand, and of a study of them."""

    study: str | None
    candidates: int
    problems: tuple[BasketProblem, ...]
    items: int
    tree: bool
    empty: int
    lengths: Mapping[str, float]

    @property
    def valid(self) -> bool:
        """Whether every candidate of the study can be made, as far as that is known beforehand."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True, repr=False)
class BasketCheck(ItemsCheck):
    """What is said of baskets as they stand."""

    baskets: str
    records: int
    empty: int
    items: int
    tree: bool
    lengths: Mapping[str, float]
    """Items of a record: the mean, the median and the most."""

    known: int
    rare_items: Mapping[int, int]
    """By threshold, how many items fewer records have."""

    rare_sets: Mapping[int, float]
    """By threshold, which share of the sets of up to `known` items that occur fewer records have."""

    attacked: int
    """Records drawn at random for the two shares below."""

    alone: Mapping[int, float]
    """By the number of random items known of a record, the share of records that no other record fits."""

    below: Mapping[int, float]
    """The same for fewer than five records."""

    weakest: tuple[tuple[int, tuple[str, ...]], ...]
    notices: tuple[str, ...] = ()
    study: str | None = None
    candidates: int = 0
    problems: tuple[BasketProblem, ...] = ()


def check_baskets(baskets: Baskets, known: int = 2, study: BasketStudy | None = None) -> BasketCheck:
    """Say how risky baskets are as they stand, and which candidates of a study cannot be made."""
    rows = Rows.of_baskets(baskets)
    spread = itemset_spread(rows, known)
    reader, linking = BasketReader.of_baskets(baskets), Linking()
    fits = {n: reader.matches(linking.draw(baskets, n)) for n in range(1, MOST_KNOWN + 1)}
    rarest = weakest(rows, SHOWN) if known > 1 else [entry for entry in weakest(rows, SHOWN) if len(entry[1]) == 1]
    return BasketCheck(
        baskets=baskets.origin,
        records=baskets.size,
        empty=baskets.size - baskets.filled,
        items=len(baskets.items),
        tree=baskets.tree is not None,
        lengths=lengths_of(baskets),
        known=known,
        rare_items={k: int((baskets.supports < k).sum()) for k in THRESHOLDS},
        rare_sets={k: _below(spread, k) for k in THRESHOLDS},
        attacked=min(baskets.size, linking.persons),
        alone={n: float((counts == 1).mean()) if len(counts) else 0.0 for n, counts in fits.items()},
        below={n: float((counts < linking.below).mean()) if len(counts) else 0.0 for n, counts in fits.items()},
        weakest=tuple((n, tuple(baskets.items[code] for code in codes)) for n, codes in rarest),
        notices=baskets.notices,
        **({} if study is None else of_study(study, baskets, lambda candidate: _reason(candidate, baskets))),
    )


def _below(spread: Spread, k: int) -> float:
    total = int(spread.numbers.sum())
    return int(spread.numbers[spread.supports < k].sum()) / total if total else 0.0


def lengths_of(baskets: Baskets) -> dict[str, float]:
    """Say how many items records have: the mean, the median and the most."""
    lengths = np.repeat(baskets.lengths, baskets.weights)
    return {"mean": float(lengths.mean()), "median": float(np.median(lengths)), "most": float(lengths.max())}


def of_study(study: Any, data: Any, reason: Callable[[Any], str | None]) -> dict[str, Any]:
    """Say what of a study cannot be: its scales, where preparing them fails, and candidates, by the reason of each."""
    problems = []
    try:
        study.scales.prepare(data).ready()
    except SfumatoError as error:
        problems.append(BasketProblem("[scales]", str(error)))
    for candidate in study.candidates:
        why = reason(candidate)
        if why is not None:
            problems.append(BasketProblem(str(candidate), why))
    return {"study": study.name, "candidates": len(study.candidates), "problems": tuple(problems)}


def _reason(candidate: BasketCandidate, baskets: Baskets) -> str | None:
    """Say why a candidate cannot be made, where that is known without making it."""
    try:
        candidate.anonymizer.check_task(Task(baskets, candidate.requirement, candidate.utility, candidate.limit))
        if candidate.utility is not None:
            candidate.utility.blocks(baskets)
    except SfumatoError as error:
        return str(error)
    if baskets.filled < candidate.requirement.k and not candidate.limit.share:
        return f"only {baskets.filled:,} records have any item, so k can be at most {baskets.filled:,}"
    return None
