"""Releases that a function of Python makes: any synthesizer that takes a frame becomes a candidate."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.foreign.brought import DIGITS, Brought, BroughtFile, Content
from sfumato.arrays import Counts
from sfumato.configuration import Option
from sfumato.errors import BadInputError
from sfumato.release.frames import pandas_frame, typed
from sfumato.table import Table
from sfumato.table.held_out import RemainingTable

ORDER_SEED = 0
"""Rows are handed over in an order that depends on nothing but the number of rows: not on where they stood."""

SEED_BITS = 31
"""Seeds that every language reads as a whole number."""


@dataclass(frozen=True, kw_only=True)
class BroughtFunction(Brought):
    """A function of Python that takes a frame (and a seed, if it has a parameter of that name) and returns another."""

    function: Callable[..., Any] | None = None
    seed: Annotated[
        int | None,
        Option(
            "Handed to the function, where it takes a seed; without one a map draws it from the settings, and what is "
            "published afresh.",
            least=0,
        ),
    ] = None

    runs: ClassVar[bool] = True
    name: ClassVar[str] = "function"
    title: ClassVar[str] = "Made by a function"
    unwritten: ClassVar[tuple[str, ...]] = ("function",)
    caution: ClassVar[str] = BroughtFile.caution
    effort: ClassVar[float] = 10.0

    @property
    def draws_at_random(self) -> bool:
        """Whether the function takes a seed."""
        return self.function is not None and "seed" in inspect.signature(self.function).parameters

    @property
    def made_of(self) -> str:
        """The function's name."""
        return f"{getattr(self.function, '__name__', type(self.function).__name__)}()" if self.function else ""

    @property
    def pinned(self) -> Self:
        """The same with a digest of the function's source, where Python has it; else of its name."""
        if self.function is None:
            return self
        try:
            source = inspect.getsource(self.function)
        except (OSError, TypeError):
            source = self.made_of
        return replace(self, digest=sha256(source.encode()).hexdigest()[:DIGITS])

    @property
    def public(self) -> Self:
        """The same without the function."""
        return replace(super().public, function=None, seed=None)

    def made(self, table: Table) -> Content:
        """Call the function."""
        if self.function is None:
            raise BadInputError(
                f"{self.label or 'this point'} was made by a function, which no file keeps; add it to the map again"
            )
        rows, cells = handed_rows(table)
        frame = pandas_frame(typed(rows, table.engine.texts))
        seed = secrets.randbits(SEED_BITS) if self.seed is None else self.seed % (1 << SEED_BITS)
        try:
            returned = self.function(frame, **({"seed": seed} if self.draws_at_random else {}))
        except Exception as error:
            raise BadInputError(
                f"{self.made_of} failed with {type(error).__name__}; its message may show records and is left out, so "
                "call it by itself to see it"
            ) from None
        if returned is None:
            raise BadInputError(f"{self.made_of} returned nothing; it must return a frame")
        return Content(returned, cells)


def handed_rows(table: Table) -> tuple[pa.Table, Counts]:
    """Return the rows of a table as texts, in the columns that are published and an order that tells nothing.

    Behind them stands the cell of every row.
    """
    names = table.published
    tuples = table.engine.tuples(names, table.link)
    order = np.random.default_rng(ORDER_SEED).permutation(int(tuples.counts.sum()))
    row = np.repeat(np.arange(len(tuples.counts)), tuples.counts)[order]
    cell = tuples.cell[row]
    if isinstance(table, RemainingTable):
        left, cell = table.remaining(cell)
        row = row[left]
    columns = [
        pa.array(list(texts), pa.string()).take(pa.array(tuples.values[row, i])) for i, texts in enumerate(tuples.texts)
    ]
    return pa.table(columns, names), cell
