"""All measures by name."""

from __future__ import annotations

from math import inf, log
from typing import Literal

from sfumato.measures.attacks.declared import OF_ATTACKS
from sfumato.measures.declaration import Measure
from sfumato.measures.fidelity.measures import OF_FIDELITY
from sfumato.measures.of_baskets import OF_BASKETS
from sfumato.measures.of_mixed import OF_MIXED

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
