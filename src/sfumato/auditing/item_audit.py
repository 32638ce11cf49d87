"""The audit of items: of baskets, or of a column of items in addition to the quasi-identifiers of a table.

It counts in the file, from the definitions, the records of each group with each set of items that an attacker may know;
baskets are one group. With the original it also determines the items of published texts, the match of the records, and
the loss. It shares only the text of a requirement with the makers of releases.

A requirement on the column of items (`l-diversity l=2 variant=distinct on=codes`) concerns the named sensitive items: a
value is those that a record shows, joined by ` + `, or `none`. If a published text contains a sensitive item and
others, the file does not show who has it, and such a requirement is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.auditing import items as item_rules
from sfumato.auditing._against_original import observed_hierarchy
from sfumato.auditing._item_coverage import (
    EXAMPLES,
    OriginalRecords,
    RowMatching,
    Whose,
    persons_in,
    records_by_persons,
    size_behind,
)
from sfumato.auditing.coverage import Coverage, Located
from sfumato.auditing.decision import failures
from sfumato.auditing.items import Legend
from sfumato.auditing.notation import Notation, set_members
from sfumato.auditing.profile import Profile, baseline, worst_of
from sfumato.auditing.published_file import Source
from sfumato.auditing.question import MOST_MATCHED, AuditQuestion, given_hierarchies
from sfumato.config.options import check_whole
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.items import Baskets
from sfumato.engines.item_files import separator_of
from sfumato.errors import BadInputError
from sfumato.requirements.items import (
    BasketRequirement,
    CompleteKAnonymity,
    InferenceRequirement,
    KMAnonymity,
    MixedRequirement,
    PrivacyConstraints,
    mixed_requirement,
)
from sfumato.requirements.requirement import All, Requirement
from sfumato.runtime.arrays import RedactedRepr
from sfumato.runtime.cancellation import check_cancelled
from sfumato.texts.catalogue import counted, refusal, t

if TYPE_CHECKING:
    from sfumato.auditing.audit import Audit

USUAL_KNOWN = 2
NONE = "none"
"""The value of a record without sensitive items."""

Supports = Mapping[int, item_rules.SetSupports]
"""The counts of sets by size."""


@dataclass(frozen=True, repr=False)
class ItemPersons(RedactedRepr):
    """Whose the records of a file with items are, by the original."""

    public_fields: ClassVar[tuple[str, ...]] = ("holds",)

    persons: int
    """The persons of the file; 0 where it is not certain whose its records are."""

    unconfirmed: tuple[str, ...] = ()
    """Why persons could not be counted."""

    @property
    def holds(self) -> bool:
        """Whether nothing that is required stays open."""
        return not self.unconfirmed


@dataclass(frozen=True, repr=False)
class RareSet(RedactedRepr):
    """Published items that few records have together."""

    records: int
    items: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class RareInGroup(RareSet):
    """Published items that few records of a group have together."""

    group: Mapping[str, str]
    size: int
    """The number of records of the group."""


@dataclass(frozen=True, repr=False)
class BasketFailure(RedactedRepr):
    """A violated requirement, with the rarest counterexamples."""

    public_fields: ClassVar[tuple[str, ...]] = ("requirement",)

    requirement: str
    sets: int
    """The number of published sets (or baskets, or lines of known items) in too few records."""

    examples: tuple[RareSet, ...]
    fault: str = "in too few records"
    """Their fault."""


@dataclass(frozen=True, repr=False)
class SetFailure(RedactedRepr):
    """A violated bound on sets of known items within some groups."""

    public_fields: ClassVar[tuple[str, ...]] = ("requirement",)

    requirement: str
    sets: int
    """The number of sets of published items in too few records of their group."""

    groups: int
    """The number of these groups."""

    examples: tuple[RareSet, ...]

    @property
    def fault(self) -> str:
        """Their fault."""
        return f"in too few records of their group, in {counted(self.groups, 'group')}"


@dataclass(frozen=True)
class ItemQuestion:
    """The column of items of a published table, and the questions about it."""

    column: str
    require: str | None = None
    """The requirement on quasi-identifiers and items together."""

    sensitive: Sequence[str] = ()
    legend: Legend | None = None
    tree: Hierarchy | None = None
    known: int | None = None
    local: bool = False
    separator: str | None = None
    original_separator: str | None = None

    @cached_property
    def wanted(self) -> MixedRequirement | None:
        """The parsed requirement."""
        return None if self.require is None else mixed_requirement(self.require)

    @cached_property
    def known_items(self) -> int:
        """The number of a person's items that an attacker knows."""
        usual = USUAL_KNOWN if self.wanted is None else self.wanted.m
        return usual if self.known is None else self.known

    def check(self, file: Source, others: Sequence[str]) -> None:
        """Raise unless the column contains items and has no other role."""
        check_whole("known", self.known_items, least=0)
        item_rules.check_items(file, self.column, self.separator)
        if self.column in others:
            raise refusal("audit_error.items_twice", column=self.column)

    def parts(self, sensitive: Sequence[str]) -> tuple[Requirement | None, tuple[Requirement, ...]]:
        """Return the requirements on the table, and on its sensitive items."""
        wanted, items, named = self.wanted, self.column, self.sensitive
        if wanted is None:
            return None, ()
        about_items = []
        for part in wanted.further:
            if part.about_sensitive and (part.on == items or (part.on is None and not sensitive and named)):
                about_items.append(part)
        if about_items and not named:
            raise refusal("audit_error.no_sensitive_items", part=about_items[0], items=items)
        left = [part for part in wanted.further if part not in about_items]
        of_groups: Requirement = wanted.linking.of_groups
        return All((of_groups, *left)) if left else of_groups, tuple(about_items)


