"""A release by its cuts: every attribute's domain is cut in the same places for all records (Dewri et al. 2011).

This makes one point of the frontier that `tradeoff.search.pareto` finds; groups that the requirement does not admit are
suppressed, as far as the budget allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers.anonymizer import Anonymizer, check_budget
from sfumato.anonymizers.cut_vector.space import leaf_starts, read_cuts
from sfumato.anonymizers.full_domain.full_domain import recoded
from sfumato.configuration import Option
from sfumato.errors import BadInputError
from sfumato.release import Form, Release
from sfumato.requirements import Requirement
from sfumato.table import Table


@dataclass(frozen=True)
class CutVector(Anonymizer):
    """Publish, in place of every value, the part of its domain between two cuts.

    >>> str(CutVector("age=20|40, sex=@0"))
    'cut-vector cuts="age=20|40, sex=@0"'
    """

    cuts: Annotated[
        str,
        Option(
            "The value that begins each part, or @ and a level of the hierarchy; an attribute without cuts is shown as "
            "`*`."
        ),
    ]
    name: ClassVar[str] = "cut-vector"
    example: ClassVar[str | None] = 'cut-vector cuts="age=20|40, sex=@0"'
    treats_households_alike = True
    counts_persons = True
    is_found: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        read_cuts(self.cuts)

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Cut, and suppress the groups that are not admitted."""
        cells = table.cells
        named, names = dict(read_cuts(self.cuts)), [quasi.name for quasi in cells.quasi]
        for name in named:
            if name not in names:
                raise BadInputError(f"cuts: {name!r} is no quasi-identifier; these are {', '.join(names)}")
        lo, hi = np.empty_like(cells.codes), np.empty_like(cells.codes)
        for a, quasi in enumerate(cells.quasi):
            starts = leaf_starts(quasi.name, quasi.hierarchy, named.get(quasi.name, ()))
            part = np.searchsorted(starts, cells.codes[:, a], side="right") - 1
            lo[:, a] = starts[part]
            hi[:, a] = (np.append(starts[1:], quasi.hierarchy.size) - 1)[part]
        release = recoded(table, requirement, form, lo, hi, draw_in=True)
        check_budget(release, requirement, budget, "with these cuts", "make fewer cuts")
        return replace(release, details={"cuts": self.cuts})
