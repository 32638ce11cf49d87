"""The two ends of a map of baskets: the baskets as they are, and one item in place of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.anonymizers.items.item_anonymizer import BasketAnonymizer, Task, check_enough_records
from sfumato.errors import InfeasibleError
from sfumato.release.items import BasketRelease, Recoding, global_release, set_recoding
from sfumato.release.verification import violations
from sfumato.requirements import BASKET_REQUIREMENTS
from sfumato.requirements.inference import InferenceRequirement
from sfumato.requirements.items import BasketRequirement

ANYTHING = "*"
"""What stands for every item."""


@dataclass(frozen=True)
class OneItem(BasketAnonymizer):
    """Publish one item in place of all: who has any item at all, and nothing else."""

    name: ClassVar[str] = "one-item"
    title: ClassVar[str] = "all items as one"
    baseline: ClassVar[str] = "One item is published in place of all: it says who has any item at all"
    called: ClassVar[str] = "the trivial release of one item in place of all"
    caution: ClassVar[str] = (
        "It is a trivial release: all items are published as one, which says who has any item at all."
    )
    requirements: ClassVar[tuple[type[BasketRequirement], ...]] = tuple(
        kind for kind in BASKET_REQUIREMENTS if not issubclass(kind, InferenceRequirement)
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
    title: ClassVar[str] = "original baskets"
    baseline: ClassVar[str] = "The original baskets as they are: no loss, full risk"
    called: ClassVar[str] = "the original baskets, which are not a release"
    is_release: ClassVar[bool] = False
    requirements: ClassVar[tuple[type[BasketRequirement], ...]] = BASKET_REQUIREMENTS

    def release(self, task: Task) -> BasketRelease:
        """Publish every item as itself."""
        items = task.baskets.items
        release = global_release(task.baskets, set_recoding(items, np.arange(len(items))), str(self))
        if violations(release, task.requirement, 1):
            raise InfeasibleError(
                f"the original baskets do not satisfy {task.requirement}; take an anonymizer that does"
            )
        return release