def with_items(table: Audit, asked: AuditQuestion, items: ItemQuestion, hierarchies: Any) -> Audit:
    """Add the results about items to the audit of a table."""
    asked = replace(asked, missing="value", group=None, neutral=())
    file, column, source = asked.file, items.column, asked.original
    others = () if source is None else _others(file, source, (*asked.quasi, column), asked.sensitive)
    counted, _ = asked.count((column, *others))
    sets = item_rules.item_sets(file, column, counted.columns[column].texts, items.separator)
    records = item_rules.PublishedRecords.beside(counted, asked.quasi, column, sets)
    against = None if source is None else _original(source, asked.quasi, items, others)
    meaning = ItemMeaning.of(sets.labels, against, items.tree, items.legend)
    by_sensitive, failed = dict(table.by_sensitive), list(table.failures)
    if items.sensitive:
        named = _named(items.sensitive, against, items.tree)
        profile = _profile(records, sets, against, named, meaning, column)
        by_sensitive[column] = profile.measures()
        if of_items := items.parts(asked.sensitive)[1]:
            failed += failures(All(of_items), {column: profile}, records.sizes, lambda _, group: records.shows(group))
    longest = int(records.lengths.max(initial=0))
    supports = {size: records.itemsets(size) for size in range(1, min(items.known_items, longest) + 1)}
    risks = itemset_measures(supports)
    risks["candidates"] = min(risks["least_support"], float(records.sizes.min()))
    coverage, lost = table.coverage, dict[str, float]()
    if against is not None:
        coverage, lost = _against(asked, records, against, meaning, items.local, hierarchies, others, coverage)
    notices = [f"{records.empty:,} of {records.records:,} records show no item"] if records.empty else []
    if not item_rules.is_listed(file, column) and items.separator is None and records.labels and longest <= 1:
        notices.append("no record shows more than one item; if something else separates items, name it (--separator)")
    return replace(
        table,
        has_items=True,
        items=column,
        published_items=len(records.labels),
        empty=records.empty,
        known=items.known_items,
        measures={**table.measures, **worst_of(by_sensitive), **risks, **lost},
        by_sensitive=by_sensitive,
        weakest=tuple(weakest(records, supports)),
        require=items.require,
        failures=tuple(failed),
        rare=tuple(_rare(records, items.wanted, supports, longest)),
        coverage=coverage,
        notices=(*table.notices, *notices),
    )


