"""How much may be left out of a release of baskets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.arrays import Numbers
from sfumato.configuration import Configured, Option, parse
from sfumato.phrases import percent
from sfumato.transactions.baskets import Baskets


@dataclass(frozen=True)
class SuppressionLimit(Configured):
    """How much may be left out: a share of the items, or of their occurrences in records."""

    share: Annotated[float, Option("The largest share that may be left out.", least=0, most=1)] = 0.0
    of: Annotated[Literal["items", "occurrences"], Option("Of the items, or of their occurrences in records.")] = (
        "items"
    )
    name: ClassVar[str] = "suppression"

    def used(self, baskets: Baskets, suppressed: Iterable[int]) -> float:
        """Return the share that suppressing these items takes."""
        gone = np.fromiter(suppressed, np.int64)
        if self.of == "items":
            return len(gone) / max(len(baskets.items), 1)
        return float(baskets.supports[gone].sum()) / max(baskets.occurrences, 1)

    def shares(self, baskets: Baskets) -> Numbers:
        """Return for every item how much of all its suppression takes."""
        if self.of == "items":
            return np.full(len(baskets.items), 1 / max(len(baskets.items), 1))
        return baskets.supports / max(baskets.occurrences, 1)

    def allows(self, share: float) -> bool:
        """Say whether a share is within the limit."""
        return share <= self.share + 1e-9

    def rule_in_words(self) -> str:
        """Say how much may be left out."""
        return f"at most {percent(self.share, 3)} of the {self.of} left out"


def suppression_limit(text: str) -> SuppressionLimit:
    """Read a limit from its text form, such as `suppression share=.05 of=occurrences`."""
    return parse(text, (SuppressionLimit,), "limit")
