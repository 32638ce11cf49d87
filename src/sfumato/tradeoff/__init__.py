"""Comparing: the table as it stands, which candidates a study has, the map of measured points, its frontier."""

from sfumato.tradeoff.bounds import Bound, read_bounds
from sfumato.tradeoff.checking import Check, check
from sfumato.tradeoff.choosing import BY, Choice, NothingFitsError
from sfumato.tradeoff.drafting import Draft, draft
from sfumato.tradeoff.exploring import explore
from sfumato.tradeoff.folder import read_map
from sfumato.tradeoff.map import Map, Point, non_dominated
from sfumato.tradeoff.recipients import RECIPIENTS, Recipient
from sfumato.tradeoff.study import Candidate, Grid, Study, bundled_study, read_study

__all__ = [
    "BY",
    "RECIPIENTS",
    "Bound",
    "Candidate",
    "Check",
    "Choice",
    "Draft",
    "Grid",
    "Map",
    "NothingFitsError",
    "Point",
    "Recipient",
    "Study",
    "bundled_study",
    "check",
    "draft",
    "explore",
    "non_dominated",
    "read_bounds",
    "read_map",
    "read_study",
]
