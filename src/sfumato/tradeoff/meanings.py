"""The meanings in force: what was decided once and must be known to read any number of the report."""

from __future__ import annotations

from sfumato.measures import EmReader, Queries, Reader
from sfumato.tradeoff.map import Map
from sfumato.tradeoff.study.study import of_table
from sfumato.tradeoff.verdicts import Verdicts
from sfumato.tradeoff.words import counted, listed


def meanings(shown: Map) -> list[tuple[str, str]]:
    """List the meanings with the study's own values, each as a short name and one or two sentences."""
    forms = {point.form for point in shown.points if not point.is_baseline}
    found = [
        ("One record is one person", _person(shown)),
        (
            "What an outsider knows already",
            "Q, the baseline distribution, is that of the whole table, suppressed records included, in every "
            "requirement and every measure. Privacy loss is what a release adds to it.",
        ),
        (
            "Groups",
            "A group is what a reader of the file sees: all records with the same published text. Groups with equal "
            "text are one group before anything is measured.",
        ),
    ]
    if "bucketization" in forms:
        found.append(
            (
                "Bucketization does not hide who is in the table",
                "Its quasi-identifiers are exact. There, k-anonymity is a bucket size and identity is not protected; "
                "the measured k comes from the published quasi-identifiers.",
            )
        )
    found += [("Missing values", _missing(shown)), ("Suppressed records", _suppressed(shown))]
    return [*found, *_scales(shown), *_learning(shown), *_noise(shown)]


def _noise(shown: Map) -> list[tuple[str, str]]:
    if not any(point.is_noisy for point in shown.points):
        return []
    draws = of_table(shown.study).scales.draws
    return [
        (
            "Differential privacy",
            f"A noisy release was drawn {counted(draws, 'time')}; its point is the median of every measure, the bars "
            "reach from the smallest to the largest, and who beats whom is decided by medians. These draws are for "
            "looking only: a release that is published is drawn afresh. Epsilon covers that one release, not what "
            "chose it, and none of the measures here.",
        ),
    ]


def _person(shown: Map) -> str:
    named = list(of_table(shown.study).table.identifier)
    if not named:
        return "No column says otherwise. If a person can have several records, the risks here are too low."
    return f"The identifier {listed(named)} is never published; repeated identifiers are not joined."


def _missing(shown: Map) -> str:
    if of_table(shown.study).table.missing == "drop":
        dropped = counted(int(shown.about.get("dropped", 0)), "record")
        return f"Records that miss a value were removed before anything else: {dropped}."
    return "A missing value is a value of its own beside the others, never inside a range."


def _suppressed(shown: Map) -> str:
    largest = max((point.candidate.suppress for point in shown.points), default=0.0)
    if not largest:
        return "No candidate of this study may leave records out."
    return (
        f"Candidates may leave out up to {100 * largest:.3g} % of the records, as their settings say. Suppressed "
        "records are counted, cost the full loss and never form a group; a query's estimate simply lacks them."
    )


def _scales(shown: Map) -> list[tuple[str, str]]:
    if not shown.about.get("sensitive"):
        return []
    scales = of_table(shown.study).scales
    return [
        (
            "Populations",
            f"u_loss compares the sensitive values of every population of at least {100 * scales.min_support:.3g} % of "
            "the records (minSup), described by values or ranges of quasi-identifiers, with what the release tells.",
        ),
        ("Queries", _queries(scales.queries)),
        ("Attack", _attack(shown)),
        *_reader(scales.reader),
    ]


def _reader(reader: Reader) -> list[tuple[str, str]]:
    """Say who reads releases besides the uniform reader."""
    if not isinstance(reader, EmReader):
        return []
    return [
        (
            "A cleverer reader",
            "u_loss and query_error read a release as if everybody had the sensitive values of their group. u_loss_em "
            "and query_error_em are for a researcher who learns across groups how quasi-identifiers go with sensitive "
            f"values (naive Bayes, {counted(reader.rounds, 'round')} of expectation maximization). definetti_accuracy "
            "is how often an adversary who knows everybody's group guesses right by the same inference, definetti_gain "
            "how much more often that is than by guessing the commonest value of the group.",
        )
    ]


def _learning(shown: Map) -> list[tuple[str, str]]:
    verdicts = Verdicts.of(shown)
    if verdicts is None:
        return []
    own = verdicts.workload
    test = "as the release shows it" if own.test == "release" else "as the original table shows it"
    return [
        (
            "Learning a column",
            "workload_accuracy is how often a classifier taught with other records of the release guesses "
            f"{own.target} right, each record shown {test} ({own.folds} folds, seed {own.seed}). utility_gain is how "
            "much that is beyond the better trivial sanitization. A release beats it only if the whole interval of the "
            "gain is above zero.",
        ),
    ]


def _attack(shown: Map) -> str:
    """Say what the attacker does, and what guessing the commonest value would give where one attribute is attacked."""
    attack = of_table(shown.study).scales.attack
    learns = {
        "naive-bayes": "by naive Bayes on each quasi-identifier",
        "pairs": "by naive Bayes on every pair of quasi-identifiers",
        "random-forest": "by a random forest on points drawn from the boxes",
    }[attack.kind]
    whom = "everybody" if attack.top == 1 else f"the {100 * attack.top:.3g} % of the people he is surest of"
    both = ("attack_accuracy", "empirical_breach")
    known = [own for own in shown.points if own.has(both) and own.measures["attack_accuracy"] > 0]
    beside = ""
    if known and len(shown.about.get("sensitive", ())) == 1:
        accuracy, breach = (known[0].measures[name] for name in both)
        beside = f", which is right for {100 * accuracy / (1 + breach):.3g} %"
    return (
        f"attack_accuracy lets an attacker who knows the quasi-identifiers learn from a release {learns} and guess the "
        f"sensitive value of {whom}; empirical_breach compares him with guessing the commonest value always{beside}."
    )


def _queries(queries: Queries) -> str:
    reading = "of the records" if queries.reading == "query" else "of the values of each attribute"
    chosen = "drawn at random" if queries.select == "values" else "as ranges"
    bound = (
        f"errors are relative to at least {100 * queries.sanity:.3g} % of the records"
        if queries.sanity
        else "only queries with an answer above zero are asked"
    )
    if queries.halves:
        ends = ", both ends taken in" if queries.reading == "closed-half-range" else ""
        return (
            f"query_error asks {queries.number:,} random COUNT queries, each for a range of half of the values of "
            f"every quasi-identifier and of the sensitive attribute{ends} (seed {queries.seed}); {bound}."
        )
    return (
        f"query_error asks {queries.number:,} random COUNT queries on {queries.dimensions} quasi-identifiers (all, "
        f"where there are fewer) and the sensitive attribute, selecting {100 * queries.selectivity:.3g} % {reading}, "
        f"values {chosen} (seed {queries.seed}); {bound}."
    )
