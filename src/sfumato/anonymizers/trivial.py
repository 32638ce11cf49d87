"""The two trivial sanitizations (Brickell & Shmatikov 2008), and the original table as it is.

Publish nothing identifying, or nothing sensitive: every other release has to be better than these to be worth its
risk. The original marks the other end of the map: no loss, full risk.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.anonymizers.anonymizer import Anonymizer, infeasible
from sfumato.data.reading import Table
from sfumato.release.release import Form, Release, generalization
from sfumato.requirements.requirement import Requirement
from sfumato.texts.catalogue import refusal, t


@dataclass(frozen=True)
class WithoutQuasi(Anonymizer):
    """One group of all records, every quasi-identifier `*`: only the sensitive values remain."""

    name: ClassVar[str] = "without-quasi"
    treats_households_alike = True
    counts_persons = True

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Make the release of one group."""
        if form != "generalization":
            raise refusal("without_quasi_publishes_no")
        cells = table.cells
        if not requirement.admits(cells.baseline)[0]:
            raise infeasible(requirement, cells.baseline, t("refusal.even_all_records_group"))
        lo, hi = cells.whole
        return generalization(table, cells.assigned(np.zeros(cells.size, np.int64)), lo[None], hi[None])


@dataclass(frozen=True)
class WithoutSensitive(Anonymizer):
    """The quasi-identifiers as they are, and no sensitive attribute."""

    name: ClassVar[str] = "without-sensitive"
    shows_exact: ClassVar[bool] = True
    treats_households_alike = True
    counts_persons = True

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Make the release of exact quasi-identifiers; groups are records that agree in all of them."""
        if form != "generalization":
            raise refusal("without_sensitive_publishes_no")
        return _exact(table, sensitive=False)


@dataclass(frozen=True)
class Original(Anonymizer):
    """The table as it is: groups are records that agree in all quasi-identifiers. A baseline, not a protection."""

    name: ClassVar[str] = "original"
    is_release: ClassVar[bool] = False
    shows_exact: ClassVar[bool] = True
    treats_households_alike = True
    counts_persons = True

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Make the release of exact quasi-identifiers with their sensitive values."""
        if form != "generalization":
            raise refusal("original_published")
        return _exact(table, sensitive=True)


def _exact(table: Table, sensitive: bool) -> Release:
    """Publish the quasi-identifiers as they are; groups are records that agree in all of them."""
    points = table.cells.points
    return generalization(table, table.cells.assigned(points.number), points.codes, points.codes, sensitive)