# -- against the original ------------------------------------------------------------------------------------------


def _original(source: Source, quasi: Sequence[str], items: ItemQuestion, others: Sequence[str]) -> OriginalRecords:
    """Count the original, and split its items."""
    item_rules.check_items(source, items.column, items.original_separator)
    counted = source.count([*quasi, items.column, *others])
    texts = counted.columns[items.column].texts
    mark = items.original_separator or (None if item_rules.is_listed(source, items.column) else separator_of(texts))
    return OriginalRecords(counted, items.column, item_rules.item_sets(source, items.column, texts, mark))


def _others(file: Source, source: Source, named: Sequence[str], sensitive: Sequence[str]) -> tuple[str, ...]:
    """Return the common columns that are compared directly: of large files the sensitive ones."""
    shared = [name for name in file.engine.columns if name in source.engine.columns and name not in named]
    if source.engine.row_count > MOST_MATCHED:
        shared = [name for name in shared if name in sensitive]
    nested = {*file.engine.nested, *source.engine.nested}
    return tuple(name for name in shared if name not in nested)


def _against(
    asked: AuditQuestion,
    records: item_rules.PublishedRecords,
    against: OriginalRecords,
    meaning: ItemMeaning,
    local: bool,
    hierarchies: Any,
    others: tuple[str, ...],
    of_table: Coverage | None,
) -> tuple[Coverage, dict[str, float]]:
    """Check that the records match those of the original, and measure the loss of their items."""
    unread = [label for label, items in zip(records.labels, meaning.items, strict=True) if not items]
    if unread:
        most = max(records.supports[label] for label in unread)
        texts = [f"{label[:80]!r} corresponds to no item of the original" for label in unread[:EXAMPLES]]
        return Coverage("the items of every published text", True, most, tuple(texts)), {}
    given = given_hierarchies(replace(asked, original=None), None, hierarchies)
    notations = {}
    for name in asked.quasi:
        texts_in = frozenset(against.counted.columns[name].texts) - {"*"}
        domain = given[name] if name in given else observed_hierarchy(name, against.counted)
        notations[name] = Notation(domain.with_missing() if "" in texts_in else domain, texts_in)
    places = Located.of(asked.covering(records.counted), against.counted, asked.quasi, notations)
    matching = None if places is None else RowMatching(records, against, places, others, meaning.items, local)
    if matching is None or matching.places is None:
        assert of_table is not None
        return replace(of_table, checked=f"{of_table.checked}; items were not compared: there are too many pairs"), {}
    return matching.coverage(), matching.losses(meaning.sizes, meaning.domain)


# -- published sets ------------------------------------------------------------------------------------------------


def itemset_measures(counted: Supports) -> dict[str, float]:
    """Convert the supports of all sets, by their size, to risks."""
    supports = np.sort(np.concatenate([np.zeros(0, np.int64), *(of_size.records for of_size in counted.values())]))
    if not len(supports):
        return {"itemset_risk": 0.0, "itemset_risk_99": 0.0, "itemset_risk_95": 0.0, "least_support": inf}

    def risk(share: str) -> float:
        """Return the risk without a share of the rarest sets."""
        return float(1 / supports[int(Fraction(len(supports)) * (1 - Fraction(share)))])

    return {
        "itemset_risk": float(1 / supports[0]),
        "itemset_risk_99": risk("0.99"),
        "itemset_risk_95": risk("0.95"),
        "least_support": float(supports[0]),
    }


def weakest(read: item_rules.PublishedRecords, counted: Supports, below: float = inf) -> list[RareSet]:
    """Return the rarest sets of groups, if these are below a bound."""
    rare: list[RareSet] = []
    for of_size in counted.values():
        for place in np.argsort(of_size.records, kind="stable")[:EXAMPLES]:
            found = int(of_size.records[place]), tuple(read.labels[code] for code in of_size.sets[place])
            group = int(of_size.group[place])
            if found[0] < below:
                in_group = read.shows(group), int(read.sizes[group])
                rare.append(RareInGroup(*found, *in_group) if read.quasi else RareSet(*found))
    return _rarest(rare)


