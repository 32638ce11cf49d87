"""The meanings in force: what was decided once and must be known to read any number of a map and its report."""

from __future__ import annotations

from sfumato.measures import EmReader, Queries, Reader
from sfumato.measures.of_baskets import ESTIMATORS
from sfumato.mixed.study import MixedStudy
from sfumato.phrases import counted, listed, percent
from sfumato.table.weights import weights_in_words
from sfumato.tradeoff import Map, of_table
from sfumato.tradeoff.public import PublicStudy
from sfumato.transactions.measures.itemsets import DRAWS, MOST_SETS
from sfumato.transactions.measures.queries import MOST_PAIRS, ItemQueries
from sfumato.transactions.measures.scales import BasketScales
from sfumato.transactions.policy import known_in_words
from sfumato.transactions.study import BasketStudy
from sfumato.words.mixed.meanings import mixed_meanings

PUBLIC = [
    ("One record is one person", "If a person can have several records, the risks here are too low."),
    (
        "Rounded to the worse side",
        "A risk is never larger than shown, nor a utility loss. The more releases are compared, and the fewer records "
        "there are, the coarser the steps. Releases at the same place need not be equal.",
    ),
    ("Promised", "k, itemset_risk and protected_risk are what the settings promise; a release may do better."),
    (
        "A bound",
        "a_know compares the groups of a release with all records of its file, and allows for the share of records "
        "that its settings let it leave out: against the whole table it is at most this large.",
    ),
    (
        "What is not here",
        "How many records there are and how many were left out; what is true of the worst group only, since a single "
        "record can change it; releases with noise, whose measures no epsilon covers; cut vectors, which a "
        "search found by looking at the records; the original table.",
    ),
]
"""What must be known to read the public numbers."""


def meanings(map_: Map) -> list[tuple[str, str]]:
    """List the meanings with the study's own values, each as a short name and one or two sentences."""
    match map_.study:
        case PublicStudy():
            return PUBLIC
        case BasketStudy(scales=scales):
            return basket_meanings(scales)
        case MixedStudy(scales=scales):
            return mixed_meanings(scales)
    return _of_table(map_)


