"""Finding the boxes of a published file that cover the records of the original.

A box is a distinct combination of published quasi-identifier texts, a point a distinct combination of original values.
Where in every column each value is covered by one text only (a recoding of whole columns), a point's box is looked up.
Otherwise boxes are walked like a trie, column by column, each step keeping the points that the text covers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Codes, Counts
from sfumato.evidence.counted import Counted, TextColumn, number_combinations, shown_text
from sfumato.evidence.notation import Mask, Meaning, Notation, ValueDomain

MOST_STEPS = 1_000_000_000
"""Looking for boxes is given up where more points than this would have to be looked at, about ten seconds."""


@dataclass(frozen=True, eq=False)
class TextCombinations:
    """The distinct combinations of texts in some columns: boxes of a release, or points of an original."""

    names: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    codes: Codes
    """One row per combination, one column per name: an index into that column's texts."""

    number: Counts
    """For every counted tuple the number of its combination."""

    @staticmethod
    def of(counted: Counted, names: Sequence[str]) -> TextCombinations:
        """Number the combinations of some columns."""
        return TextCombinations.at(counted, names, *counted.number(names))

    @staticmethod
    def at(counted: Counted, names: Sequence[str], places: Counts, number: Counts) -> TextCombinations:
        """Take the combinations that the tuples at some places show."""
        columns = [counted.columns[name] for name in names]
        codes = np.stack([column.codes[places] for column in columns], axis=1)
        return TextCombinations(tuple(names), tuple(column.texts for column in columns), codes, number)

    def show(self, place: int) -> dict[str, str]:
        """Return the texts of one combination."""
        columns = zip(self.names, self.texts, self.codes[place], strict=True)
        return {name: shown_text(texts[code]) for name, texts, code in columns}

    def meanings(self, notations: Mapping[str, Notation]) -> list[list[Meaning]]:
        """Read every text of every column."""
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
        """Number the different sets of boxes that cover a point: each point's number, and the boxes of each set."""
        starts = np.searchsorted(self.point, np.arange(self.points + 1))
        number = np.empty(self.points, np.int64)
        known: dict[tuple[int, ...], int] = {}
        boxes = self.box.tolist()
        for point, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            number[point] = known.setdefault(tuple(boxes[start:end]), len(known))
        return number, list(known)


def locate(boxes: TextCombinations, points: TextCombinations, notations: Mapping[str, Notation]) -> Places | None:
    """Find for every point the boxes that cover it, or None where that would take too long."""
    covered = _covered(boxes, points, notations)
    return None if covered is None else places_of(boxes, points, covered)


def places_of(boxes: TextCombinations, points: TextCombinations, covered: Sequence[Mask]) -> Places | None:
    """Do the same where it is known of every column which text (rows) covers which value (columns)."""
    if all((masks.sum(axis=0) <= 1).all() for masks in covered):
        return _looked_up(boxes, points, covered)
    return _walked(boxes, points, covered)


def _covered(boxes: TextCombinations, points: TextCombinations, notations: Mapping[str, Notation]) -> list[Mask] | None:
    """Say for every column which text (rows) covers which value (columns)."""
    if sum(len(t) * len(v) for t, v in zip(boxes.texts, points.texts, strict=True)) > MOST_STEPS:
        return None
    domains = [ValueDomain(values) for values in points.texts]
    return [
        np.stack([domain.covered(meaning) for meaning in meanings])
        for domain, meanings in zip(domains, boxes.meanings(notations), strict=True)
    ]


def _looked_up(boxes: TextCombinations, points: TextCombinations, covered: Sequence[Mask]) -> Places:
    """Recode every point by the one text that covers it, and look the combination up among the boxes.

    Several boxes may show the same texts: those of different groups of a bucketized file.
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
    """Walk the boxes in lexicographic order, the column with fewest texts first, keeping the points of each prefix."""
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
