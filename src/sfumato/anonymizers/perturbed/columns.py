"""The columns that a perturbation changes: those it was told, or all quasi-identifiers it can; how many values stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

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


def shares_kept(original: Records, records: Records, places: Sequence[int]) -> dict[str, float]:
    """Return for every column that may be changed the share of the records whose value is the same."""
    return {
        original.names[place]: float(np.mean(original.codes[:, place] == records.codes[:, place])) for place in places
    }


def stayed(shares: Mapping[str, float]) -> str:
    """Say how many values stayed."""
    return f"Values that stayed: {', '.join(f'{name} {share:.1%}' for name, share in shares.items())}."
