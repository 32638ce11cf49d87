"""The measures of sets of items, declared beside those of tables; `sfumato.transactions` works them out.

Risks that follow from a published file and from what was promised beforehand, so that anybody may be told them.

`a_know` compares groups with Q, the distribution of the whole table, suppressed records included; whoever has the file
could solve it for the suppressed values. Here the distribution is that of the file, F. If at most the share a of all
records was left out, Q = (1 - s) F + s R for some s <= a and some distribution R of the suppressed values. Half L1 is
convex in Q, so the measure against Q is at most (1 - a) x + a, where x is the one against F. That bound is returned: no
suppressed value enters it, and no risk is above it. Risks of the worst group are left out: a record that this release
publishes may be missing in another one, and moves its group as far as the group is small.

The attacks as measures: what a map can be drawn on.

The measures of fidelity, as they are declared; all of them can be said of every kind of release.

The measures of tables with a column of items, declared beside all others; `sfumato.mixed` works them out.

All measures of tables and of baskets are said of them as well. Those of known items are counted within groups there:
whoever looks for a person knows the quasi-identifiers, too.

All measures by name.
"""

from __future__ import annotations

from math import inf, log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.measures.measure import Measure
from sfumato.release.release import Release
from sfumato.requirements._predicates import SIZE
from sfumato.requirements.requirement import Requirement

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

STRETCH = 1 << 16
"""Groups that are looked at together."""


def published_risks(release: Release, requirement: Requirement, suppress: float) -> dict[str, float]:
    """Bound the risks of a release by its promise, its file, and the share of records that may be suppressed."""
    sizes = [least for kind, least, _ in requirement.rules() if kind == SIZE]
    risks = {"k": max(sizes)} if sizes and release.form == "generalization" else {}
    if release.cells.persons is not None:  # the rest counts records
        return risks
    if release.histograms is not None and release.histograms.sensitive:
        positions = range(len(release.histograms.sensitive))
        worst = max(_mean_distance(release.histograms.of(position), release.sizes) for position in positions)
        risks["a_know"] = worst + suppress * (1 - worst)
    return risks