def _rarest(rare: Sequence[RareSet]) -> list[RareSet]:
    return sorted(rare, key=lambda one: (one.records, len(one.items), one.items))[:EXAMPLES]


def _up_to(read: item_rules.PublishedRecords, counted: Supports, most: int) -> Supports:
    """Return the counts of sets of up to so many items, counting missing sizes."""
    return {size: counted[size] if size in counted else read.itemsets(size) for size in range(1, most + 1)}


def _rare(
    records: item_rules.PublishedRecords, wanted: MixedRequirement | None, counted: Supports, longest: int
) -> Iterator[SetFailure]:
    """Yield the sets of up to m items that fewer than k records of their group have."""
    if wanted is None:
        return
    every = _up_to(records, counted, min(wanted.m, longest))
    groups = [of_size.group[of_size.records < wanted.k] for of_size in every.values()]
    if many := sum(map(len, groups)):
        examples = tuple(weakest(records, every, wanted.k))
        yield SetFailure(str(wanted.linking), many, len(np.unique(np.concatenate(groups))), examples)


def basket_failures(
    read: item_rules.PublishedRecords,
    wanted: BasketRequirement | None,
    counted: Supports,
    original: Baskets | None,
    readings: item_rules.Readings | None,
    lines: Sequence[RareSet],
) -> Iterator[BasketFailure]:
    """Yield the violations; `lines` are the listed sets of known items that some records match."""
    persons = read.person is not None
    many, fault = None, "shown by too few persons" if persons else BasketFailure.fault
    if isinstance(wanted, KMAnonymity):
        every = _up_to(read, counted, wanted.m)
        many = sum(int((of_size.records < wanted.k).sum()) for of_size in every.values())
        rare = weakest(read, every, wanted.k)
    elif isinstance(wanted, CompleteKAnonymity):
        rare = [RareSet(n, tuple(sorted(row))) for row, n in read.rows.items() if n < wanted.k]
    elif isinstance(wanted, PrivacyConstraints):
        rare = [line for line in lines if line.records < wanted.k]
    elif isinstance(wanted, InferenceRequirement):
        assert original is not None and readings is not None
        sizes = {label: size_behind(label, items, original) for label, items in readings.items()}
        rare = [RareSet(n, items) for n, items in item_rules.faults(read, wanted, original, readings, sizes)]
        fault = f"followed too surely by a sensitive item, or {fault}"
    else:
        return
    if rare:
        yield BasketFailure(str(wanted), len(rare) if many is None else many, tuple(_rarest(rare)), fault)


def by_persons(
    read: item_rules.PublishedRecords,
    original: Baskets,
    readings: item_rules.Readings | None,
    checked: Coverage,
    named: Whose | None,
) -> tuple[item_rules.PublishedRecords, ItemPersons]:
    """Count persons: where every item is published in one way, by the original; else by the rows as they were written.

    If neither identifies the persons of records, they are counted as records, and nothing is confirmed.
    """
    if checked.holds and checked.exact:
        named = records_by_persons(original, readings or {})
    if not checked.holds or named is None:
        return read, ItemPersons(0, (t("audit_notice.whose_records"),))
    people = read.of_persons(persons_in(read, original, named))
    return people, ItemPersons(people.records)


def known_lines(
    read: item_rules.PublishedRecords, wanted: PrivacyConstraints, original: Baskets, readings: item_rules.Readings
) -> list[RareSet]:
    """Count the records, or persons, that match the listed sets of known items; unmatched sets concern nobody."""
    shows = item_rules.labels_by_item(readings)
    counted: dict[frozenset[tuple[str, ...]], int] = {}
    fitting = []
    for itemset in wanted.itemsets(original):
        known = frozenset(shows[code] for code in itemset if code in shows)  # a suppressed item reveals nothing
        if known and known not in counted:
            check_cancelled()
            counted[known] = read.count(read.rows_showing(known))
        if known and counted[known]:
            fitting.append(RareSet(counted[known], tuple(original.items[code] for code in itemset)))
    return fitting


