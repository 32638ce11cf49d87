"""Local suppression: single values are blanked, as few as will do, until the requirement holds.

    Willenborg & de Waal 2001; in sdcMicro `localSuppression`, in mu-Argus with importance weights.

    Choose for every record which of its values are blanked (`*`), such that every group of records with equal texts
    satisfies the requirement, and the weighted number of blanks is as small as possible.

A blank is the whole domain of its column, so this is local recoding in hierarchies that have nothing between the
values and the root. It is searched by `local_recoding`: a sweep over which columns are blanked, from few to many; then
groups are dissolved and their records move to where that costs least. The number of blanks is a heuristic's: on tables
small enough to try everything it is never more than twice the least, and a twentieth more in all (a test). The weights
are the table's, or those given here: a blank in a column of weight 2 costs as much as two in a column of weight 1.

Promised: the requirement, for the texts as they are published. A blank is a text like any other here: two records are
in one group if they show the same values and the same blanks. In sdcMicro a blank matches every value, so fewer blanks
seem to be enough; but an attacker who knows how blanks were set can distinguish such records. Values that are shown
are truthful and exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.anonymizers.full_domain.full_domain import column_weights
from sfumato.anonymizers.local_recoding.local_recoding import LocalRecoding
from sfumato.config.options import Option, seed_option
from sfumato.data.reading import Table
from sfumato.errors import BadInputError
from sfumato.release.release import Form, Release, generalization
from sfumato.requirements.requirement import Requirement
from sfumato.texts.catalogue import counted


@dataclass(frozen=True)
class LocalSuppression(Anonymizer):
    """Blank the fewest single values, weighted by how important their columns are."""

    weights: Annotated[str, Option()] = ""
    """How much a blank in a column counts, such as `age=2, sex=0.5`. Default: its weight in the table."""

    passes: Annotated[int, Option(least=0)] = 3
    """How often groups are dissolved and formed again; 0 keeps the groups of the sweep."""

    seed: Annotated[int | None, seed_option("Which of several records with equal quasi-identifiers go where.")] = None

    name: ClassVar[str] = "local-suppression"
    effort: ClassVar[float] = 35.0
    counts_persons = True
    keeps_cells = False

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Find which values are blanked."""
        if form != "generalization":
            raise BadInputError("local-suppression blanks values; a bucketization would publish all of them")
        weights = column_weights(self.weights, table.cells.quasi)
        flat = table.over(
            [
                replace(quasi, hierarchy=quasi.hierarchy.without_nodes(), weight=weight)
                for quasi, weight in zip(table.cells.quasi, weights, strict=True)
            ]
        )
        blanked = LocalRecoding(self.passes, self.seed).release(flat, requirement, form, budget)
        boxes = blanked.boxes
        release = generalization(table, blanked.assignment, boxes.lo, boxes.hi, ranges=None)
        return replace(release, details={"blanks": blanks(release)})

    def account(self, release: Release) -> list[str]:
        """Report how many values of which column were blanked."""
        each = ", ".join(f"{name} {number:,}" for name, number in release.details["blanks"].items())
        return [f"Blanked values, of {counted(release.records, 'published record')}: {each}."]


def blanks(release: Release) -> Mapping[str, int]:
    """Count the blanked values of every quasi-identifier."""
    boxes = release.boxes
    return {
        quasi.name: int(boxes.mass[boxes.lo[:, a] < boxes.hi[:, a]].sum())
        for a, quasi in enumerate(release.cells.quasi)
    }
