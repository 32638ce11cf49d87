"""The measures of fidelity, as they are declared; all of them can be said of every kind of release."""

from __future__ import annotations

from math import inf
from typing import Literal

from sfumato.measures.declaration import Measure


def _declared(name: str, better: Literal["lower", "higher"], meaning: str, most: float = inf) -> Measure:
    return Measure(name, "utility", better, meaning, 0, most, needs_sensitive=False, reads_noisy=True)


OF_FIDELITY = (
    _declared(
        "marginal_error_1", "lower", "how far the distribution of a column is from the original's: half L1, mean", 1
    ),
    _declared("marginal_error_2", "lower", "the same for every two columns together", 1),
    _declared("marginal_error_3", "lower", "the same for every three columns together", 1),
    _declared("nist_score", "higher", "NIST's k-marginal score: 1000 x (1 - the error of three columns)", 1000),
    _declared(
        "sample_equivalent",
        "higher",
        "the share of the records of which a random sample has the same error of two columns",
        1,
    ),
    _declared(
        "pmse", "lower", "how well release and original can be told apart, by all columns together (1/4: always)", 0.25
    ),
    _declared("pmse_tree", "lower", "the same as a decision tree tells them apart", 0.25),
    _declared("correlation_error", "lower", "how far associations of two columns are from the original's, mean", 2),
    _declared(
        "interval_overlap",
        "higher",
        "how much confidence intervals of regression coefficients overlap with the original's (Karr et al. 2006)",
        1,
    ),
)
FIDELITY = tuple(measure.name for measure in OF_FIDELITY)
"""Their names."""

MARGINALS = FIDELITY[:3]
"""The errors of one column, two and three."""