def _mean_distance(counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
    """Compare every group with the distribution of the file itself, by half L1; the mean over records."""
    q = counts.sum(axis=0) / counts.sum()
    mean = 0.0
    for start in range(0, len(sizes), STRETCH):
        part = slice(start, start + STRETCH)
        mean += float(np.abs(counts[part] / sizes[part, None] - q).sum(axis=1) @ sizes[part]) / 2
    return mean / float(sizes.sum())


def _advantage(name: str, meaning: str) -> Measure:
    return Measure(name, "risk", "lower", meaning, 0, 1, needs_sensitive=False, reads_noisy=True)


OF_ATTACKS = (
    _advantage(
        "attack_worst",
        "largest advantage over its baseline among all attacks on the release: 0 is no better than against records "
        "that are not in it",
    ),
    _advantage(
        "singling_out",
        "how much more often descriptions by several columns that fit one released record fit exactly one record than "
        "among records that are not in it (Giomi et al. 2023)",
    ),
    _advantage("singling_out_univariate", "the same for descriptions by a single column"),
    _advantage(
        "linkability",
        "how much more often two sources are joined by the nearest released record than for records that are not in "
        "it (Giomi et al. 2023)",
    ),
    Measure(
        "inference",
        "risk",
        "lower",
        "how much more often the nearest released record tells a record's sensitive value than for records that are "
        "not in it (Giomi et al. 2023)",
        0,
        1,
        reads_noisy=True,
    ),
    _advantage(
        "membership",
        "how well an attacker tells which records were in the table: true minus false positives, 0 is guessing, 1 is "
        "certainty (after van Breugel et al. 2023)",
    ),
    _advantage("membership_auc", "the same as the area under his curve: .5 is guessing"),
    _advantage(
        "membership_shadow",
        "how well an attacker who can make such releases himself tells which were in, by shadow models (Stadler et al. "
        "2022)",
    ),
    _advantage(
        "record_linkage",
        "how often the nearest released record is made of the known one, beyond guessing at random (Domingo-Ferrer & "
        "Torra 2001)",
    ),
    _advantage(
        "replicated_uniques", "share of the records that are unique in the table which stand in the release as they are"
    ),
)

ATTACK_MEASURES = tuple(measure.name for measure in OF_ATTACKS)
"""The measures that need attacks (`Scales.attacks`)."""


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

Kind = Literal["risk", "utility"]
Better = Literal["lower", "higher"]


def _without_sensitive(
    name: str, kind: Kind, better: Better, meaning: str, least: float = 0.0, most: float = inf
) -> Measure:
    """Declare a measure that needs no sensitive attribute."""
    return Measure(name, kind, better, meaning, least, most, needs_sensitive=False)


def _of_persons(name: str, better: Better, meaning: str, least: float = 0.0, most: float = inf) -> Measure:
    """Declare a risk that counts records, or persons where there is a person column."""
    return Measure(name, "risk", better, meaning, least, most, needs_sensitive=False, by_persons=True)


WORKLOAD: tuple[tuple[str, Better, str, float, float], ...] = (
    ("workload_accuracy", "higher", "how often a classifier trained on the release is right", 0, 1),
    ("utility_gain", "higher", "accuracy beyond the better trivial sanitization (Brickell & Shmatikov 2008)", -1, 1),
    ("workload_balanced", "higher", "the classifier's accuracy with all classes given the same weight", 0, 1),
    ("workload_auc", "higher", "the classifier's area under the curve, mean over classes", 0, 1),
    ("workload_brier", "lower", "the classifier's Brier score", 0, 2),
)
"""What is known where a column is learned, with direction, meaning and range."""

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        _of_persons(
            "k",
            "higher",
            "records (with a person column: different persons) that share the rarest combination of quasi-identifiers",
            1,
        ),
        _without_sensitive("smallest_group", "risk", "higher", "records of the smallest group", 1),
        _of_persons(
            "prosecutor",
            "lower",
            "the risk of the record that is easiest to find: 1 / k (with a person column: the largest share of a "
            "group's records that belongs to one person)",
            0,
            1,
        ),
        _of_persons(
            "marketer",
            "lower",
            "the average risk to be found: combinations / records (with a person column: combinations / sightings, a "
            "sighting being a person in a combination)",
            0,
            1,
        ),
        Measure("l_frequency", "risk", "higher", "1 / the largest share of a sensitive value in a group", 1),
        Measure("l_distinct", "risk", "higher", "sensitive values in the least diverse group", 1),
        Measure("l_entropy", "risk", "higher", "exp of the entropy of the least diverse group", 1),
        Measure("l_recursive", "risk", "higher", "largest l with r_1 < 3 (r_l + ... + r_m) in every group"),
        Measure("t_equal", "risk", "lower", "largest distance of a group from the table: half L1", 0, 1),
        Measure(
            "t_ordered",
            "risk",
            "lower",
            "largest distance of a group from the table: earth mover's, values in order",
            0,
            1,
        ),
        Measure(
            "t_hierarchical",
            "risk",
            "lower",
            "largest distance of a group from the table: earth mover's, on the hierarchy",
            0,
            1,
        ),
        Measure(
            "t_js", "risk", "lower", "largest distance of a group from the table: Jensen-Shannon, in nats", 0, log(2)
        ),
        Measure("p_loss", "risk", "lower", "privacy loss of the worst record (Li & Li 2009): JS(Q, P)", 0, log(2)),
        Measure("p_loss_mean", "risk", "lower", "privacy loss of the average record", 0, log(2)),
        Measure("p_loss_median", "risk", "lower", "privacy loss that half of the records do not exceed", 0, log(2)),
        Measure("p_loss_95", "risk", "lower", "privacy loss that 95 % of the records do not exceed", 0, log(2)),
        Measure("delta", "risk", "lower", "largest |ln(p/q)|, infinite where a value is absent from a group"),
        Measure("beta", "risk", "lower", "largest relative gain (p - q)/q of a sensitive value in a group"),
        Measure(
            "a_know",
            "risk",
            "lower",
            "what an adversary learns of the average record's sensitive value: half L1 from the table "
            "(Brickell & Shmatikov 2008)",
            0,
            1,
        ),
        Measure(
            "a_acc",
            "risk",
            "lower",
            "how much more often an adversary guesses a sensitive value right than without the quasi-identifiers",
            -1,
            1,
        ),
        Measure(
            "attack_accuracy",
            "risk",
            "lower",
            "how often an attack that learns from the release guesses a record's sensitive value right "
            "(Cormode et al. 2013)",
            0,
            1,
            reads_noisy=True,
        ),
        Measure(
            "empirical_breach",
            "risk",
            "lower",
            "by what share the attack is right more often than always guessing the table's commonest value",
            -1,
            reads_noisy=True,
        ),
        Measure(
            "definetti_accuracy",
            "risk",
            "lower",
            "how often an adversary who learns across groups guesses a published record's sensitive value right "
            "(deFinetti attack, Kifer 2009)",
            0,
            1,
        ),
        Measure(
            "definetti_gain",
            "risk",
            "lower",
            "how much more often that is than by guessing the commonest value of the record's group",
            -1,
            1,
        ),
        Measure("information_gain", "risk", "lower", "what the groups tell of the sensitive value, in nats"),
        Measure(
            "u_loss",
            "utility",
            "lower",
            "utility loss (Li & Li 2009): mean JS over large populations",
            0,
            log(2),
            reads_noisy=True,
        ),
        Measure(
            "query_error", "utility", "lower", "mean relative error of COUNT queries (1 is 100 %)", reads_noisy=True
        ),
        Measure(
            "u_loss_em",
            "utility",
            "lower",
            "utility loss for a cleverer reader, who learns across groups (EM) instead of assuming uniformity",
            0,
            log(2),
        ),
        Measure(
            "query_error_em",
            "utility",
            "lower",
            "mean relative error of COUNT queries answered by that cleverer reader",
        ),
        Measure("query_error_median", "utility", "lower", "median relative error of COUNT queries", reads_noisy=True),
        Measure("kl", "utility", "lower", "KL divergence of the joint distribution, in nats", reads_noisy=True),
        _without_sensitive(
            "loss", "utility", "lower", "mean loss of published values; a suppressed record counts 1", 0, 1
        ),
        _without_sensitive("generalization_loss", "utility", "lower", "the part of loss due to generalization", 0, 1),
        _without_sensitive("suppression_loss", "utility", "lower", "the part of loss due to suppression", 0, 1),
        _without_sensitive(
            "discernibility", "utility", "lower", "sum of squared group sizes, suppressed records N each", 0
        ),
        _without_sensitive("average_group", "utility", "lower", "records per group", 1),
        _without_sensitive(
            "weighted_k", "risk", "higher", "group size seen by the average record (Dewri et al. 2011)", 1
        ),
        *OF_FIDELITY,
        *(
            Measure(name, "utility", better, meaning, least, most, needs_sensitive=False, reads_noisy=True)
            for name, better, meaning, least, most in WORKLOAD
        ),
        _without_sensitive("suppressed", "utility", "lower", "records that are not published", 0),
        *OF_ATTACKS,
        Measure(
            "epsilon",
            "risk",
            "lower",
            "budget of differential privacy: e^epsilon bounds what any one record does to the release",
            needs_sensitive=False,
            reads_noisy=True,
        ),
        *OF_BASKETS,
        *OF_MIXED,
    )
}

READ_NOISY = tuple(name for name, measure in MEASURES.items() if measure.reads_noisy)
"""The measures that noisy releases have too."""

RECONSTRUCTED = ("definetti_accuracy", "definetti_gain", "u_loss_em", "query_error_em")
"""The measures that need a reader who learns across groups (`Scales.reader`)."""
