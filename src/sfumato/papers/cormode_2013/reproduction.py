"""Cormode, Procopiuc, Shen, Srivastava & Yu, "Empirical Privacy and Empirical Utility of Anonymized Data", 2013.

Mondrian trees for k, l and t and private kd-trees are boxes with histograms alike, so one naive Bayes attack and one
workload of queries put them on one map. `cormode_study` makes and measures them, `cormode_claims` compares them with
the paper, `cormode_figures` draws its figures.
"""

from __future__ import annotations

from sfumato.papers.claims import Progress, Results
from sfumato.papers.cormode_2013.claims import claims
from sfumato.papers.cormode_2013.figures import figures
from sfumato.papers.cormode_2013.study import Cormode2013


def reproduce(progress: Progress | None = None) -> Results:
    """Make and measure everything, and compare it with the paper."""
    study = Cormode2013(progress)
    return Results("cormode-2013", list(claims(study)), list(figures(study)))
