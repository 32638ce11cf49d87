"""A first study of a table with items, for a person to correct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.mixed.declaration import MixedDeclaration
from sfumato.mixed.mixed_table import MixedTable
from sfumato.mixed.study import USUAL_KS, MixedStudy, usual_study
from sfumato.phrases import counted, listed
from sfumato.quiet import Quiet
from sfumato.release import check_targets, staged

HINTS = """\
# A first study of a table with items, written by `sfumato init`; correct it, then:
#   sfumato check {to}, sfumato explore {to}
# What to look at:
# - [table] quasi: what others may know of a person; sensitive: what nobody should learn, published as it is;
# - [items] tree = "codes.csv": a level table of the items lets AA generalize to groups that mean something;
#   sensitive = ["..."]: items, or nodes of the tree, that a requirement on this column is about;
# - [[candidates]] sets: with "group" a published set tells which items somebody in its group has, with "common" not;
# - [scales] known: how many items of a person an attacker may know beside the quasi-identifiers;
# - [[candidates]] merging: groups are merged as long as the table loses at most `bound`, so that items lose less.
"""


@dataclass(frozen=True, repr=False)
class MixedDraft(Quiet):
    """The study, and what was seen."""

    study: MixedStudy
    data: MixedTable
    ks: Sequence[int]

    @property
    def notices(self) -> Sequence[str]:
        """What was noticed in reading."""
        return self.data.notices

    def write(self, to: Path, force: bool = False) -> None:
        """Write the study with comments."""
        check_targets([to], force, self.study.data.files)
        with staged([to]) as [file]:
            file.write_text(HINTS.format(to=to) + self.study.to_toml(to.parent), encoding="utf-8")

    def values(self, to: Path) -> dict[str, Any]:
        """Return what a program reads of it."""
        data = self.data
        return {
            "study": str(to),
            "table": data.origin,
            "records": data.records,
            "quasi": [quasi.name for quasi in data.cells.quasi],
            "items": len(data.baskets.items),
        }

    def lines(self, to: Path) -> list[str]:
        """Say what was seen, and what comes next."""
        data = self.data
        rows, items = counted(data.records, "record"), counted(len(data.baskets.items), "item")
        return [
            f"{data.origin}: {rows}, each with {listed([quasi.name for quasi in data.cells.quasi])} and a set of some "
            f"of {items} ({data.column}). One record is taken for one person.",
            f"The study makes groups by Mondrian and items by COAT and AA, with and without merging, and items without "
            f"quasi-identifiers by COAT, for k from {self.ks[0]} to {self.ks[-1]} against an attacker who knows the "
            "quasi-identifiers and any two items.",
            "",
            f"Next: correct {to}, then\n  sfumato check {to}\n  sfumato explore {to}",
        ]


def draft_mixed(declared: MixedDeclaration, data: MixedTable) -> MixedDraft:
    """Draft a first study of a table with items."""
    ks = [k for k in USUAL_KS if k <= data.records] or [1]
    name = Path(str(declared.table.source)).name.partition(".")[0]
    return MixedDraft(usual_study(name, declared, ks), data, ks)
