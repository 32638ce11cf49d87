"""Dewri, Ray, Ray & Whitley, "Exploring Privacy versus Data Quality Tradeoffs in Anonymization Techniques", 2011.

NSGA-II over cut vectors of Adult's 30,162 complete training records, problems 1 to 4. The paper prints neither its
hierarchies nor the granularity of age: these are the bundled hierarchies and five-year ages (level 1), frozen before
any result was looked at, so its points are comparable in shape only. Losses count atoms: ages in steps of five years.
In problem 4 occupation is sensitive: it leaves the quasi-identifiers and the columns that losses are a share of.
Problem 4 is solved in its sound form; the printed one is run beside it to see how often its claims fail.
"""

from __future__ import annotations

from sfumato.papers.dewri_2011.example import example_claims
from sfumato.papers.dewri_2011.figures import figures
from sfumato.papers.dewri_2011.front_claims import front_claims
from sfumato.papers.dewri_2011.question_claims import question_claims
from sfumato.papers.dewri_2011.safe_claims import safe_claims
from sfumato.papers.dewri_2011.shape_claims import shape_claims
from sfumato.papers.dewri_2011.solver_claims import solver_claims
from sfumato.papers.dewri_2011.study import LARGE, USUAL, Dewri2011, Progress
from sfumato.papers.results import Results
from sfumato.tradeoff import NSGA2


def reproduce(progress: Progress | None = None, usual: NSGA2 = USUAL, large: NSGA2 = LARGE) -> Results:
    """Search all frontiers and hold the paper's claims against them."""
    study = Dewri2011(progress, usual, large)
    parts = (front_claims, shape_claims, safe_claims, solver_claims, question_claims)
    claims = [*example_claims(), *(claim for part in parts for claim in part(study))]
    return Results("dewri-2011", claims, list(figures(study)))
