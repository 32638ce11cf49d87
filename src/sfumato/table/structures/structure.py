"""A structure places values in groups that everybody knows; what it does not know stays by itself up to the root."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sfumato.table.hierarchies.categories import from_level_table, listed, value_text
from sfumato.table.hierarchies.hierarchy import Hierarchy

APART = " (group)"

Place = tuple[tuple[object, ...], tuple[str, ...]]
"""Where a value stands among the others, and the labels of its groups from fine to coarse."""


def grouped(values: Iterable[object], place: Callable[[str], Place | None], observed: bool) -> Hierarchy:
    """Build the hierarchy of values by their places; a level that joins nothing more than the one below is left out."""
    taken = {value_text(value) for value in listed("values", values)}
    texts = sorted(taken)
    places = {text: spot for text in texts if (spot := place(text)) is not None}
    levels = max((len(labels) for _, labels in places.values()), default=0)
    known = sorted(places, key=lambda text: (places[text][0], text))
    alone = [text for text in texts if text not in places]
    paths = {text: [_apart(label, taken) for label in places[text][1]] for text in known}
    paths |= {text: [text] * levels for text in alone}
    rows = [[text] for text in (*known, *alone)]
    for level in range(levels):
        labels = [paths[row[0]][level] for row in rows]
        if len(set(labels)) < len({row[-1] for row in rows}):
            rows = [[*row, label] for row, label in zip(rows, labels, strict=True)]
    return from_level_table(rows, observed=observed)


def _apart(label: str, taken: set[str]) -> str:
    """Tell a group from a value of the same name."""
    while label in taken:
        label += APART
    return label


def share_known(values: Sequence[str], place: Callable[[str], Place | None]) -> tuple[int, float]:
    """Count the values that a structure knows, and their share."""
    known = sum(place(value) is not None for value in values)
    return known, known / max(len(values), 1)
