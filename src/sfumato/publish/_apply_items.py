"""Recoding new baskets, and new records with items, as an earlier release was, by the same rules as tables.

A record goes to the box that covers it and loses least; its items are published as that group publishes them. Records
with a value or an item that the mapping does not know there, outside of all boxes, or in groups that fail in the new
data, are counted by their reason: nothing is published (`rest="refuse"`), or they are left out (`rest="drop"`). A group
fails where fewer than k of its records, or of those that show up to m published items, are left, or where another part
of the promise does not hold against the Q of the whole new table. What was left out of a group is left out again.
The audit of the written draft, with the new records as its original, decides whether the file gets its name.

An item that the mapping does not know is bad input: its records are counted and nothing is published, or they are left
out (`rest="drop"`). What was left out of the release is left out again. The promise does not carry over by itself: it
is counted again in the written draft, against the new baskets, and where it fails nothing gets a name. A release that
was recoded piece by piece has no rule by which a new record would find its piece, so it recodes nothing new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.anonymizers.items.items_of_groups import verify
from sfumato.auditing.audit import Audit, audit_baskets
from sfumato.data.assignment import Assignment, distinct_rows, weighted_counts
from sfumato.data.dataset import MixedTable
from sfumato.data.item_reading import items_of_column, items_of_file, tied, with_items_of_file
from sfumato.data.items import Baskets, counted_baskets, rows_once, taken_rows
from sfumato.data.reading import with_roles
from sfumato.engines import open_rows
from sfumato.engines.locations import input_files
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.publish._item_mapping import ItemMapping
from sfumato.publish._written_file import audit_of, reading_of
from sfumato.publish.apply import (
    Fitting,
    LeftOut,
    NewData,
    RecodedFile,
    Rest,
    UnknownValues,
    groups_left_out,
    nothing_left,
    published_groups,
)
from sfumato.release._itemsets import rare_itemsets
from sfumato.release.items import SUPPRESSED, ItemParts, MixedRelease, Placed, Recoding, global_release, numbered
from sfumato.release.release import generalization
from sfumato.release.writing_items import names_as_before
from sfumato.runtime.arrays import Codes, Counts, Flags
from sfumato.tradeoff.question.recipients import shown_baskets
from sfumato.tradeoff.study.candidate import files_of as files_in

UNKNOWN = -2
"""What an item is published as that the mapping does not know in its group."""


def apply_mixed(
    mapping: ItemMapping, source: Any, rest: Rest = "refuse", items_file: str | None = None, **reading: Any
) -> RecodedFile:
    """Recode new records with items as an earlier release was; `items_file` is the second file, where there was one."""
    data = _opened(mapping, source, items_file, reading)
    fitting = MixedFitting(data, mapping)
    left_out = fitting.left_out
    left_out.check(data.origin, rest, nothing_left(fitting.admitted, mapping.requirement))
    release = fitting.release()
    verify(release, mapping.requirement)
    items = mapping.items

    def audited(drafts: Sequence[Path], layout: str, escape: bool) -> Audit:
        original = data.declared
        if items_file is not None:
            original = with_items_of_file(original, items_file, str(items["id"]), str(items["item"]))
        stands_for, separator = mapping.stands_for, items["separator"]
        return audit_of(release, mapping.requirement, drafts, escape, original, stands_for, separator)

    shown = [release.parts.labels[part] for part in np.flatnonzero(release.part_supports).tolist()]
    source = NewData(data.origin, data.notices, lambda: data.digest, input_files(items_file))
    return RecodedFile(release, mapping, left_out, source, audited, names_as_before(shown, mapping.stands_for))


def _opened(mapping: ItemMapping, source: Any, items_file: str | None, reading: dict[str, Any]) -> MixedTable:
    """Open the new records as the old were: values, and where their items stand."""
    items, known = mapping.items, mapping.table
    if (items["column"] is None) != (items_file is not None):
        where = (
            f"in a column, {items['column']!r}; leave out" if items_file else "in a second file; name the new one with"
        )
        raise BadInputError(f"{source}: the mapping has the items of records {where} --items-file")
    owner = items["column"] or items["id"] or ""
    na = tuple(dict.fromkeys((*known.na, *reading.get("na", ()))))
    written = tuple(dict.fromkeys((*reading.get("as_written", ()), owner)))
    rows = open_rows(source, Reading(**{**reading, "na": na, "usual": known.notations, "as_written": written}))
    if owner not in rows.columns:
        raise BadInputError(f"{rows.origin}: there is no column {owner!r}, which the mapping has; give it that name")
    table = with_roles(rows, known.roles, known.hierarchies, known.missing, "count")
    if items_file is None:
        held = items_of_column(table, owner, items["separator"])
    else:
        held = items_of_file(table, items_file, owner, items["item"] or "")
    return tied(table, held, mapping.column, owner, None, mapping.sensitive)


@dataclass(frozen=True, eq=False)
class MixedFitting:
    """Which new records a mapping fits, the groups that they form, and what their items are published as."""

    data: MixedTable
    mapping: ItemMapping

    @cached_property
    def of_table(self) -> Fitting:
        """The same of the quasi-identifiers and sensitive columns."""
        return Fitting(self.data.table, self.mapping.table)

    @cached_property
    def pairs(self) -> tuple[Counts, Counts]:
        """The pairs of a cell and a basket that some box covers, and the group of each."""
        assignment, _, _ = self.of_table.boxes
        group_of = np.full(self.data.cells.size, -1, np.int64)
        group_of[assignment.cell] = assignment.group
        group = group_of[self.data.pairs.cell]
        inside = np.flatnonzero(group >= 0)
        return inside, group[inside]

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Everything that items may be published as."""
        return tuple(self.mapping.stands_for)

    @cached_property
    def published(self) -> tuple[Counts, Codes]:
        """For every item of every pair that is covered the place of its pair, and its text, left out or unknown."""
        baskets, (pair, group) = self.data.baskets, self.pairs
        starts, codes = taken_rows(baskets.starts, baskets.codes, self.data.pairs.basket[pair])
        row = np.repeat(np.arange(len(pair)), np.diff(starts))
        _, lo, hi = self.of_table.boxes
        boxes = zip(self.mapping.table.lo.tolist(), self.mapping.table.hi.tolist(), strict=True)
        place = {(*low, *high): box for box, (low, high) in enumerate(boxes)}
        ways = [self.mapping.groups[place[(*low, *high)]] for low, high in zip(lo.tolist(), hi.tolist(), strict=True)]
        number = {name: code for code, name in enumerate(self.texts)} | {None: SUPPRESSED}
        keys, which = np.unique(group[row] * len(baskets.items) + codes, return_inverse=True)
        called = [
            number[ways[key // len(baskets.items)][label]] if label in ways[key // len(baskets.items)] else UNKNOWN
            for key in keys.tolist()
            for label in (baskets.items[key % len(baskets.items)],)
        ]
        return row, np.array(called, np.int32)[which.ravel()]

    @cached_property
    def fits(self) -> Flags:
        """The pairs that are covered and of which the mapping knows every item."""
        row, text = self.published
        fits = np.ones(len(self.pairs[0]), np.bool_)
        fits[row[text == UNKNOWN]] = False
        return fits

    @cached_property
    def assignment(self) -> Assignment:
        """The groups of the records that fit, admitted or not."""
        (pair, group), pairs = self.pairs, self.data.pairs
        kept = pair[self.fits]
        return Assignment.gathered(pairs.cell[kept], group[self.fits], pairs.count[kept])

    @cached_property
    def satisfied(self) -> Flags:
        """The groups that keep the promise, in their sensitive values and in every set of up to m published items."""
        wanted, (pair, group) = self.mapping.requirement, self.pairs
        groups = len(self.of_table.boxes[1])
        satisfied: Flags = wanted.of_groups.admits(self.data.cells.histograms(self.assignment, groups))
        row, text = self.published
        kept = self.fits[row] & (text != SUPPRESSED)
        starts, codes = rows_once(row[kept], text[kept], len(pair))
        width = max(len(self.texts), 1)
        used, tagged = np.unique(np.repeat(group, np.diff(starts)) * width + codes, return_inverse=True)
        count = np.where(self.fits, self.data.pairs.count[pair], 0)
        for size in range(1, wanted.m + 1):
            rows = (starts, tagged.ravel().astype(np.int32), count)
            sets, _, _ = rare_itemsets(*rows, len(used), size, wanted.k)
            satisfied[used[sets[:, 0]] // width] = False
        return satisfied

    @cached_property
    def admitted(self) -> Flags:
        """The groups that are published."""
        return published_groups(self.assignment, self.satisfied)

    @cached_property
    def left_out(self) -> LeftOut:
        """Everything that does not fit, by its reason."""
        table, (pair, _) = self.of_table, self.pairs
        _, text = self.published
        unknown = int(self.data.pairs.count[pair[~self.fits]].sum())
        by_column = table.unknown_by_column
        if unknown:
            codes = taken_rows(self.data.baskets.starts, self.data.baskets.codes, self.data.pairs.basket[pair])[1]
            example = self.data.baskets.items[int(codes[text == UNKNOWN][0])]
            by_column += (UnknownValues(self.data.column, unknown, example),)
        return replace(
            table.left_out,
            requirement=str(self.mapping.requirement),
            unknown=table.left_out.unknown + unknown,
            unknown_by_column=by_column,
            **groups_left_out(self.assignment, self.satisfied),
        )

    def release(self) -> MixedRelease:
        """Publish the groups that are admitted."""
        data, (pair, group), (_, lo, hi) = self.data, self.pairs, self.of_table.boxes
        number = np.full(len(lo), -1, np.int64)
        number[self.admitted] = distinct_rows(np.concatenate([lo, hi], axis=1)[self.admitted])[1]
        assignment = self.assignment.only(self.admitted)
        relational = generalization(data.table, assignment, lo[self.admitted], hi[self.admitted], ranges=None)
        kept = self.fits & (number[group] >= 0)
        entries = Placed(pair[kept], number[group[kept]], data.pairs.count[pair[kept]])
        rows, first = self._rows(entries)
        row, text = self.published
        part = _by_rows(row, text, np.flatnonzero(kept)[first])
        return MixedRelease(data, relational, entries, *rows, self._parts(), part, "mapping")

    def _rows(self, entries: Placed) -> tuple[tuple[Counts, Counts, Counts], Counts]:
        """Gather entries to rows, the distinct pairs of a group and a basket; and an entry of each."""
        width = self.data.baskets.distinct
        keys = entries.group * width + self.data.pairs.basket[entries.pair]
        distinct, first, which = np.unique(keys, return_index=True, return_inverse=True)
        count = weighted_counts(which.ravel(), entries.count, len(distinct))
        return (distinct // width, distinct % width, count), first

    def _parts(self) -> ItemParts:
        """Return everything that items are published as; of the items each stands for those that occur."""
        places, stands = self.data.baskets.places, self.mapping.stands_for
        members = [[places[item] for item in stands[name] if item in places] for name in self.texts]
        starts = np.concatenate([[0], np.cumsum([len(one) for one in members])]).astype(np.int64)
        items = np.array([code for one in members for code in sorted(one)], np.int32)
        sizes = np.array([len(stands[name]) for name in self.texts], np.int64)
        known = {item for one in (*stands.values(), *self.mapping.groups) for item in one}
        return ItemParts(self.texts, sizes, starts, items, len(known))


def _by_rows(row: Counts, text: Codes, wanted: Counts) -> Codes:
    """Return the texts of some rows, one after the other."""
    starts = np.searchsorted(row, np.arange(int(wanted.max(initial=-1)) + 2))
    return taken_rows(starts, text, wanted)[1]


def apply_baskets(mapping: ItemMapping, baskets: Baskets, rest: Rest = "refuse") -> RecodedFile:
    """Recode new baskets as an earlier release was.

    `rest` says what happens to records with items that the mapping does not know: nothing is published (`refuse`), or
    they are left out (`drop`).
    """
    names = list(mapping.stands_for)
    place_of = {name: place for place, name in enumerate(names)} | {None: SUPPRESSED}
    number = {item: place_of[name] for item, name in mapping.groups[0].items()}
    known = np.array([item in number for item in baskets.items], np.bool_)
    row = np.repeat(np.arange(baskets.distinct), baskets.lengths)
    fits = np.ones(baskets.distinct, np.bool_)
    fits[row[~known[baskets.codes]]] = False
    strange = [item for item, is_known in zip(baskets.items, known.tolist(), strict=True) if not is_known]
    unknown = int(baskets.weights[~fits].sum())
    by_item = (UnknownValues("items", unknown, strange[0]),) if unknown else ()
    left_out = LeftOut(baskets.size, str(mapping.requirement), unknown, by_item)
    left_out.check(baskets.origin, rest, "" if fits.any() else "no record is left")
    kept = _without(baskets, np.flatnonzero(fits), known)
    keys = np.array([number[item] for item in kept.items], np.int64)
    parts = numbered(keys)
    _, first = np.unique(parts[parts >= 0], return_index=True)
    texts = [names[place] for place in keys[parts >= 0][first].tolist()]
    leaves = np.array([len(mapping.stands_for[name]) for name in texts], np.int64)
    recoding = Recoding(parts, tuple(texts), leaves, len(number))
    release = global_release(kept, recoding, "mapping")

    def audited(drafts: Sequence[Path], layout: str, escape: bool) -> Audit:
        original, at = _with_all_items(kept, mapping), reading_of(layout)
        legend = dict(mapping.stands_for)
        wanted = str(mapping.requirement)
        verdict = audit_baskets(drafts[0], wanted, original, None, legend, False, **at, escaped_formulas=escape)
        if why := shown_baskets(verdict.measures, mapping.requirement):
            raise InfeasibleError(f"{baskets.origin}: recoded by this mapping it {why}; make a new release")
        return verdict

    shown = [release.labels[number] for number in np.flatnonzero(release.part_supports).tolist()]
    files = [Path(file) for file in files_in(mapping.requirement)]
    source = NewData(baskets.origin, baskets.notices, lambda: baskets.digest, files)
    return RecodedFile(release, mapping, left_out, source, audited, names_as_before(shown, mapping.stands_for))


def _with_all_items(of: Baskets, mapping: ItemMapping) -> Baskets:
    """Return baskets with all items that the mapping knows: the promise may name one that nobody has."""
    return replace(of, items=(*of.items, *(item for item in mapping.groups[0] if item not in of.places)))


def _without(baskets: Baskets, rows: Any, known: Any) -> Baskets:
    """Return some of the baskets, none of which has an unknown item, without these items and without a tree."""
    starts, codes = taken_rows(baskets.starts, baskets.codes, rows)
    used = np.zeros(len(baskets.items), np.bool_)
    used[codes] = True
    place = np.cumsum(used & known) - 1
    items = tuple(item for item, is_used in zip(baskets.items, (used & known).tolist(), strict=True) if is_used)
    kept = counted_baskets(items, starts, place[codes].astype(np.int32), baskets.weights[rows], None, baskets.origin)
    return replace(kept, notices=baskets.notices)
