"""What a measure declares of itself: name, risk or utility, direction, range, what it needs, and what it means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Literal


@dataclass(frozen=True)
class Measure:
    """The declaration of one number that can be said of a release."""

    name: str
    kind: Literal["risk", "utility"]
    better: Literal["lower", "higher"]
    meaning: str
    least: float = 0.0
    most: float = inf
    needs_sensitive: bool = True
    reads_noisy: bool = False
    """Whether it can be said of a noisy or synthetic release, which has boxes and counts but no groups of people."""

    said_of: Literal["table", "baskets", "items"] = "table"
    """What it is said of: a release of a table, of sets of items, or of a table with items, of which all is said."""

    by_persons: bool = False
    """Whether it is a risk that is defined where persons, not records, are counted."""

    function: Callable[[Any], float] | None = None
    """What works it out from a release; those that share their work have none and are worked out together."""

    @property
    def holds_of_persons(self) -> bool:
        """Whether it can be said where persons are counted: utility is that of records, risks are those of persons."""
        return self.by_persons or self.kind == "utility"

    def is_said_of(self, section: str) -> bool:
        """Say whether it can be said of what a kind of study is about."""
        return section in (self.said_of, "items")
