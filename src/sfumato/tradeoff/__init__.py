"""Comparing: the table as it stands, which candidates a study has, the map of measured points, its frontier."""

from sfumato.tradeoff.answers import Answer
from sfumato.tradeoff.archive import Frontier, FrontierPoint
from sfumato.tradeoff.bounds import Bound, read_bounds
from sfumato.tradeoff.checking import Check, check
from sfumato.tradeoff.choosing import BY, Choice, NothingFitsError
from sfumato.tradeoff.drafting import Draft, draft
from sfumato.tradeoff.exploring import explore
from sfumato.tradeoff.folder import read_map
from sfumato.tradeoff.limit import Limit
from sfumato.tradeoff.map import Map, Point, non_dominated
from sfumato.tradeoff.map_questions import ask
from sfumato.tradeoff.measured_problem import MeasuredProblem, problem
from sfumato.tradeoff.pareto import NSGA2, Search, exact, pareto
from sfumato.tradeoff.problems import Problem, Problem1, Problem2, Problem3, Problem4
from sfumato.tradeoff.questions import k_and_l, with_suppression, without_suppression
from sfumato.tradeoff.recipients import RECIPIENTS, Recipient
from sfumato.tradeoff.scoring import Scores
from sfumato.tradeoff.study import Candidate, Grid, Study, bundled_study, of_table, read_study
from sfumato.tradeoff.tuning import tune

__all__ = [
    "BY",
    "NSGA2",
    "RECIPIENTS",
    "Answer",
    "Bound",
    "Candidate",
    "Check",
    "Choice",
    "Draft",
    "Frontier",
    "FrontierPoint",
    "Grid",
    "Limit",
    "Map",
    "MeasuredProblem",
    "NothingFitsError",
    "Point",
    "Problem",
    "Problem1",
    "Problem2",
    "Problem3",
    "Problem4",
    "Recipient",
    "Scores",
    "Search",
    "Study",
    "ask",
    "bundled_study",
    "check",
    "draft",
    "exact",
    "explore",
    "k_and_l",
    "non_dominated",
    "of_table",
    "pareto",
    "problem",
    "read_bounds",
    "read_map",
    "read_study",
    "tune",
    "with_suppression",
    "without_suppression",
]
