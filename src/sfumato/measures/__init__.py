"""What we say of a release."""

from sfumato.measures.adversary import GroupGains, group_gains
from sfumato.measures.all_measures import MEASURES, READ_NOISY, RECONSTRUCTED
from sfumato.measures.attack import Attack, Attacked
from sfumato.measures.classification.classification import Classification, Learned, Task
from sfumato.measures.classification.worth import Worth
from sfumato.measures.declaration import Measure
from sfumato.measures.definetti import DeFinetti, definetti
from sfumato.measures.groups import Measured, measure, of_groups
from sfumato.measures.published import published_risks
from sfumato.measures.queries import CLOSED_HALF_RANGES, HALF_RANGES, Queries
from sfumato.measures.reconstruction import READERS, EmReader, Reader, UniformReader
from sfumato.measures.scales import Prepared, Scales
from sfumato.release.populations import Populations, large_populations

__all__ = [
    "CLOSED_HALF_RANGES",
    "HALF_RANGES",
    "MEASURES",
    "READERS",
    "READ_NOISY",
    "RECONSTRUCTED",
    "Attack",
    "Attacked",
    "Classification",
    "DeFinetti",
    "EmReader",
    "GroupGains",
    "Learned",
    "Measure",
    "Measured",
    "Populations",
    "Prepared",
    "Queries",
    "Reader",
    "Scales",
    "Task",
    "UniformReader",
    "Worth",
    "definetti",
    "group_gains",
    "large_populations",
    "measure",
    "of_groups",
    "published_risks",
]
