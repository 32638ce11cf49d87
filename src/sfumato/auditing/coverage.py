"""The match of a published file with its original: every published row must be the row of a different record.

Records have no name in a published file. So rows are matched one to one with original records that agree in all other
columns and whose quasi-identifiers the texts cover. The match is a flow from rows to records, separately for each
combination of other columns. Records in the same boxes are interchangeable and flow together; for disjoint boxes,
counting decides. In a bucketized file sensitive values move within their group: rows are matched without them, and
then the values of every group with its rows.

A box is a distinct combination of published quasi-identifier texts, a point a distinct combination of original values.
If in every column each value is covered by one text only (a global recoding), a point's box is looked up. Otherwise the
boxes are a trie, searched column by column, with the covered points at each step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.notation import Mask, Meaning, Notation, ValueDomain
from sfumato.auditing.published_file import Counted, TextColumn, number_combinations, number_keys, shown_text
from sfumato.runtime.arrays import Codes, Counts, RedactedRepr
from sfumato.texts.catalogue import counted, t

MOST_STEPS = 1_000_000_000
"""The most examined points in the search for boxes, about ten seconds."""


@dataclass(frozen=True, eq=False)
class TextCombinations:
    """The distinct combinations of texts in some columns: boxes of a release, or points of an original."""

    names: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    codes: Codes
    """One row per combination, one column per name: an index of that column's texts."""

    number: Counts
    """For each counted tuple the number of its combination."""

    @staticmethod
    def of(counted: Counted, names: Sequence[str]) -> TextCombinations:
        """Number the combinations of some columns."""
        return TextCombinations.at(counted, names, *counted.number(names))

    @staticmethod
    def at(counted: Counted, names: Sequence[str], places: Counts, number: Counts) -> TextCombinations:
        """Return the combinations of the tuples at some places."""
        columns = [counted.columns[name] for name in names]
        codes = np.stack([column.codes[places] for column in columns], axis=1)
        return TextCombinations(tuple(names), tuple(column.texts for column in columns), codes, number)

    def show(self, place: int) -> dict[str, str]:
        """Return the texts of one combination."""
        columns = zip(self.names, self.texts, self.codes[place], strict=True)
        return {name: shown_text(texts[code]) for name, texts, code in columns}

    def meanings(self, notations: Mapping[str, Notation]) -> list[list[Meaning]]:
        """Return the meaning of every text of every column."""
        return [
            [notations[name].read(text) for text in texts] for name, texts in zip(self.names, self.texts, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Places:
    """Which boxes cover which points: pairs sorted by point and box."""

    point: Counts
    box: Counts
    points: int

    @cached_property
    def signatures(self) -> tuple[Counts, list[tuple[int, ...]]]:
        """Number the different sets of covering boxes: each point's number, and the boxes of each set."""
        starts = np.searchsorted(self.point, np.arange(self.points + 1))
        number = np.empty(self.points, np.int64)
        known: dict[tuple[int, ...], int] = {}
        boxes = self.box.tolist()
        for point, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            number[point] = known.setdefault(tuple(boxes[start:end]), len(known))
        return number, list(known)


def locate(boxes: TextCombinations, points: TextCombinations, notations: Mapping[str, Notation]) -> Places | None:
    """Return for each point the boxes that cover it, or None if that would take too long."""
    covered = _covered(boxes, points, notations)
    return None if covered is None else places_of(boxes, points, covered)


def places_of(boxes: TextCombinations, points: TextCombinations, covered: Sequence[Mask]) -> Places | None:
    """Do the same, given for each column which text (rows) covers which value (columns)."""
    if all((masks.sum(axis=0) <= 1).all() for masks in covered):
        return _looked_up(boxes, points, covered)
    return _walked(boxes, points, covered)


def _covered(boxes: TextCombinations, points: TextCombinations, notations: Mapping[str, Notation]) -> list[Mask] | None:
    """Return for each column which text (rows) covers which value (columns)."""
    if sum(len(t) * len(v) for t, v in zip(boxes.texts, points.texts, strict=True)) > MOST_STEPS:
        return None
    domains = [ValueDomain(values) for values in points.texts]
    return [
        np.stack([domain.covered(meaning) for meaning in meanings])
        for domain, meanings in zip(domains, boxes.meanings(notations), strict=True)
    ]


def _looked_up(boxes: TextCombinations, points: TextCombinations, covered: Sequence[Mask]) -> Places:
    """Recode every point by the single text that covers it, and look the combination up among the boxes.

    Several boxes may have the same texts: those of different groups of a bucketized file.
    """
    columns, inside = [], np.ones(len(points.codes), np.bool_)
    for place, masks in enumerate(covered):
        text_of = np.where(masks.any(axis=0), masks.argmax(axis=0), -1)
        recoded = text_of[points.codes[:, place]]
        inside &= recoded >= 0
        columns.append((boxes.texts[place], boxes.codes[:, place], recoded))
    joined = [TextColumn(texts, np.concatenate([codes, theirs[inside]])) for texts, codes, theirs in columns]
    number = number_combinations(joined, len(boxes.codes) + int(inside.sum()))[1]
    of_box, of_point = number[: len(boxes.codes)], number[len(boxes.codes) :]
    order = np.argsort(of_box, kind="stable")
    first, last = (np.searchsorted(of_box[order], of_point, side=side) for side in ("left", "right"))
    covering = last - first
    point = np.repeat(np.flatnonzero(inside), covering)
    within = np.arange(len(point)) - np.repeat(np.cumsum(covering) - covering, covering)
    return Places(point, order[np.repeat(first, covering) + within], len(points.codes))


def _walked(boxes: TextCombinations, points: TextCombinations, covered: Sequence[Mask]) -> Places | None:
    """Search the boxes in lexicographic order, the column with fewest texts first, with the points of each prefix."""
    columns = sorted(range(len(covered)), key=lambda column: len(boxes.texts[column]))
    order = np.lexsort([boxes.codes[:, column] for column in reversed(columns)])
    kept: list[NDArray[np.int64]] = [np.arange(len(points.codes))]
    prefix: list[int] = []
    found_points, found_boxes, steps = [], [], 0
    for box in order.tolist():
        texts = boxes.codes[box, columns].tolist()
        shared = 0
        while shared < len(prefix) and prefix[shared] == texts[shared]:
            shared += 1
        del kept[shared + 1 :]
        for depth in range(shared, len(columns)):
            column = columns[depth]
            steps += len(kept[-1]) + 100
            kept.append(kept[-1][covered[column][texts[depth]][points.codes[kept[-1], column]]])
        if steps > MOST_STEPS:
            return None
        prefix = texts
        found_points.append(kept[-1])
        found_boxes.append(np.full(len(kept[-1]), box))
    point, box_of = np.concatenate(found_points), np.concatenate(found_boxes)
    order = np.lexsort((box_of, point))
    return Places(point[order], box_of[order], len(points.codes))


Row = TypeVar("Row", bound=Hashable)
Place = TypeVar("Place", bound=Hashable)
MOST_EDGES = 3_000_000
"""The most pairs of rows and records in a flow; beyond it each kind of row is examined separately."""

MOST_NAMED = 5
"""The most kinds of uncovered rows that are named."""


@dataclass(frozen=True, repr=False)
class Coverage(RedactedRepr):
    """Whether the rows of a file match original records."""

    public_fields: ClassVar[tuple[str, ...]] = ("holds",)

    checked: str
    """A description of the check."""

    exact: bool
    """Whether a file that passes certainly has a one-to-one matching."""

    uncovered: int
    """The number of published rows without a different original record."""

    examples: tuple[str, ...]
    """Descriptions of some of them."""

    @property
    def holds(self) -> bool:
        """Whether no row is uncovered."""
        return self.uncovered == 0


def coverage(
    published: Counted,
    original: Counted,
    quasi: Sequence[str],
    others: Sequence[str],
    notations: Mapping[str, Notation],
) -> Coverage:
    """Match the rows of a generalized file, counted over quasi-identifiers and other columns, with original records."""
    located = Located.of(published, original, quasi, notations)
    if located is None:
        return _by_columns(published, original, quasi, notations)
    return _matched(published, original, located, others)


@dataclass(frozen=True, eq=False, repr=False)
class Located(RedactedRepr):
    """The boxes of a file, the points of its original, and which boxes cover which points."""

    boxes: TextCombinations
    points: TextCombinations
    places: Places

    @staticmethod
    def of(
        published: Counted, original: Counted, quasi: Sequence[str], notations: Mapping[str, Notation]
    ) -> Located | None:
        """Return the boxes of every point, or None if that would take too long."""
        boxes, points = TextCombinations.of(published, quasi), TextCombinations.of(original, quasi)
        places = locate(boxes, points, notations)
        return None if places is None else Located(boxes, points, places)


def _matched(published: Counted, original: Counted, located: Located, others: Sequence[str]) -> Coverage:
    """Match rows and records that agree in the other columns."""
    boxes, (signature, sets) = located.boxes, located.places.signatures
    row_class, record_class = joint_numbers(published, original, others)
    classes = int(max(row_class.max(), record_class.max(initial=0))) + 1
    kind = boxes.number * classes + row_class
    rows = _totals(kind, published.counts)
    records = _totals(signature[located.points.number] * classes + record_class, original.counts)
    exact, short = _unmatched(rows, records, sets, classes)
    named = []
    for key, lacking in sorted(short.items(), key=lambda item: -item[1])[:MOST_NAMED]:
        texts = published.show(int(np.flatnonzero(kind == key)[0]), (*boxes.names, *others))
        words = ", ".join(f"{name} {text!r}" for name, text in texts.items())
        named.append(f"{counted(lacking, 'row')} of {rows[key]:,} with {words}")
    compared = t("notice.agrees", others=", ".join(others)) if others else ""
    each = "one to one" if exact else t("notice.each_kind_row_itself")
    checked = t("notice.every_published_row_against", compared=compared, each=each)
    return Coverage(checked, exact, sum(short.values()), tuple(named))


def bucket_coverage(
    published: Counted,
    original: Counted,
    quasi: Sequence[str],
    neutral: Sequence[str],
    sensitive: Sequence[str],
    group: str,
    notations: Mapping[str, Notation],
) -> Coverage:
    """Match the rows of a bucketized file without their sensitive values, then the values of every group."""
    located = Located.of(published, original, quasi, notations)
    if located is None:
        return _by_columns(published, original, quasi, notations)
    rows = _matched(published, original, located, neutral)
    uncovered, examples = rows.uncovered, list(rows.examples)
    for name in sensitive:
        have, had = _value_totals(published, name), _value_totals(original, name)
        for value, count in have.items():
            if count > had[value]:
                uncovered += count - had[value]
                examples.append(t("notice.stands_rows", name=name, value=value, count=count, had=had[value]))
    checked = rows.checked + t("notice.sensitive_values_left_aside")
    if len(published.counts) > MOST_EDGES:
        return Coverage(checked, False, uncovered, tuple(examples[:MOST_NAMED]))
    for name in sensitive:
        for bucket, lacking in _buckets_short(published, original, located, neutral, name, group):
            uncovered += lacking
            examples.append(t("notice.group_values_not_those", bucket=bucket, lacking=lacking, name=name))
    return Coverage(t("notice.within_every_group", checked=checked), False, uncovered, tuple(examples[:MOST_NAMED]))


# -- matching ------------------------------------------------------------------------------------------------------


def _unmatched(
    rows: Mapping[int, int], records: Mapping[int, int], sets: Sequence[tuple[int, ...]], classes: int
) -> tuple[bool, dict[int, int]]:
    """Return the rows (box, class) without remaining records, and whether all rows were matched at once."""
    supply: dict[int, dict[int, int]] = {}
    edges = 0
    for key, count in records.items():
        for box in sets[key // classes]:
            row = box * classes + key % classes
            if row in rows:
                supply.setdefault(row, {})[key] = count
                edges += 1
    disjoint = all(len(boxes) <= 1 for boxes in sets)
    if disjoint or edges > MOST_EDGES:
        alone = {row: count - sum(supply.get(row, {}).values()) for row, count in rows.items()}
        return disjoint, {row: lacking for row, lacking in alone.items() if lacking > 0}
    return True, match(rows, records, {row: supply.get(row, {}) for row in rows})


def match(
    wanted: Mapping[Row, int], room: Mapping[Place, int], reach: Mapping[Row, Mapping[Place, int]]
) -> dict[Row, int]:
    """Assign the wanted numbers to places with a limit, along pairs with a capacity; return the unassigned rest.

    A maximum flow from a source (0) over rows (from 1 on) and places to a sink.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    number = {place: i for i, place in enumerate(room, 1 + len(wanted))}
    sink = 1 + len(wanted) + len(room)
    edges = [(0, i, count) for i, count in enumerate(wanted.values(), 1)]
    edges += [(i, number[place], most) for i, row in enumerate(wanted, 1) for place, most in reach[row].items()]
    edges += [(number[place], sink, count) for place, count in room.items()]
    start, end, capacity = np.array(edges, np.int32).T
    flow = maximum_flow(csr_array((capacity, (start, end)), shape=(sink + 1, sink + 1)), 0, sink).flow
    placed = flow[[0]].toarray()[0].tolist()
    left = {row: count - placed[i] for i, (row, count) in enumerate(wanted.items(), 1)}
    return {row: lacking for row, lacking in left.items() if lacking > 0}


def _buckets_short(
    published: Counted, original: Counted, located: Located, neutral: Sequence[str], name: str, group: str
) -> list[tuple[str, int]]:
    """Return groups whose sensitive values cannot be those of their rows: (group, number)."""
    boxes, points, (signature, sets) = located.boxes, located.points, located.places.signatures
    row_class, record_class = joint_numbers(published, original, neutral)
    classes = int(max(row_class.max(), record_class.max(initial=0))) + 1
    values = original.columns[name]
    had: dict[int, Counter[str]] = {}
    tuples = zip(
        signature[points.number].tolist(),
        record_class.tolist(),
        values.codes.tolist(),
        original.counts.tolist(),
        strict=True,
    )
    for boxes_around, other, code, count in tuples:
        for box in sets[boxes_around]:
            had.setdefault(box * classes + other, Counter())[values.texts[code]] += count
    people: Counter[tuple[int, int]] = Counter()
    published_values: Counter[tuple[int, str]] = Counter()
    groups, texts = published.columns[group], published.columns[name]
    who = boxes.number * classes + row_class
    rows = zip(groups.codes.tolist(), who.tolist(), texts.codes.tolist(), published.counts.tolist(), strict=True)
    for bucket, person, code, count in rows:
        people[bucket, person] += count
        published_values[bucket, texts.texts[code]] += count
    reach = {
        (bucket, person): {(bucket, v): n for v, n in had.get(person, {}).items() if (bucket, v) in published_values}
        for bucket, person in people
    }
    short, lacking = match(people, published_values, reach), Counter[int]()
    for key in people:
        lacking[key[0]] += short.get(key, 0)
    return [(groups.texts[bucket], number) for bucket, number in lacking.items() if number]


def _by_columns(
    published: Counted, original: Counted, quasi: Sequence[str], notations: Mapping[str, Notation]
) -> Coverage:
    """Check each column separately: every text must cover some original value."""
    uncovered, examples = 0, []
    for name in quasi:
        domain, column = ValueDomain(original.columns[name].texts), published.columns[name]
        totals = np.bincount(column.codes, weights=published.counts, minlength=len(column.texts)).astype(np.int64)
        for text, rows in zip(column.texts, totals.tolist(), strict=True):
            if rows and not domain.covered(notations[name].read(text)).any():
                uncovered += rows
                examples.append(f"{counted(rows, 'row')} with {name} {text!r}")
    checked = t("notice.every_text_every_column")
    return Coverage(checked, False, uncovered, tuple(examples[:MOST_NAMED]))


# -- counting ------------------------------------------------------------------------------------------------------


def joint_numbers(published: Counted, original: Counted, names: Sequence[str]) -> tuple[Counts, Counts]:
    """Number the combinations of some columns in the same way in both files."""
    joined = []
    for name in names:
        column, theirs = published.columns[name], original.columns[name]
        known = {text: code for code, text in enumerate(column.texts)}
        codes = np.array([known.setdefault(text, len(known)) for text in theirs.texts], np.int32)
        joined.append(TextColumn(tuple(known), np.concatenate([column.codes, codes[theirs.codes]])))
    rows = len(published.counts)
    number = number_combinations(joined, rows + len(original.counts))[1]
    return number[:rows], number[rows:]


def _totals(keys: Counts, counts: Counts) -> dict[int, int]:
    first, number = number_keys(keys, int(keys.max(initial=0)) + 1)
    totals = np.bincount(number, weights=counts).astype(np.int64)
    return dict(zip(keys[first].tolist(), totals.tolist(), strict=True))


def _value_totals(source: Counted, name: str) -> Counter[str]:
    column = source.columns[name]
    totals = np.bincount(column.codes, weights=source.counts, minlength=len(column.texts)).astype(np.int64)
    return Counter(dict(zip(column.texts, totals.tolist(), strict=True)))
