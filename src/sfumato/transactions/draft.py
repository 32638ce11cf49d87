"""A first study of baskets, for a person to correct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.phrases import counted
from sfumato.quiet import Quiet
from sfumato.release import check_targets, staged
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.files.declaration import BasketsDeclaration
from sfumato.transactions.study import ALLOWED, LOUKIDES_2012, BasketStudy, first_study

HINTS = """\
# A first study of baskets, written by `sfumato init`; correct it, then: sfumato check {to}, sfumato explore {to}
# What to look at:
# - [baskets] tree = "items.csv": a level table of the items lets AA generalize to groups that mean something, and
#   utility = "utility-constraints level=1" under [[candidates]] keeps items together that belong together;
# - [scales] known: how many items of a person an attacker may know; sensitive = ["..."]: items nobody should learn;
# - [[candidates]] requirements: k is how many records must fit, m how many known items are protected against.
"""


@dataclass(frozen=True, repr=False)
class BasketDraft(Quiet):
    """The study, and what was seen."""

    study: BasketStudy
    baskets: Baskets
    ks: Sequence[int]

    @property
    def notices(self) -> Sequence[str]:
        """What was noticed in reading."""
        return self.baskets.notices

    def write(self, to: Path, force: bool = False) -> None:
        """Write the study with comments."""
        check_targets([to], force, self.study.baskets.files)
        with staged([to]) as [file]:
            file.write_text(HINTS.format(to=to) + self.study.to_toml(to.parent), encoding="utf-8")

    def values(self, to: Path) -> dict[str, Any]:
        """Return what a program reads of it."""
        baskets = self.baskets
        return {"study": str(to), "baskets": baskets.origin, "records": baskets.size, "items": len(baskets.items)}

    def lines(self, to: Path) -> list[str]:
        """Say what was seen, and what comes next."""
        rows, items = counted(self.baskets.size, "record"), counted(len(self.baskets.items), "item")
        return [
            f"{self.baskets.origin}: {rows}, each a set of some of {items}. One record is taken for one person.",
            f"The study tries COAT (as its paper has it, and rarest first), AA and PCTA for k from {self.ks[0]} to "
            f"{self.ks[-1]} against an attacker who knows any two items. {_allowed(self.study)}",
            "",
            f"Next: correct {to}, then\n  sfumato check {to}\n  sfumato explore {to}",
        ]


def _allowed(study: BasketStudy) -> str:
    """Say what may be left out, and within what items are generalized."""
    constraints = next((each for grid in study.grids for each in grid.utility if each is not None), None)
    within = "" if constraints is None else f", and generalizes once more with {constraints.in_words()}"
    return f"It may suppress up to {100 * ALLOWED.share:g} % of the {ALLOWED.of}{within}."


def draft_baskets(declared: BasketsDeclaration) -> BasketDraft:
    """Look at baskets and draft a first study of them."""
    baskets = declared.open()
    ks = [k for k in LOUKIDES_2012 if k <= baskets.filled] or [1]
    name = declared.source if declared.is_bundled else Path(declared.source).name.partition(".")[0]
    return BasketDraft(first_study(name, declared.with_columns(), baskets, ks), baskets, ks)
