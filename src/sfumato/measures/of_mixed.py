"""The measures of tables with a column of items, declared beside all others; `sfumato.mixed` works them out.

All measures of tables and of baskets are said of them as well. Those of known items are counted within groups there:
whoever looks for a person knows the quasi-identifiers, too.
"""

from __future__ import annotations

from math import inf

from sfumato.measures.declaration import Measure


def _of_mixed(name: str, kind: str, better: str, meaning: str, least: float = 0.0, most: float = inf) -> Measure:
    return Measure(name, kind, better, meaning, least, most, needs_sensitive=False, said_of="items")  # type: ignore[arg-type]


OF_MIXED = (
    _of_mixed(
        "candidates", "risk", "higher", "fewest records that fit the quasi-identifiers and the known items of a person"
    ),
    _of_mixed(
        "joint_match_least", "risk", "higher", "attack by both: fewest records that fit what is known of a person"
    ),
    _of_mixed(
        "joint_match_median", "risk", "higher", "attack by both: records that fit what is known of the median record"
    ),
    _of_mixed(
        "joint_matched_below", "risk", "lower", "attack by both: share of the records with too few that fit", 0, 1
    ),
    _of_mixed(
        "joint_query_error",
        "utility",
        "lower",
        "mean relative error of counts of records with some quasi-identifiers and items (0 is exact)",
    ),
    _of_mixed("joint_query_error_median", "utility", "lower", "median relative error of such counts"),
)
