"""The measures of sets of items, declared beside those of tables; `sfumato.transactions` works them out."""

from __future__ import annotations

from math import inf

from sfumato.measures.declaration import Measure

ESTIMATORS = {
    "half": "an item of a published set is in a record or not with probability 1/2",
    "expanded": "all items of a published set are in the record",
    "nonempty": "every non-empty part of a published set is equally likely",
    "uniform": "one item of a published set is in the record, each equally likely",
}
"""How a reader answers a query from a published set of items."""


def _of_baskets(name: str, kind: str, better: str, meaning: str, least: float = 0.0, most: float = inf) -> Measure:
    return Measure(name, kind, better, meaning, least, most, needs_sensitive=False, said_of="baskets")  # type: ignore[arg-type]


OF_BASKETS = (
    _of_baskets(
        "protected_risk",
        "risk",
        "lower",
        "1 / the fewest records that fit a set of items that the release promises to protect (privacy constraints)",
        0,
        1,
    ),
    _of_baskets(
        "itemset_risk",
        "risk",
        "lower",
        "1 / the fewest records that fit what an attacker may know of a person's items",
        0,
        1,
    ),
    _of_baskets(
        "itemset_risk_99", "risk", "lower", "the risk that 99 % of the sets of known items do not exceed", 0, 1
    ),
    _of_baskets(
        "itemset_risk_95", "risk", "lower", "the risk that 95 % of the sets of known items do not exceed", 0, 1
    ),
    _of_baskets("least_support", "risk", "higher", "fewest records that fit what an attacker may know"),
    _of_baskets("match_least", "risk", "higher", "attack: fewest records that fit the known items of a person"),
    _of_baskets("match_median", "risk", "higher", "attack: records that fit the known items of the median record"),
    _of_baskets("matched_below", "risk", "lower", "attack: share of the records whose known items fit too few", 0, 1),
    _of_baskets(
        "rho",
        "risk",
        "lower",
        "how sure an attacker gets of a sensitive item from the other known items (rho-uncertainty)",
        0,
        1,
    ),
    _of_baskets(
        "query_utility", "utility", "higher", "1 / are: usefulness for counting records with some items (Loukides 2012)"
    ),
    _of_baskets("bounded_utility", "utility", "higher", "1 / (1 + are): 1 where every answer is exact", 0, 1),
    _of_baskets("are", "utility", "lower", "mean relative error of counts of records with some items (0 is exact)"),
    _of_baskets("are_median", "utility", "lower", "median relative error of such counts"),
    *(_of_baskets(f"are_{name}", "utility", "lower", f"are, where {how}") for name, how in ESTIMATORS.items()),
    *(_of_baskets(f"utility_{name}", "utility", "higher", f"1 / are_{name}") for name in ("half", "expanded")),
    _of_baskets("ncp", "utility", "lower", "share of the items that a published item stands for, on average", 0, 1),
    _of_baskets("ul", "utility", "lower", "utility loss of set-based generalization (Loukides et al. 2011)"),
    _of_baskets("ul_log2", "utility", "lower", "log2 of ul, where ul is too small to be written", -inf),
    _of_baskets(
        "studies_supported",
        "utility",
        "higher",
        "studies whose items can still be told from all others, of those that were named",
    ),
    _of_baskets("items_suppressed", "utility", "lower", "share of the items that are published nowhere", 0, 1),
    _of_baskets("occurrences_suppressed", "utility", "lower", "share of the items of records that are left out", 0, 1),
)
