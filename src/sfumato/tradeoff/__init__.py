"""Comparing: the table as it stands, which candidates a study has, the map of measured points, its frontier."""
# mypy: implicit-reexport

from sfumato.tradeoff.check import Check, check
from sfumato.tradeoff.choice.bounds import Bound, read_bounds
from sfumato.tradeoff.choice.choice import Choice, NothingFitsError
from sfumato.tradeoff.choice.question import Question, read_question
from sfumato.tradeoff.choice.recipients import RECIPIENTS
from sfumato.tradeoff.choice.reply import Reply, ask
from sfumato.tradeoff.dominance import non_dominated
from sfumato.tradeoff.exploration.exploration import explore
from sfumato.tradeoff.exploration.folder import read_map
from sfumato.tradeoff.levels import ColumnHierarchy, hierarchy
from sfumato.tradeoff.limit.limit import Limit
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.search.archive import Frontier, FrontierPoint
from sfumato.tradeoff.search.enumeration import exact
from sfumato.tradeoff.search.measured_problem import MeasuredProblem, problem
from sfumato.tradeoff.search.pareto import NSGA2, Search, pareto
from sfumato.tradeoff.search.problems import Problem, Problem1, Problem2, Problem3, Problem4
from sfumato.tradeoff.search.tuner import tune
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.draft import Draft, draft
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.presets import bundled_study
from sfumato.tradeoff.study.study import Study, of_table, read_study
