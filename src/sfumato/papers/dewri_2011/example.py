"""The example of section 5.4: tables 1 and 2, and what is true of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sfumato.anonymizers import CutVector
from sfumato.measures import measure
from sfumato.papers.results import Claim, claim_rows
from sfumato.requirements import KAnonymity
from sfumato.table import numeric, read, tree

row = claim_rows(__name__.rpartition(".")[0])

EXAMPLE = {
    "age": [15, 17, 20, 26, 28, 30, 30],
    "marital status": ["Never Married"] * 2 + ["Civ-Spouse", "AF-Spouse", "AF-Spouse", "Civ-Spouse", "AF-Spouse"],
}
STATUS: list[object] = [
    ["Not Married", "Never Married", ["Once-Married", "Divorced", "Widowed", "Separated"]],
    ["Married", "Spouse-Absent", "Civ-Spouse", "AF-Spouse"],
]


def example_claims() -> Iterator[Claim]:
    """Judge what the paper says of its two small tables."""
    domains = {"age": numeric(10, 39), "marital status": tree(STATUS)}
    whole = read(pa.table(EXAMPLE), quasi=["age", "marital status"], hierarchies=domains)
    secret = read(pa.table(EXAMPLE), quasi=["age"], sensitive=["marital status"], hierarchies=domains)
    weighted, safe, values = [], [], []
    for ages in ("20", "20|30"):
        status = '"marital status"="Spouse-Absent"'
        release = CutVector(f"age={ages}, {status}").anonymize(whole, KAnonymity(2))
        weighted.append(measure(release)["weighted_k"])
        hidden = CutVector(f"age={ages}").anonymize(secret, KAnonymity(2))
        measured = measure(hidden)
        safe.append([measured["k"], measured["l_distinct"]])
        assert hidden.histograms is not None
        values.append(sorted((hidden.histograms.counts > 0).sum(axis=1).tolist()))
    holds = np.allclose(weighted, [29 / 7, 17 / 7], rtol=0, atol=1e-12)
    yield row("weighted-k-example", [round(value, 6) for value in weighted], bool(holds))
    reason = f"the paper says T1 is (2,2)-safe; values per group of T1 and T2: {values}"
    yield row("safe-example", safe, safe == [[2, 1], [2, 1]], reason=reason)
