"""Comparing: the table as it stands, which candidates a study has, the map of measured points, its frontier."""

from sfumato.tradeoff.checking import Check, check
from sfumato.tradeoff.exploring import explore
from sfumato.tradeoff.folder import read_map
from sfumato.tradeoff.map import Map, Point, non_dominated
from sfumato.tradeoff.study import Candidate, Grid, Study, bundled_study, read_study

__all__ = [
    "Candidate",
    "Check",
    "Grid",
    "Map",
    "Point",
    "Study",
    "bundled_study",
    "check",
    "explore",
    "non_dominated",
    "read_map",
    "read_study",
]
