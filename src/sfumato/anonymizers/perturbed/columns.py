"""Which columns a perturbation changes: those it was told, or all quasi-identifiers that it can change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sfumato.errors import BadInputError
from sfumato.release import Records


def number_places(maker: str, records: Records, names: Sequence[str]) -> list[int]:
    """Find the columns of numbers or dates to change."""
    return _places(maker, records, names, records.is_number, "numbers or dates")


def category_places(maker: str, records: Records, names: Sequence[str]) -> list[int]:
    """Find the columns of categories to change."""
    return _places(maker, records, names, lambda place: not records.is_number(place), "categories")


def all_places(maker: str, records: Records, names: Sequence[str]) -> list[int]:
    """Find the columns to change, whatever is in them."""
    return _places(maker, records, names, lambda place: True, "values")


def _places(maker: str, records: Records, names: Sequence[str], fits: Callable[[int], bool], what: str) -> list[int]:
    if not names:
        places = [place for place in range(len(records.cells.quasi)) if fits(place)]
        if not places:
            raise BadInputError(f"{maker} changes {what}, and no quasi-identifier of the table has any")
        return places
    places = list(dict.fromkeys(records.place(name) for name in names))
    for place in places:
        if not fits(place):
            raise BadInputError(f"{maker} changes {what}, and column {records.names[place]!r} has none; leave it out")
    return places
