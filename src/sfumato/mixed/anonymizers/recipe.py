"""Making releases of a table with items: groups of the table first, then the items of every group.

    relational := any maker of tables, for k-anonymity and whatever else is asked of groups
    groups     := merged, where that is asked for (`merging`)
    items      := of every group, k^m-anonymous by any maker of baskets (`grouped_items`)

Any maker of tables goes with any maker of baskets. The form is generalization: a bucketization shows exact
quasi-identifiers, so who knows them and an item of a person would find the record. Every release is verified from what
it publishes before anybody sees it (`verification`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfumato.anonymizers import Anonymizer, Maker, anonymizer
from sfumato.anonymizers.anonymizer import checked
from sfumato.arrays import Counts
from sfumato.configuration import check_choice
from sfumato.errors import BadInputError
from sfumato.mixed.anonymizers.grouped_items import SETS, GroupedItems, Sets, check_limit
from sfumato.mixed.anonymizers.merging import Bounded, Merger, Merging, NoMerging, merging
from sfumato.mixed.anonymizers.placed import Placed, placed
from sfumato.mixed.mixed_table import MixedTable
from sfumato.mixed.policy import MixedRequirement, mixed_requirement
from sfumato.mixed.release import MixedRelease, rows_of
from sfumato.mixed.verification import verify
from sfumato.release import Form, Release, generalization, widened
from sfumato.table import Assignment, Ranges, distinct_rows, ranges
from sfumato.transactions.anonymizers.anonymizer import BasketAnonymizer
from sfumato.transactions.anonymizers.registry import DEFAULT_MAKER, candidate_maker
from sfumato.transactions.policy import SuppressionLimit, UtilityConstraints, suppression_limit, utility_constraints

FORM: Form = "generalization"


@dataclass(frozen=True)
class MixedRecipe:
    """How a release is made: who makes the groups, who the items, and what may be lost."""

    anonymizer: Maker
    requirement: MixedRequirement
    item_anonymizer: BasketAnonymizer
    merging: Merging = field(default_factory=NoMerging)
    suppress: float = 0.0
    utility: UtilityConstraints | None = None
    limit: SuppressionLimit = field(default_factory=SuppressionLimit)
    sets: Sets = "group"

    def __post_init__(self) -> None:
        check_choice("sets", self.sets, SETS)
        if self.sets == "common" and self.utility is not None and self.utility.file is not None:
            raise BadInputError(
                f"{self.utility}: common sets are nodes of a tree, which the lines of a file know nothing of; take a "
                'level of the tree (--utility "utility-constraints level=1"), or leave out --sets common'
            )

    def check(self, data: MixedTable | None = None) -> None:
        """Refuse what cannot be promised, before anything is made."""
        if not isinstance(self.anonymizer, Anonymizer):
            raise BadInputError(
                f"{self.anonymizer.name} satisfies no requirement, so nothing could be promised of a person's items; "
                "use mondrian, full-domain or another that does (--with)"
            )
        if data is not None:
            GroupedItems(data, self.item_anonymizer, self.requirement.of_items, self.utility, self.sets)
            self.requirement.of_groups.compile(data.cells.sensitive)

    def make(self, data: MixedTable) -> MixedRelease:
        """Make the release and verify it."""
        self.check()
        assert isinstance(self.anonymizer, Anonymizer)
        items = GroupedItems(data, self.item_anonymizer, self.requirement.of_items, self.utility, self.sets)
        wanted = self.requirement.of_groups
        relational = self.anonymizer.anonymize(data.table, wanted, FORM, self.suppress)
        if relational.histograms is None and data.cells.sensitive:
            raise BadInputError(f"{self.anonymizer.name} leaves the sensitive columns out; leave them out of the study")
        entries = placed(data, relational.assignment)
        if isinstance(self.merging, Bounded):
            ends = self.anonymizer.ranges_of(data.table)
            merged = Merger(self.merging, relational, entries, items, wanted, ends).run()
            relational, entries = _merged(relational, entries, merged, ends)
            checked(relational, wanted)
        release = _with_items(data, relational, entries, items, str(self))
        occurrences = release.suppressed_occurrences
        check_limit(self.limit, data, release.suppressed_items, occurrences, self.requirement)
        verify(release, self.requirement)
        return release

    def __str__(self) -> str:
        merging = "" if isinstance(self.merging, NoMerging) else f", {self.merging}"
        sets = f", {self.sets} sets" if self.sets != "group" else ""
        return f"{self.anonymizer} with {self.item_anonymizer}{merging}{sets}"


def _merged(relational: Release, entries: Placed, merged: Counts, ends: Ranges) -> tuple[Release, Placed]:
    """Publish merged groups by the smallest box around theirs, with ends that are published as theirs were.

    Groups of one value each may become a range, so ends are rounded again.
    """
    number = np.unique(merged, return_inverse=True)[1].ravel()
    hull = ranges(number, relational.boxes.lo, relational.boxes.hi)
    lo, hi = widened(relational.cells, *hull, ends)
    first, alike = distinct_rows(np.concatenate([lo, hi], axis=1))  # groups that look the same are one
    number = alike[number]
    assigned = relational.assignment
    assignment = Assignment.gathered(assigned.cell, number[assigned.group], assigned.count)
    sensitive = relational.histograms is not None
    release = generalization(relational.table, assignment, lo[first], hi[first], sensitive, ranges=None)
    return release, Placed(entries.pair, number[entries.group], entries.count)


def _with_items(
    data: MixedTable, relational: Release, entries: Placed, items: GroupedItems, maker: str
) -> MixedRelease:
    """Make the items of every group anonymous."""
    group, basket, count = rows_of(data, entries)
    at = np.searchsorted(group, np.arange(relational.groups + 1))
    published = [
        items.published(basket[at[number] : at[number + 1]], count[at[number] : at[number + 1]])
        for number in range(relational.groups)
    ]
    part = np.concatenate(published) if published else np.zeros(0, np.int32)
    return MixedRelease(data, relational, entries, group, basket, count, items.parts.done(), part, maker)


def anonymize_mixed(
    data: MixedTable,
    require: MixedRequirement | str,
    maker: Maker | str = "mondrian",
    item_maker: BasketAnonymizer | str = DEFAULT_MAKER,
    merge: Merging | str = "none",
    suppress: float = 0.0,
    utility: UtilityConstraints | str | None = None,
    limit: SuppressionLimit | str | None = None,
    sets: Sets = "group",
) -> MixedRelease:
    """Make one release of a table with items that satisfies a requirement, verified; everything may be given as text.

    >>> from sfumato.mixed.declaration import read_mixed
    >>> import pyarrow
    >>> frame = pyarrow.table({"age": ["34", "36", "51", "58"], "codes": [["250"], ["250"], ["401"], ["401"]]})
    >>> release = anonymize_mixed(read_mixed(frame, quasi=["age"], items="codes"), "k-km-anonymity k=2 m=1")
    >>> release.records, release.relational.groups
    (4, 2)
    """
    recipe = MixedRecipe(
        anonymizer(maker) if isinstance(maker, str) else maker,
        mixed_requirement(require) if isinstance(require, str) else require,
        candidate_maker(item_maker) if isinstance(item_maker, str) else item_maker,
        merging(merge) if isinstance(merge, str) else merge,
        suppress,
        utility_constraints(utility) if isinstance(utility, str) else utility,
        suppression_limit(limit) if isinstance(limit, str) else limit or SuppressionLimit(),
        sets,
    )
    recipe.check(data)
    return recipe.make(data)
