"""An anonymizer of transactions: a frozen configuration with one method; every release is verified from scratch.

The two ends of a map of transactions: the baskets as they are, and one item that replaces all.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.anonymizers.anonymizer import ReleaseMaker
from sfumato.data.items import Baskets
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.release.item_verification import verify, violations
from sfumato.release.items import BasketRelease, Recoding, global_release, set_recoding
from sfumato.requirements import items as item_rules
from sfumato.runtime.arrays import Codes
from sfumato.texts.catalogue import t

NOTHING = item_rules.SuppressionLimit()
"""The limit where nothing may be suppressed."""


@dataclass(frozen=True)
class Task:
    """The task: the baskets, the requirement, what may be generalized together, what may be suppressed."""

    baskets: Baskets
    requirement: item_rules.BasketRequirement
    utility: item_rules.UtilityConstraints | None = None
    limit: item_rules.SuppressionLimit = NOTHING
    worth: item_rules.ItemWeights | None = None
    """The weights of items, where the caller has read them already."""

    @property
    def blocks(self) -> Codes:
        """For every item the block within which it may be generalized; one block where nothing is asked."""
        if self.utility is None:
            return np.zeros(len(self.baskets.items), np.int32)
        return self.utility.blocks(self.baskets)


class BasketAnonymizer(ReleaseMaker, ABC):
    """Makes releases of baskets. Same configuration, same baskets, same release, whatever the order of records."""

    requirements: ClassVar[tuple[type[item_rules.BasketRequirement], ...]]
    """The kinds of requirements it can satisfy."""

    keeps_utility_constraints: ClassVar[bool] = False
    """Whether it generalizes within utility constraints, suppressing items that they leave no other way."""

    def anonymize(
        self,
        baskets: Baskets,
        requirement: item_rules.BasketRequirement,
        utility: item_rules.UtilityConstraints | None = None,
        limit: item_rules.SuppressionLimit | None = None,
    ) -> BasketRelease:
        """Make a release that satisfies the requirement, and verify from the published rows that it does.

        Raises `InfeasibleError` with the nearest feasible parameter where it finds none.
        """
        task = Task(baskets, requirement.counting(baskets.persons is not None), utility, limit or NOTHING)
        self.check_task(task)
        if not baskets.items:  # there is nothing to hide, and nothing to show
            return finished(global_release(baskets, set_recoding((), np.zeros(0, np.int64)), str(self)), task)
        return finished(self.release(task), task)

    def check_task(self, task: Task) -> None:
        """Refuse what this anonymizer cannot promise."""
        if not isinstance(task.requirement, self.requirements):
            known, other = " or ".join(kind.name for kind in self.requirements), task.requirement.name
            inferred = isinstance(task.requirement, item_rules.InferenceRequirement)
            instead = "td-control or suppress-control" if inferred else "another anonymizer"
            raise BadInputError(f"{self.name} satisfies {known}, not {other}; choose {instead}")
        if task.utility is not None and not self.keeps_utility_constraints:
            raise BadInputError(f"{self.name} knows no utility constraints; with {task.utility} use coat or upcta")

    def in_words(self) -> str:
        """Name it to people, with what is not usual about it in brackets as one would type it."""
        options = str(self).partition(" ")[2]
        return (self.title or self.name) + (f" ({options})" if options else "")

    @abstractmethod
    def release(self, task: Task) -> BasketRelease:
        """Make the release."""


def finished(release: BasketRelease, task: Task) -> BasketRelease:
    """Return a release that has been verified from its published rows; raise if it is not what was asked."""
    verify(release, task.requirement)
    check_policy(release, task)
    return release


def check_policy(release: BasketRelease, task: Task) -> None:
    """Raise unless items are generalized within their blocks, and no more is suppressed than allowed."""
    baskets = task.baskets
    used = task.limit.used(baskets, release.unpublished)
    if not task.limit.allows(used):
        nearest = replace(task.limit, share=float(np.ceil(used * 1e4) / 1e4))
        raise InfeasibleError(t("refusal.too_much_suppressed", task=task, used=used, nearest=nearest))
    if task.utility is None:
        return
    blocks = task.blocks
    for recoding in release.recodings:
        for members in recoding.members:
            assert len(set(blocks[list(members)].tolist())) == 1, "items of two utility constraints are one part"


def check_enough_records(task: Task, may_suppress: bool = False) -> None:
    """Raise where even one part for all items is in fewer than k records, unless all items can be suppressed."""
    most, k = task.baskets.filled, task.requirement.k
    if 0 < most < k and not (may_suppress and task.limit.share > 0):
        raise InfeasibleError(t("refusal.too_few_records_with_items", task=task, most=most, k=k))


ANYTHING = "*"
"""What stands for every item."""


@dataclass(frozen=True)
class OneItem(BasketAnonymizer):
    """Publish one item that replaces all: it shows which baskets have any item, and nothing else."""

    name: ClassVar[str] = "one-item"
    requirements: ClassVar[tuple[type[item_rules.BasketRequirement], ...]] = tuple(
        kind for kind in item_rules.BASKET_REQUIREMENTS if not issubclass(kind, item_rules.InferenceRequirement)
    )

    def release(self, task: Task) -> BasketRelease:
        """Publish every item as the same one."""
        items = task.baskets.items
        label = ANYTHING if ANYTHING not in items else set_recoding(items, np.zeros(len(items), np.int64)).labels[0]
        domain = len(items) if task.baskets.tree is None else task.baskets.tree.size
        check_enough_records(task)
        recoding = Recoding(np.zeros(len(items), np.int32), (label,), np.array([domain], np.int64), domain)
        return global_release(task.baskets, recoding, str(self))


@dataclass(frozen=True)
class OriginalBaskets(BasketAnonymizer):
    """The baskets as they are: not a release, but the other end of the map."""

    name: ClassVar[str] = "original"
    is_release: ClassVar[bool] = False
    requirements: ClassVar[tuple[type[item_rules.BasketRequirement], ...]] = item_rules.BASKET_REQUIREMENTS

    def release(self, task: Task) -> BasketRelease:
        """Publish every item as itself."""
        items = task.baskets.items
        release = global_release(task.baskets, set_recoding(items, np.arange(len(items))), str(self))
        if violations(release, task.requirement, 1):
            raise InfeasibleError(
                f"the original baskets do not satisfy {task.requirement}; take an anonymizer that does"
            )
        return release