# -- the items of texts --------------------------------------------------------------------------------------------


def stands_for(
    labels: Sequence[str], items: Sequence[str], tree: Hierarchy | None = None, legend: Legend | None = None
) -> dict[str, frozenset[int]]:
    """Return the items of each published text.

    A text is in the legend, an item, a node of the tree, `*` for all items, or a set `{a, b}` (of other tools `(a,
    b)`).
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


@dataclass(frozen=True, eq=False)
class ItemMeaning:
    """The items of each published text, and their number: for a node of the tree all its leaves."""

    items: tuple[frozenset[str], ...]
    sizes: tuple[int, ...]
    domain: int

    @staticmethod
    def of(
        labels: Sequence[str], against: OriginalRecords | None, tree: Hierarchy | None, legend: Legend | None
    ) -> ItemMeaning:
        """Return the meaning of every text: an item of the original, a node of the tree, by the legend, or a set."""
        known = set() if against is None else set(against.sets.labels)
        if against is None:
            known |= set(tree.leaves) if tree is not None else set()
            listed = legend or {}
            for label in labels:
                spelled = [item for item, _ in set_members(label) or ()]
                known |= set(listed.get(label, spelled or [label]))
        items = sorted(known)
        readings = stands_for(labels, items, tree, legend)
        named = tuple(frozenset(items[code] for code in readings[label]) for label in labels)
        widths = {} if tree is None else {name: hi - lo + 1 for (lo, hi), name in tree.nodes.items()}
        sizes = (
            len(one) if label in known else widths.get(label, len(one))
            for label, one in zip(labels, named, strict=True)
        )
        return ItemMeaning(named, tuple(sizes), len(items) if tree is None else tree.size)


def _values(
    sets: item_rules.ItemSets, meant: Sequence[frozenset[str]], named: Mapping[str, frozenset[str]]
) -> list[str]:
    """Return the sensitive items of each set; raise if a text leaves these open."""
    shown: list[str] = []
    for place in range(len(sets.starts) - 1):
        codes = sets.codes[sets.starts[place] : sets.starts[place + 1]].tolist()
        held = []
        for name, items in named.items():
            for code in codes:
                if meant[code] & items and not meant[code] <= items:
                    raise refusal("audit_error.sensitive_among_others", label=sets.labels[code][:80], name=name)
            if any(meant[code] <= items for code in codes):
                held.append(name)
        shown.append(" + ".join(held) or NONE)
    return shown


def _profile(
    records: item_rules.PublishedRecords,
    sets: item_rules.ItemSets,
    against: OriginalRecords | None,
    named: Mapping[str, frozenset[str]],
    meaning: ItemMeaning,
    column: str,
) -> Profile:
    """Count the published sensitive items in every group, and those of the compared table."""
    texts = records.counted.columns[column].called(_values(sets, meaning.items, named))
    table, weights = texts, records.counted.counts
    if against is not None:
        itself = [frozenset([label]) for label in against.sets.labels]
        table = against.counted.columns[column].called(_values(against.sets, itself, named))
        weights = against.counted.counts
    return Profile.of(baseline(column, table, weights, texts.texts, None), texts, records.group, records.counted.counts)


def _named(names: Sequence[str], against: OriginalRecords | None, tree: Hierarchy | None) -> dict[str, frozenset[str]]:
    """Return the items of each named sensitive item or node."""
    nodes: dict[str, frozenset[str]] = {}
    if tree is not None:
        for (lo, hi), label in tree.nodes.items():
            nodes.setdefault(label, frozenset(tree.leaves[lo : hi + 1]))
    known = None if against is None else {*against.sets.labels, *nodes}
    for name in names:
        if known is not None and name not in known:
            where = "of the original" if tree is None else "of the original, nor a node of the tree"
            raise BadInputError(f"{name!r} is no item {where} (--sensitive-items)")
    return {name: nodes.get(name, frozenset([name])) for name in names}
