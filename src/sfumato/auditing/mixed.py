"""The audit of a published table with a column of items, whoever made it: the second opinion on both sides at once.

It reads the file and counts in it, from the definitions: what the audit of tables says of the quasi-identifiers and the
sensitive columns, and within every group how many records show each set of items that somebody may know. With the
original it also asks whether the records can be those of the original, and what was lost. It uses nothing of those who
make releases but the text of a requirement.

A requirement on the column of items (`l-diversity l=2 variant=distinct on=codes`) is about the sensitive items that are
named: a value is those of them that a record shows, joined by ` + `, or `none`. Where a published text stands for a
sensitive item and for others, the file does not say who has it, and such a requirement is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfumato.auditing._against_original import observed_hierarchy
from sfumato.auditing._item_coverage import OriginalRecords, RowMatching
from sfumato.auditing._legend import Legend
from sfumato.auditing._published_items import ItemSets, PublishedRecords, check_items, is_listed, item_sets
from sfumato.auditing.audit import MOST_MATCHED, Audit, audit
from sfumato.auditing.baskets import Supports, itemset_measures, stands_for
from sfumato.auditing.coverage import Coverage, Located
from sfumato.auditing.decision import failures
from sfumato.auditing.notation import Notation, set_members
from sfumato.auditing.profile import Profile, baseline, worst_of
from sfumato.auditing.published_file import Source, blank_columns, open_published, open_source
from sfumato.auditing.question import AuditQuestion, Suppressed, given_hierarchies
from sfumato.config.options import check_whole
from sfumato.data.hierarchies.declared import Declared
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.engines.item_files import separator_of
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError
from sfumato.requirements.items import MixedRequirement, mixed_requirement
from sfumato.requirements.requirement import All, Requirement
from sfumato.runtime.arrays import Quiet

EXAMPLES = 5
USUAL_KNOWN = 2
NONE = "none"
"""The value of a record that shows no sensitive item."""


@dataclass(frozen=True, repr=False)
class RareInGroup(Quiet):
    """Published items that few records of a group show together."""

    records: int
    items: tuple[str, ...]
    group: Mapping[str, str]
    size: int
    """How many records the group has."""


@dataclass(frozen=True, repr=False)
class SetFailure(Quiet):
    """A bound on sets of known items that does not hold within some groups."""

    spoken: ClassVar[tuple[str, ...]] = ("requirement",)

    requirement: str
    sets: int
    """How many sets of published items too few records of their group show."""

    groups: int
    """In how many groups."""

    examples: tuple[RareInGroup, ...]


def audit_mixed(
    path: str | Path | Any,
    quasi: Sequence[str],
    items: str,
    require: str | None = None,
    original: str | Path | Any | None = None,
    sensitive: Sequence[str] = (),
    sensitive_items: Sequence[str] = (),
    legend: Legend | None = None,
    tree: Hierarchy | None = None,
    known: int | None = None,
    local: bool = False,
    separator: str | None = None,
    original_separator: str | None = None,
    hierarchies: Mapping[str, Declared] | str | Path | None = None,
    suppressed: Suppressed | None = None,
    escaped_formulas: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header: bool | None = None,
    header_row: int | None = None,
    columns: Sequence[str] = (),
    engine: str | None = None,
    memory: str | None = None,
    spill: str | None = None,
    **of_original: Any,
) -> Audit:
    """Measure any published table with a column of items from what stands in it.

    `items` names that column: lists, or cells with `separator` (`;`) between items. `known` is how many items of a
    person an attacker knows beside the quasi-identifiers: by default the m of the requirement, else two. `original` is
    the table it was made of, with a column of the same name. `sensitive_items` are items, or nodes of `tree`, that a
    requirement on the column of items is about. `legend` says what a published text stands for where neither it nor the
    tree does. `local` says that an item may be published in several ways within one group. All else is as in `audit`.
    """
    wanted = None if require is None else mixed_requirement(require)
    known = (wanted.m if wanted is not None else USUAL_KNOWN) if known is None else known
    check_whole("known", known, least=0)
    laid_out: dict[str, Any] = {
        "delimiter": delimiter,
        "encoding": encoding,
        "sheet": sheet,
        "header": header,
        "header_row": header_row,
        "columns": tuple(columns),
        "engine": engine,
        "memory": memory,
        "spill": spill,
    }
    file = open_published(path, Reading(**laid_out, escaped=escaped_formulas))
    check_items(file, items, separator)
    if items in (*quasi, *sensitive):
        raise BadInputError(f"column {items!r} holds items (--items), so it has no other role; do not name it twice")
    of_groups, of_items = _parts(wanted, items, sensitive, sensitive_items)
    table = audit(
        file,
        quasi,
        sensitive,
        original,
        require=None if of_groups is None else str(of_groups),
        hierarchies=hierarchies,
        suppressed=suppressed,
        apart=(items,),
        memory=memory,
        spill=spill,
        **of_original,
    )
    question = AuditQuestion(file, tuple(quasi), tuple(sensitive), None, None, suppressed, gate=require is not None)
    source = None if original is None else _opened(file, question, items, original, of_original)
    others = () if source is None else _others(file, source, (*quasi, items), sensitive)
    asked = Asked(question, items, separator, others)
    records = asked.records()
    against = None if source is None else _original(asked, source, original_separator)
    meaning = ItemMeaning.of(records.sets, against, tree, legend)
    notices = [*table.notices, *_notices(records, is_listed(file, items) or separator is not None)]
    by_sensitive, failed = dict(table.by_sensitive), list(table.failures)
    if sensitive_items:
        profile = _profile(records, against, _named(sensitive_items, against, tree), meaning, items)
        by_sensitive[items] = profile.measures()
        if of_items:
            failed += failures(
                All(of_items), {items: profile}, records.sizes, lambda _, group: asked.shows(records, group)
            )
    counted = {size: records.within_groups(size) for size in range(1, min(known, records.longest) + 1)}
    measures = {**table.measures, **worst_of(by_sensitive), **_measures(records, counted)}
    coverage = table.coverage
    if against is not None:
        coverage, lost = _against(asked, records, against, meaning, hierarchies, local, table.coverage)
        measures |= lost
    return replace(
        table,
        has_items=True,
        items=items,
        published_items=len(records.sets.labels),
        empty=records.empty,
        known=known,
        measures=measures,
        by_sensitive=by_sensitive,
        weakest=tuple(_weakest(asked, records, counted, inf)),
        require=require,
        failures=tuple(failed),
        rare=tuple(_rare(asked, records, wanted, counted)),
        coverage=coverage,
        notices=tuple(notices),
    )


# -- reading -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """Which file is audited, by which columns: what is counted in it, group by group."""

    question: AuditQuestion
    items: str
    separator: str | None
    others: tuple[str, ...] = ()
    """Columns that rows and records of the original must agree in."""

    def records(self) -> PublishedRecords:
        """Count the file over quasi-identifiers, items and what else is compared."""
        counted, _ = self.question.count((self.items, *self.others))
        sets = item_sets(self.question.file, self.items, counted.columns[self.items].texts, self.separator)
        return PublishedRecords.of(counted, self.question.quasi, self.items, sets)

    def shows(self, records: PublishedRecords, group: int) -> dict[str, str]:
        """Return what a group shows."""
        return records.counted.show(int(records.first[group]), self.question.quasi)


def _opened(file: Source, question: AuditQuestion, items: str, original: Any, given: Mapping[str, Any]) -> Source:
    """Open the original as the audit of tables does; its items are read as they are written."""
    kept = [*blank_columns(file, question.quasi), *blank_columns(file, question.sensitive)]
    options = {name: given[name] for name in ("na", "decimal_comma", "decimal_point", "dates") if name in given}
    reading = Reading(
        encoding=given.get("original_encoding"),
        as_written=(*given.get("as_written", ()), *kept),
        **options,
    )
    source = open_source(original, reading)
    if items in source.engine.columns and items not in source.engine.nested and isinstance(original, str | Path):
        source = open_source(original, replace(reading, as_written=(*reading.as_written, items)))
    return source


def _original(asked: Asked, source: Source, separator: str | None) -> OriginalRecords:
    """Count the original, and take its items apart."""
    check_items(source, asked.items, separator)
    question = asked.question
    counted = source.count([*question.quasi, asked.items, *asked.others])
    texts = counted.columns[asked.items].texts
    mark = separator or (None if is_listed(source, asked.items) else separator_of(texts))
    return OriginalRecords(counted, asked.items, item_sets(source, asked.items, texts, mark))


def _others(file: Source, source: Source, named: Sequence[str], sensitive: Sequence[str]) -> tuple[str, ...]:
    """Name the columns that both files have and that are compared as they are: of large files the sensitive ones."""
    shared = [name for name in file.engine.columns if name in source.engine.columns and name not in named]
    if source.engine.row_count > MOST_MATCHED:
        shared = [name for name in shared if name in sensitive]
    nested = {*file.engine.nested, *source.engine.nested}
    return tuple(name for name in shared if name not in nested)


def _parts(
    wanted: MixedRequirement | None, items: str, sensitive: Sequence[str], named: Sequence[str]
) -> tuple[Requirement | None, tuple[Requirement, ...]]:
    """Tell what is asked of the table from what is asked of its sensitive items."""
    if wanted is None:
        return None, ()
    about_items = []
    for part in wanted.further:
        if part.about_sensitive and (part.on == items or (part.on is None and not sensitive and named)):
            about_items.append(part)
    if about_items and not named:
        raise BadInputError(
            f"{about_items[0]}: this is about sensitive items, and none is named; name items of {items!r} "
            "(--sensitive-items)"
        )
    left = [part for part in wanted.further if part not in about_items]
    of_groups: Requirement = wanted.linking.of_groups
    return All((of_groups, *left)) if left else of_groups, tuple(about_items)


# -- against the original ------------------------------------------------------------------------------------------


def _against(
    asked: Asked,
    records: PublishedRecords,
    against: OriginalRecords,
    meaning: ItemMeaning,
    hierarchies: Any,
    local: bool,
    of_table: Coverage | None,
) -> tuple[Coverage, dict[str, float]]:
    """Check that the records can be those of the original, and measure what their items lost."""
    unread = [code for code, items in enumerate(meaning.items) if not items]
    if unread:
        having = dict.fromkeys(unread, 0)
        for place, n in zip(records.shown.tolist(), records.counted.counts.tolist(), strict=True):
            for code in set(records.sets.codes[slice(*records.sets.starts[place : place + 2])].tolist()) & set(unread):
                having[code] += n
        texts = [f"{records.sets.labels[code][:80]!r} stands for no item of the original" for code in unread[:EXAMPLES]]
        return Coverage("which items every published text stands for", True, max(having.values()), tuple(texts)), {}
    given = given_hierarchies(replace(asked.question, original=None), None, hierarchies)
    notations = {}
    for name in asked.question.quasi:
        texts_in = frozenset(against.counted.columns[name].texts) - {"*"}
        domain = given[name] if name in given else observed_hierarchy(name, against.counted)
        notations[name] = Notation(domain.with_missing() if "" in texts_in else domain, texts_in)
    places = Located.of(asked.question.covering(records.counted), against.counted, asked.question.quasi, notations)
    matching = None if places is None else RowMatching(records, against, places, asked.others, meaning.items, local)
    if matching is None or matching.places is None:
        assert of_table is not None
        return replace(of_table, checked=f"{of_table.checked}; items were not compared: there are too many pairs"), {}
    return matching.coverage(), matching.losses(meaning.sizes, meaning.domain)


# -- what sets tell ------------------------------------------------------------------------------------------------


def _measures(records: PublishedRecords, counted: Supports) -> dict[str, float]:
    """Turn the supports of all sets within groups into risks; `candidates` counts who fits both kinds of knowledge."""
    risks = itemset_measures(counted)
    return {**risks, "candidates": min(risks["least_support"], float(records.sizes.min()))}


def _weakest(asked: Asked, records: PublishedRecords, counted: Supports, below: float) -> list[RareInGroup]:
    """Show the sets that fewest records of their group show, where these are below a bound."""
    rare = []
    for sets, supports in counted.values():
        for place in np.argsort(supports, kind="stable")[:EXAMPLES]:
            if supports[place] < below:
                group, *codes = sets[place].tolist()
                labels = tuple(records.sets.labels[code] for code in codes)
                size = int(records.sizes[group])
                rare.append(RareInGroup(int(supports[place]), labels, asked.shows(records, group), size))
    return sorted(rare, key=lambda one: (one.records, len(one.items), one.items))[:EXAMPLES]


def _rare(
    asked: Asked, records: PublishedRecords, wanted: MixedRequirement | None, counted: Supports
) -> Iterator[SetFailure]:
    """Find the sets of up to m items that fewer than k records of their group show."""
    if wanted is None:
        return
    sizes = range(1, min(wanted.m, records.longest) + 1)
    every = {size: counted[size] if size in counted else records.within_groups(size) for size in sizes}
    below = [(sets[supports < wanted.k], supports[supports < wanted.k]) for sets, supports in every.values()]
    many = sum(len(supports) for _, supports in below)
    if many:
        groups = len({int(group) for sets, _ in below for group in sets[:, 0]})
        examples = _weakest(asked, records, every, wanted.k)
        yield SetFailure(str(wanted.linking), many, groups, tuple(examples))


def _notices(records: PublishedRecords, listed: bool) -> Iterator[str]:
    if records.empty:
        yield f"{records.empty:,} of {records.counted.records:,} records show no item"
    if not listed and len(records.sets.labels) and records.longest <= 1:
        yield "no record shows more than one item; if something else separates items, say what (--separator)"


# -- what texts stand for ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ItemMeaning:
    """Which items every published text stands for, and how many: of a node of the tree all its leaves."""

    items: tuple[frozenset[str], ...]
    sizes: tuple[int, ...]
    domain: int

    @staticmethod
    def of(
        sets: ItemSets, against: OriginalRecords | None, tree: Hierarchy | None, legend: Legend | None
    ) -> ItemMeaning:
        """Read every text: as an item of the original, a node of the tree, by the legend, or as a set."""
        known = set() if against is None else set(against.sets.labels)
        if against is None:
            known |= set(tree.leaves) if tree is not None else set()
            listed = legend or {}
            for label in sets.labels:
                spelled = [item for item, _ in set_members(label) or ()]
                known |= set(listed.get(label, spelled or [label]))
        items = sorted(known)
        readings = stands_for(sets.labels, items, tree, legend)
        named = tuple(frozenset(items[code] for code in readings[label]) for label in sets.labels)
        widths = {} if tree is None else {name: hi - lo + 1 for (lo, hi), name in tree.nodes.items()}
        sizes = (
            len(one) if label in known else widths.get(label, len(one))
            for label, one in zip(sets.labels, named, strict=True)
        )
        return ItemMeaning(named, tuple(sizes), len(items) if tree is None else tree.size)


def _values(sets: ItemSets, meant: Sequence[frozenset[str]], named: Mapping[str, frozenset[str]]) -> list[str]:
    """Say for every set which sensitive items it shows; raise where a text leaves that open."""
    shown: list[str] = []
    for place in range(len(sets.starts) - 1):
        codes = sets.codes[sets.starts[place] : sets.starts[place + 1]].tolist()
        held = []
        for name, items in named.items():
            for code in codes:
                if meant[code] & items and not meant[code] <= items:
                    raise BadInputError(
                        f"{sets.labels[code][:80]!r} stands for the sensitive {name!r} and for others, so the file "
                        "does not say who has it; a requirement on the column of items cannot be checked of it"
                    )
            if any(meant[code] <= items for code in codes):
                held.append(name)
        shown.append(" + ".join(held) or NONE)
    return shown


def _profile(
    records: PublishedRecords,
    against: OriginalRecords | None,
    named: Mapping[str, frozenset[str]],
    meaning: ItemMeaning,
    column: str,
) -> Profile:
    """Count the sensitive items that records show in every group, and in the table that is compared with."""
    texts = records.counted.columns[column].called(_values(records.sets, meaning.items, named))
    table, weights = texts, records.counted.counts
    if against is not None:
        itself = [frozenset([label]) for label in against.sets.labels]
        table = against.counted.columns[column].called(_values(against.sets, itself, named))
        weights = against.counted.counts
    return Profile.of(baseline(column, table, weights, texts.texts, None), texts, records.group, records.counted.counts)


def _named(names: Sequence[str], against: OriginalRecords | None, tree: Hierarchy | None) -> dict[str, frozenset[str]]:
    """Say which items every named sensitive item or node is."""
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
