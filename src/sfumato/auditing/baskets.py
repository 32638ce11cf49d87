"""The audit of a published file of baskets, whoever made it.

It reads the file and counts in it, from the definitions: how many records show what an attacker may know. With the
original it also asks which items every published text stands for, whether the records can be those of the original,
and what was lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log2
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing._legend import Legend, legend_beside
from sfumato.auditing._published_items import PublishedBaskets, Shown, faults, labels_by_item, read_published
from sfumato.auditing.audit import Audit
from sfumato.auditing.coverage import Coverage
from sfumato.auditing.notation import set_members
from sfumato.config.options import check_whole
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.items import Baskets
from sfumato.errors import BadInputError
from sfumato.requirements.items import (
    BasketRequirement,
    CompleteKAnonymity,
    InferenceRequirement,
    KMAnonymity,
    PrivacyConstraints,
    basket_requirement,
)
from sfumato.runtime.arrays import Counts, Quiet
from sfumato.runtime.cancellation import look
from sfumato.texts.format import SMALLEST

EXAMPLES = 5
USUAL_KNOWN = 2


@dataclass(frozen=True, repr=False)
class RareSet(Quiet):
    """Published items that few records show together."""

    records: int
    items: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class BasketFailure(Quiet):
    """A requirement that does not hold, with the rarest counterexamples."""

    spoken: ClassVar[tuple[str, ...]] = ("requirement",)

    requirement: str
    sets: int
    """How many published sets (or baskets, or lines of known items) too few records show."""

    examples: tuple[RareSet, ...]
    fault: str = "in too few records"
    """What is wrong with them."""


def audit_baskets(
    file: str | Path | PublishedBaskets,
    require: str | None = None,
    original: Baskets | None = None,
    known: int | None = None,
    legend: Legend | None = None,
    local: bool = False,
    who: str | None = None,
    item: str | None = None,
    column: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    escaped_formulas: bool = False,
    memory: str | None = None,
    spill: str | None = None,
    lines: bool = False,
) -> Audit:
    """Measure any published file of baskets from what stands in it.

    `known` is how many items of a person an attacker knows: by default the m of the requirement, else two. `original`
    are the baskets it was made of (with their tree, where nodes of one are published). `legend` says which items a
    published text stands for where neither the text nor the tree does; if it is not given, the one that lies beside the
    file (`FILE.legend.json`) is read, unless it speaks of another file. `local` says
    that an item may be published in one way here and in another there: then less can be checked. A file with one item
    per row (`who`, `item`) is recognised by the names of its columns, unless every line is a record (`lines`).
    `escaped_formulas` says that the file was written with formulas escaped. Beyond `memory` it is counted on disk, in
    a private folder of `spill`.
    """
    read = (
        file
        if isinstance(file, PublishedBaskets)
        else read_published(file, who, item, column, separator, encoding, escaped_formulas, memory, spill, lines)
    )
    beside: tuple[str, ...] = ()
    if legend is None and not isinstance(file, PublishedBaskets):
        legend, beside = legend_beside(Path(file))
    wanted = None if require is None else basket_requirement(require)
    usual = wanted.m if isinstance(wanted, KMAnonymity) else USUAL_KNOWN
    known = usual if known is None else known
    check_whole("known", known, least=1)
    counted = {size: read.itemsets(size) for size in range(1, known + 1)}
    readings = None if original is None else stands_for(read.labels, original.items, original.tree, legend)
    if wanted is not None and wanted.names_items and readings is None:
        raise BadInputError(
            f"{wanted.name} speaks of items, and a published set must be read against all of them; "
            "give the original (--original)"
        )
    measures, listed = itemset_measures(counted), list[RareSet]()
    if isinstance(wanted, PrivacyConstraints):
        assert original is not None and readings is not None
        listed = _known_lines(read, wanted, original, readings)
        measures = {"protected_risk": 1 / min((line.records for line in listed), default=inf)} | measures
    coverage = None
    if original is not None and readings is not None:
        coverage = covered(read, original, readings, local)
        measures |= {} if local else losses(read, original, readings)
    return Audit(
        read.origin,
        read.records,
        measures,
        require,
        tuple(_failures(read, wanted, counted, original, readings, listed)),
        coverage,
        (*read.notices, *beside, *_notices(read)),
        has_items=True,
        published_items=len(read.labels),
        empty=read.empty,
        known=known,
        weakest=tuple(_weakest(read, counted)),
    )


Supports = Mapping[int, tuple[NDArray[np.int64], Counts]]


def itemset_measures(counted: Supports) -> dict[str, float]:
    """Turn the supports of all sets, by their size, into risks."""
    supports = np.sort(np.concatenate([np.zeros(0, np.int64), *(counts for _, counts in counted.values())]))
    if not len(supports):
        return {"itemset_risk": 0.0, "itemset_risk_99": 0.0, "itemset_risk_95": 0.0, "least_support": inf}

    def risk(share: str) -> float:
        """Leave out the rarest sets beyond a share of all."""
        return float(1 / supports[int(Fraction(len(supports)) * (1 - Fraction(share)))])

    return {
        "itemset_risk": float(1 / supports[0]),
        "itemset_risk_99": risk("0.99"),
        "itemset_risk_95": risk("0.95"),
        "least_support": float(supports[0]),
    }


def _weakest(read: PublishedBaskets, counted: Supports) -> list[RareSet]:
    rare = []
    for sets, supports in counted.values():
        for place in np.argsort(supports, kind="stable")[:EXAMPLES]:
            rare.append(RareSet(int(supports[place]), tuple(read.labels[code] for code in sets[place])))
    return sorted(rare, key=lambda rare_set: (rare_set.records, len(rare_set.items), rare_set.items))[:EXAMPLES]


def _notices(read: PublishedBaskets) -> Iterable[str]:
    if read.empty:
        yield f"{read.empty:,} of {read.records:,} records show nothing; nobody finds a person among them by an item"
    if read.alone:
        yield f"{read.alone:,} of {read.records:,} records show a basket that no other record shows"


# -- requirements ------------------------------------------------------------------------------------------------


def _failures(
    read: PublishedBaskets,
    wanted: BasketRequirement | None,
    counted: Supports,
    original: Baskets | None,
    readings: Mapping[str, frozenset[int]] | None,
    lines: Sequence[RareSet],
) -> Iterable[BasketFailure]:
    """Find what does not hold; `lines` are the listed sets of known items that some records fit."""
    many, fault = None, BasketFailure.fault
    if isinstance(wanted, KMAnonymity):
        counts = {size: counted[size] if size in counted else read.itemsets(size) for size in range(1, wanted.m + 1)}
        many = sum(int((supports < wanted.k).sum()) for _, supports in counts.values())
        rare = [rare_set for rare_set in _weakest(read, counts) if rare_set.records < wanted.k]
    elif isinstance(wanted, CompleteKAnonymity):
        rare = [RareSet(n, tuple(sorted(row))) for row, n in read.rows.items() if n < wanted.k]
    elif isinstance(wanted, PrivacyConstraints):
        rare = [line for line in lines if line.records < wanted.k]
    elif isinstance(wanted, InferenceRequirement):
        assert original is not None and readings is not None
        sizes = {label: _size(label, items, original) for label, items in readings.items()}
        rare = [RareSet(n, items) for n, items in faults(read, wanted, original, readings, sizes)]
        fault = "followed too surely by a sensitive item, or in too few records"
    else:
        return
    if rare:
        rare.sort(key=lambda rare_set: (rare_set.records, len(rare_set.items), rare_set.items))
        yield BasketFailure(str(wanted), len(rare) if many is None else many, tuple(rare[:EXAMPLES]), fault)


def _known_lines(
    read: PublishedBaskets, wanted: PrivacyConstraints, original: Baskets, readings: Mapping[str, frozenset[int]]
) -> list[RareSet]:
    """Count the records that fit the listed sets of known items; those that no record fits tell of nobody."""
    shows = labels_by_item(readings)
    counted: dict[frozenset[tuple[str, ...]], int] = {}
    fitting = []
    for itemset in wanted.itemsets(original):
        known = frozenset(shows[code] for code in itemset if code in shows)  # a suppressed item tells nothing
        if known and known not in counted:
            look()
            counted[known] = int(read.weights[read.rows_showing(known)].sum())
        if known and counted[known]:
            fitting.append(RareSet(counted[known], tuple(original.items[code] for code in itemset)))
    return fitting


# -- against the original ------------------------------------------------------------------------------------------


def stands_for(
    labels: Sequence[str], items: Sequence[str], tree: Hierarchy | None = None, legend: Legend | None = None
) -> dict[str, frozenset[int]]:
    """Say which items every published text stands for.

    It is in the legend, an item, a node of the tree, `*` for all items, or a set `{a, b}` (of other tools `(a, b)`).
    """
    place = {item: code for code, item in enumerate(items)}
    nodes: dict[str, frozenset[int]] = {}
    if tree is not None:
        for (lo, hi), name in tree.nodes.items():
            nodes.setdefault(name, frozenset(place[item] for item in tree.leaves[lo : hi + 1] if item in place))
    readings = {}
    for label in labels:
        if legend is not None and label in legend:
            readings[label] = frozenset(place[item] for item in legend[label] if item in place)
        elif label in place:
            readings[label] = frozenset([place[label]])
        elif label in nodes:
            readings[label] = nodes[label]
        elif label == "*":
            readings[label] = frozenset(place.values())
        else:
            text = "{" + label[1:-1] + "}" if label[:1] == "(" and label[-1:] == ")" else label
            members = [item for item, _ in set_members(text) or ()]
            readings[label] = frozenset(place[item] for item in members if item in place)
    return readings


def covered(
    read: PublishedBaskets, original: Baskets, readings: Mapping[str, frozenset[int]], local: bool = False
) -> Coverage:
    """Check that the records can be those of the original: exactly where every item is published in one way."""
    unread = [label for label, items in readings.items() if not items]
    if unread:
        rows = sum(n for row, n in read.rows.items() if any(label in row for label in unread))
        examples = tuple(f"{label!r} stands for no item of the original" for label in unread[:EXAMPLES])
        return Coverage("which items every published text stands for", True, rows, examples)
    if read.records != original.size:
        examples = (f"the file has {read.records:,} records, the original {original.size:,}",)
        return Coverage("the number of records", True, abs(read.records - original.size), examples)
    shown_as = None if local else _one_way(readings)
    if shown_as is None:
        return _each_label(read, original, readings)
    wanted: Counter[Shown] = Counter()
    for distinct, weight in enumerate(original.weights.tolist()):
        codes = original.codes[original.starts[distinct] : original.starts[distinct + 1]].tolist()
        wanted[frozenset(shown_as[code] for code in codes if code in shown_as)] += weight
    beyond = Counter(read.rows) - wanted
    examples = tuple(f"{{{', '.join(sorted(row))}}}" for row in sorted(beyond, key=sorted)[:EXAMPLES])
    checked = "every record of the original, published item by item, against the records of the file"
    return Coverage(checked, True, sum(beyond.values()), examples)


def _one_way(readings: Mapping[str, frozenset[int]]) -> dict[int, str] | None:
    """Return for every item what it is published as; None where some item is published in several ways."""
    label_of: dict[int, str] = {}
    for label, items in readings.items():
        for code in items:
            if code in label_of:
                return None
            label_of[code] = label
    return label_of


def _each_label(read: PublishedBaskets, original: Baskets, readings: Mapping[str, frozenset[int]]) -> Coverage:
    """Where items are published in several ways: no text may be shown by more records than have one of its items."""
    having: dict[int, set[int]] = {}
    row = np.repeat(np.arange(original.distinct), original.lengths)
    for code, place in zip(original.codes.tolist(), row.tolist(), strict=True):
        having.setdefault(code, set()).add(place)
    examples, beyond, records = [], 0, read.supports
    for label, items in readings.items():
        rows = set().union(*(having.get(code, set()) for code in items))
        most = int(original.weights[list(rows)].sum()) if rows else 0
        if records[label] > most:
            beyond += records[label] - most
            examples.append(f"{label!r} is shown by {records[label]:,} records, and {most:,} have one of its items")
    checked = "for every published text that no more records show it than have one of its items"
    return Coverage(checked, False, beyond, tuple(examples[:EXAMPLES]))


def losses(read: PublishedBaskets, original: Baskets, readings: Mapping[str, frozenset[int]]) -> dict[str, float]:
    """Measure what was lost, where every item is published in one way: NCP, UL, what was suppressed."""
    shown_as = _one_way(readings)
    if shown_as is None:
        return {}
    domain = len(original.items) if original.tree is None else original.tree.size
    sizes = {label: _size(label, items, original) for label, items in readings.items()}
    supports = original.supports.tolist()
    total = sum(supports)
    lost = Fraction(0)
    for code, support in enumerate(supports):
        size = sizes[shown_as[code]] if code in shown_as else domain
        lost += Fraction(size, domain) * support if size > 1 or code not in shown_as else 0
    had = [code for code, support in enumerate(supports) if support]  # of all that are known
    gone = [code for code in had if code not in shown_as]
    records = read.supports
    loss = sum(
        (Fraction(2 ** sizes[label] - 1, 2**domain - 1) * Fraction(n, original.size) for label, n in records.items()),
        Fraction(sum(supports[code] for code in gone), original.size),
    )
    return {
        "ncp": float(lost / max(total, 1)),
        **({"ul": float(loss)} if float(loss) >= SMALLEST or not loss else {}),  # a small loss must not read as none
        "ul_log2": log2(loss.numerator) - log2(loss.denominator) if loss else -inf,
        "items_suppressed": len(gone) / max(len(had), 1),
        "occurrences_suppressed": sum(supports[code] for code in gone) / max(total, 1),
    }


def _size(label: str, items: frozenset[int], original: Baskets) -> int:
    """Return how many items a published text stands for: of a node of the tree all its leaves."""
    tree = original.tree
    if tree is None or label in original.places or set_members(label) is not None:
        return len(items)
    widths = [hi - lo + 1 for (lo, hi), name in tree.nodes.items() if name == label]
    return widths[0] if widths else tree.size if label == "*" else len(items)
