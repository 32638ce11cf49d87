"""What we say of a release."""

from sfumato.measures.groups import Measured, measure, of_groups
from sfumato.measures.measure import MEASURES, Measure
from sfumato.measures.populations import Populations, large_populations
from sfumato.measures.queries import Queries
from sfumato.measures.scales import Prepared, Scales

__all__ = [
    "MEASURES",
    "Measure",
    "Measured",
    "Populations",
    "Prepared",
    "Queries",
    "Scales",
    "large_populations",
    "measure",
    "of_groups",
]
