"""What we say of a release."""

from sfumato.measures.groups import Measured, measure, of_groups
from sfumato.measures.measure import MEASURES, Measure

__all__ = ["MEASURES", "Measure", "Measured", "measure", "of_groups"]
