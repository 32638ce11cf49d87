"""The frames that an analysis reads: the original, and any release by the uniform reading of boxes.

Numbers are floating-point numbers, dates are dates, and all other values are texts, in the original and in releases. A
record of a release is anywhere in its box, by the widths of leaves; within a leaf that is an interval it is anywhere in
the interval. In a bucket the sensitive values are permuted. A noisy release has as many records as its counts, rounded.
Neutral columns are those of the records in the file; perturbed, synthetic and noisy releases have none.

A release is exact if all its values are: then one draw is all there is. Counts of values of categories have an exact
expectation (`expected_counts`). Everything else is repeated over draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.external.external import handed_rows
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.notation import read_date, read_number
from sfumato.data.reading import Table
from sfumato.measures.analysis.formulas import cell_name
from sfumato.measures.classification._validation import DealtRecords, deal, records_of
from sfumato.measures.fidelity._intervals import coded_columns, read
from sfumato.measures.fidelity.marginals import table as counted
from sfumato.release.records import Records, cell_codes, dealt_out, read_as_records, released_boxes
from sfumato.release.regions import uniform_leaves
from sfumato.release.release import Published, Release
from sfumato.runtime.arrays import Codes, Counts, Numbers

MOST_COMBINATIONS = 2_000_000
"""The most combinations of values that are counted by expectation."""

EPOCH = 719_163
"""The ordinal of 1970-01-01."""


@dataclass(frozen=True, eq=False)
class Frames:
    """The frames of one table."""

    table: Table

    @cached_property
    def original(self) -> pa.Table:
        """The original."""
        rows, _ = handed_rows(self.table)
        return pa.table(
            [_of_texts(rows.column(name).to_pylist(), self._scale(name)) for name in rows.column_names],
            rows.column_names,
        )

    @cached_property
    def neutral(self) -> DealtRecords:
        """The records with their neutral columns, in the order in which a file deals them out."""
        return records_of(self.table)

    @cached_property
    def coded(self) -> Records:
        """The coded columns, without records."""
        return Records(self.table.cells, np.zeros((0, 0), np.int32))

    def _scale(self, name: str) -> str:
        names = self.coded.names
        return self.coded.hierarchies[names.index(name)].scale if name in names else "any"

    def is_exact(self, release: Published) -> bool:
        """Return whether a release shows every value exactly, so that nothing is drawn."""
        lo, hi, _ = released_boxes(release, np.random.default_rng(0))
        points = bool((lo == hi).all()) and not (isinstance(release, Release) and release.form == "bucketization")
        return points and all(_is_fine(hierarchy) for hierarchy in self.coded.hierarchies)

    def drawn(self, release: Published, generator: np.random.Generator) -> pa.Table:
        """Draw the records of a release."""
        if isinstance(release, Release):
            codes, neutral = self._dealt(release, generator)
        else:
            codes, neutral = read_as_records(release, generator).codes, {}
        for place, (name, hierarchy) in enumerate(zip(self.coded.names, self.coded.hierarchies, strict=True)):
            neutral[name] = _values(hierarchy, codes[:, place], generator)
        return pa.table({name: neutral[name] for name in self.table.published if name in neutral})

    def _dealt(self, release: Release, generator: np.random.Generator) -> tuple[Codes, dict[str, pa.Array]]:
        """Deal the records of the table out to the groups of a release, as its file does."""
        dealt, cells = deal(self.neutral, release.assignment), release.cells
        many = np.where(dealt.group >= 0, dealt.last - dealt.first, 0)
        record, group = np.repeat(dealt.record, many), np.repeat(dealt.group, many)
        cell = self.neutral.cell[record]
        quasi, values = cells.codes[cell], cell_codes(cells)[cell][:, len(cells.quasi) :]
        if release.form == "bucketization":
            values = dealt_out(values, group, generator)
        else:
            lo, hi = release.boxes.lo[group], release.boxes.hi[group]
            leaves = [uniform_leaves(q.hierarchy, lo[:, a], hi[:, a], generator) for a, q in enumerate(cells.quasi)]
            quasi = np.column_stack(leaves)
        if release.histograms is None:
            values = np.full_like(values, -1)
        columns = zip(self.neutral.names, self.neutral.texts, self.neutral.neutral.T, strict=True)
        neutral = {name: _of_texts(list(texts), "any").take(pa.array(codes[record])) for name, texts, codes in columns}
        return np.column_stack([quasi, values]), neutral

    def expected_counts(self, release: Published, by: list[str]) -> dict[str, float] | None:
        """Return the expected number of records of every combination of categories; None if it is not exact."""
        columns = coded_columns(self.table.cells, MOST_COMBINATIONS)
        places = [self.coded.names.index(name) for name in by if name in self.coded.names]
        chosen = [columns[place] for place in places]
        plain = all(each.hierarchy.scale == "category" and _is_fine(each.hierarchy) for each in chosen)
        hidden = not release.shows_sensitive and any(place >= len(self.table.cells.quasi) for place in places)
        if hidden or len(places) < len(by) or not plain or prod(each.bins for each in chosen) > MOST_COMBINATIONS:
            return None
        counts = counted(read(release, columns), tuple(places)).reshape([each.bins for each in chosen])
        found = {}
        for cell in np.argwhere(counts > 0):
            if all(code < each.hierarchy.size for code, each in zip(cell, chosen, strict=True)):
                values = [each.hierarchy.leaves[code] or None for code, each in zip(cell, chosen, strict=True)]
                found[cell_name(by, values)] = float(counts[tuple(cell)])
        return found


def _is_fine(hierarchy: Hierarchy) -> bool:
    """Return whether every leaf is one value."""
    return not hierarchy.inside and (hierarchy.scale == "category" or hierarchy.firsts == hierarchy.lasts)


def _of_texts(texts: list[str | None], scale: str) -> pa.Array:
    """Return texts as numbers or dates, by the scale of their column; of `any`, as what all of them are."""
    reads = {"number": read_number, "date": read_date, "category": None}
    for kind in (scale,) if scale != "any" else ("number", "date", "category"):
        read_one = reads[kind]
        if read_one is None:
            return pa.array(texts, pa.string())
        known = {text: read_one(text) for text in set(texts) if text is not None}
        if scale != "any" or (known and not np.isnan(list(known.values())).any()):
            return _array(np.array([np.nan if text is None else known[text] for text in texts], np.float64), kind)
    raise AssertionError(scale)


def _array(numbers: Numbers, kind: str) -> pa.Array:
    if kind == "number":
        return pa.array(numbers, mask=np.isnan(numbers))
    days = np.where(np.isnan(numbers), EPOCH, numbers).astype(np.int32) - EPOCH
    return pa.array(days, pa.int32(), mask=np.isnan(numbers)).cast(pa.date32())


def _values(hierarchy: Hierarchy, codes: Codes | Counts, generator: np.random.Generator) -> pa.Array:
    """Draw a value of each leaf; missing where it is missing or not shown."""
    if hierarchy.scale != "category":
        return _array(_numbers(hierarchy, codes, generator), hierarchy.scale)
    finer = hierarchy.fine or tuple((text,) for text in hierarchy.leaves)
    starts = np.cumsum([0, *map(len, finer)])
    labels = [text or None for texts in finer for text in texts]
    inside = np.diff(starts)[codes]
    place = starts[codes] + (generator.random(len(codes)) * inside).astype(np.int64)
    hidden = (codes < 0) | (codes >= hierarchy.domain_size + len(hierarchy.strange))
    return pa.array(labels, pa.string()).take(pa.array(np.where(hidden, 0, place), mask=hidden))


def _numbers(hierarchy: Hierarchy, codes: Codes | Counts, generator: np.random.Generator) -> Numbers:
    more = np.full(hierarchy.size + 1 - len(hierarchy.firsts), np.nan)  # missing values, and at -1 what is not shown
    first, last = (np.append(np.asarray(ends, np.float64), more) for ends in (hierarchy.firsts, hierarchy.lasts))
    first, last = np.where(np.isinf(first), last, first), np.where(np.isinf(last), first, last)
    low, span, point = first[codes], (last - first)[codes], generator.random(len(codes))
    if hierarchy.continuous:
        values: Numbers = low + span * point
        return values
    many = np.maximum(np.append(np.rint(hierarchy.widths), 1), 1)[codes]
    values = low + np.where(many > 1, span / np.maximum(many - 1, 1), 0.0) * np.floor(point * many)
    return values