def _of_table(map_: Map) -> list[tuple[str, str]]:
    forms = {point.form for point in map_.points if not point.is_baseline}
    entries = [
        ("One record is one person", _person(map_)),
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
        entries.append(
            (
                "Bucketization does not hide who is in the table",
                "Its quasi-identifiers are exact. There, k-anonymity is a bucket size and identity is not protected; "
                "the measured k comes from the published quasi-identifiers.",
            )
        )
    entries += [("Missing values", _missing(map_)), ("Suppressed records", _suppressed(map_))]
    entries += [("Weights", sentence) for sentence in weights_sentences(map_)]
    return [*entries, *_scales(map_), *_attacks(map_), *_learning(map_), *_noise(map_)]


def weights_sentences(map_: Map) -> list[str]:
    """Say how the losses of the quasi-identifiers are weighted, where they do not all count alike."""
    return [f"{words[0].upper()}{words[1:]}." for words in weights_in_words(map_.about.get("weights", {}))]


def _noise(map_: Map) -> list[tuple[str, str]]:
    if not any(point.is_noisy for point in map_.points):
        return []
    draws = of_table(map_.study).scales.draws
    return [
        (
            "Differential privacy",
            f"A noisy release was drawn {counted(draws, 'time')}; its point is the median of every measure, the bars "
            "reach from the smallest to the largest, and who beats whom is decided by medians. These draws are for "
            "looking only: a release that is published is drawn afresh. Epsilon covers that one release, not what "
            "chose it, and none of the measures here.",
        ),
    ]


def _person(map_: Map) -> str:
    named = list(of_table(map_.study).table.identifier)
    if not named:
        return "No column says otherwise. If a person can have several records, the risks here are too low."
    return f"The identifier {listed(named)} is never published; repeated identifiers are not joined."


def _missing(map_: Map) -> str:
    if of_table(map_.study).table.missing == "drop":
        dropped = counted(int(map_.about.get("dropped", 0)), "record")
        return f"Records that miss a value were removed before anything else: {dropped}."
    return "A missing value is a value of its own beside the others, never inside a range."


def _suppressed(map_: Map) -> str:
    largest = max((point.candidate.suppress for point in map_.points), default=0.0)
    if not largest:
        return "No candidate of this study may leave records out."
    return (
        f"Candidates may leave out up to {percent(largest, 3)} of the records, as their settings say. Suppressed "
        "records are counted, cost the full loss and never form a group; a query's estimate simply lacks them."
    )


def _scales(map_: Map) -> list[tuple[str, str]]:
    if not map_.about.get("sensitive"):
        return []
    scales = of_table(map_.study).scales
    return [
        (
            "Populations",
            f"u_loss compares the sensitive values of every population of at least {percent(scales.min_support, 3)} of "
            "the records (minSup), described by values or ranges of quasi-identifiers, with what the release tells.",
        ),
        ("Queries", _queries(scales.queries)),
        ("Attack", _attack(map_)),
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


def _learning(map_: Map) -> list[tuple[str, str]]:
    if map_.verdicts is None:
        return []
    workload = map_.verdicts.workload
    test = "as the release shows it" if workload.test == "release" else "as the original table shows it"
    return [
        (
            "Learning a column",
            "workload_accuracy is how often a classifier taught with other records of the release guesses "
            f"{workload.target} right, each record shown {test} ({workload.folds} folds, seed {workload.seed}). "
            "utility_gain is how much that is beyond the better trivial sanitization. A release beats it only if the "
            "whole interval of the gain is above zero.",
        ),
    ]


def _attack(map_: Map) -> str:
    """Say what the attacker does, and what guessing the commonest value would give where one attribute is attacked."""
    attack = of_table(map_.study).scales.attack
    learns = {
        "naive-bayes": "by naive Bayes on each quasi-identifier",
        "pairs": "by naive Bayes on every pair of quasi-identifiers",
        "random-forest": "by a random forest on points drawn from the boxes",
    }[attack.kind]
    whom = "everybody" if attack.top == 1 else f"the {percent(attack.top, 3)} of the people he is surest of"
    both = ("attack_accuracy", "empirical_breach")
    known = [point for point in map_.points if point.has(both) and point.measures["attack_accuracy"] > 0]
    beside = ""
    if known and len(map_.about.get("sensitive", ())) == 1:
        accuracy, breach = (known[0].measures[name] for name in both)
        beside = f", which is right for {percent(accuracy / (1 + breach), 3)}"
    return (
        f"attack_accuracy lets an attacker who knows the quasi-identifiers learn from a release {learns} and guess the "
        f"sensitive value of {whom}; empirical_breach compares him with guessing the commonest value always{beside}."
    )


def _attacks(map_: Map) -> list[tuple[str, str]]:
    """Say what is attacked, and against what success is held."""
    attacks = of_table(map_.study).scales.attacks
    if attacks is None:
        return []
    if attacks.file is not None:
        control = f"The control is {attacks.file}: records that nobody made anything of. Attacks are run on the release"
    else:
        control = (
            f"{percent(attacks.control, 3)} of the records are held out (seed {attacks.seed}). Attacks are run on a "
            f"release made in the same way from the other {percent(1 - attacks.control, 3)}, not on the one that would "
            "be published"
        )
    return [
        (
            "Attacks with a control",
            f"{control}; what counts is how much more often they succeed against the records that the release was made "
            f"of than against the control ({attacks.number:,} tries each, 95 % intervals). attack_worst is the largest "
            "such advantage; its interval allows for having taken the largest. An attack that finds nothing does "
            "not prove that there is nothing to find.",
        ),
        (
            "Counted, not attacked",
            "replicated_uniques is a count of what stands in the release itself. How near released records are to real "
            "ones is described, and never called a risk: releases that keep their distance leak who is in them too.",
        ),
    ]


def _queries(queries: Queries) -> str:
    reading = "of the records" if queries.reading == "query" else "of the values of each attribute"
    chosen = "drawn at random" if queries.select == "values" else "as ranges"
    bound = (
        f"errors are relative to at least {percent(queries.sanity, 3)} of the records"
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
        f"where there are fewer) and the sensitive attribute, selecting {percent(queries.selectivity, 3)} {reading}, "
        f"values {chosen} (seed {queries.seed}); {bound}."
    )


def basket_meanings(scales: BasketScales) -> list[tuple[str, str]]:
    """List what must be known to read the numbers of a map of baskets."""
    known = (
        known_in_words(scales.known) if scales.constraints is None else f"the items of a line of {scales.constraints}"
    )
    entries = [
        ("One record is one person", "If a person can have several records, the risks here are too low."),
        (
            "Published items",
            "An item is published as itself, or as what stands for several items (a set {a, b}, or a node of the item "
            "tree) and then says that the record has one or more of them; or it is left out (suppressed).",
        ),
        (
            "What an attacker knows",
            f"itemset_risk is 1 / the fewest records that fit {known} of a person (sets that no record fits tell "
            "nothing of anybody). It says nothing of somebody who knows more, nor of what the rest of the record then "
            f"tells. Of sizes of which records have more than {MOST_SETS:,} sets, {DRAWS:,} are drawn: itemset_risk "
            "and least_support are exact all the same, itemset_risk_99 and itemset_risk_95 are then estimates, with "
            "95 % bootstrap intervals. Where a release promises to protect listed sets of items (privacy-constraints), "
            "protected_risk is 1 / the fewest records that fit one of these: the risk of the promise.",
        ),
        (
            "The attack",
            f"match_least and matched_below take {scales.known} random items of each of up to "
            f"{counted(scales.linking.persons, 'person')} (seed {scales.linking.seed}) and count the records that fit; "
            f"fewer than {scales.linking.below} are too few.",
        ),
        ("Queries", queries_in_words(scales.queries)),
        (
            "An empty answer",
            "An are of 1 is what an empty file gets, which answers 0 to every query. A release beyond 1 is further "
            "from the truth on average, by this way of reading it.",
        ),
        ("Losses", losses_in_words(scales)),
    ]
    if scales.studies:
        entries.append(
            (
                "Studies",
                "studies_supported counts the named studies whose items can be told from all others: none of them is "
                "left out, and what stands for one of them stands for items of the study alone.",
            )
        )
    if scales.sensitive:
        entries.append(
            (
                "Sensitive items",
                f"rho is the largest share of records with {listed(scales.sensitive)} among those that fit up to "
                "two other known items; a published set counts for its share of sensitive items. It is bounded by "
                "rho-uncertainty alone.",
            )
        )
    return entries


def queries_in_words(asked: ItemQueries) -> str:
    """Say what is asked, and how it is answered."""
    what = {
        "transaction": f"{asked.size} random items of a random record",
        "uniform-items": f"{asked.size} items, each item equally likely, that some record has",
        "frequency-weighted": f"{asked.size} items, drawn as often as they occur, that some record has",
        "frequent-pairs": f"one of the {percent(asked.top, 3)} most frequent pairs of items",
        "file": f"the items of a line of {asked.file}",
    }[asked.kind]
    if asked.is_exact:
        many = "the expectation over all such queries, no sample of them"
        if asked.workload == "auto" and asked.size > 1:
            many += f" (five workloads of 1,000 where records may have more than {MOST_PAIRS:,} pairs of items)"
    elif asked.kind == "file":
        many = "every query of the file; the interval is a 95 % bootstrap interval"
    elif asked.workloads == 1:
        drawn = f"{counted(asked.number, 'query', 'queries')} (seed {asked.seed})"
        many = f"{drawn}; the interval is a 95 % bootstrap interval"
    else:
        many = (
            f"{asked.workloads} workloads of {counted(asked.number, 'query', 'queries')} (seed {asked.seed}); "
            "intervals reach from the lowest to the highest workload"
        )
    bound = f" Errors are relative to at least {percent(asked.sanity, 3)} of the records." if asked.sanity else ""
    return (
        f"are is the mean relative error of COUNT queries, each for {what}: {many}. A reader answers as "
        f"{asked.estimator!r} says: {ESTIMATORS[asked.estimator]} (are_half, are_expanded, ... show the others). A "
        f"query with a suppressed item is answered 0.{bound}"
    )


def losses_in_words(scales: BasketScales) -> str:
    """Say how losses are counted."""
    losses = scales.losses
    itself = "nothing" if losses.leaf_zero == "yes" else "1 / the number of items"
    weight = {
        "one": "",
        "tree": ", weighted by how far its items lie apart in the tree",
        "file": ", weighted by what its items are worth to the owner, who also says what leaving one out costs",
    }[losses.weights]
    alone = "" if losses.singletons == "yes" else "; items published as themselves do not count"
    return (
        f"ncp takes the share of all items that a published item stands for, {itself} where it is the item itself, 1 "
        "where it is left out. ul is the number of sets a published item may mean among all sets of items, times the "
        f"share of records that show it{weight}{alone}; it is mostly too small to be written, then ul_log2 tells."
    )
