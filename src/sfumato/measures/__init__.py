"""What we say of a release."""

from sfumato.measures.adversary import GroupGains, group_gains
from sfumato.measures.attack import Attack, Attacked
from sfumato.measures.classification import Classification, Learned, Task
from sfumato.measures.groups import Measured, measure, of_groups
from sfumato.measures.measure import MEASURES, READ_NOISY, Measure
from sfumato.measures.queries import HALF_RANGES, Queries
from sfumato.measures.scales import Prepared, Scales
from sfumato.measures.worth import Worth
from sfumato.release.populations import Populations, large_populations

__all__ = [
    "HALF_RANGES",
    "MEASURES",
    "READ_NOISY",
    "Attack",
    "Attacked",
    "Classification",
    "GroupGains",
    "Learned",
    "Measure",
    "Measured",
    "Populations",
    "Prepared",
    "Queries",
    "Scales",
    "Task",
    "Worth",
    "group_gains",
    "large_populations",
    "measure",
    "of_groups",
]
