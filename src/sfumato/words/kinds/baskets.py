"""What is said of baskets."""

from __future__ import annotations

from sfumato.measures.of_baskets import ESTIMATORS
from sfumato.phrases import counted, listed, percent
from sfumato.tradeoff import Map, Point
from sfumato.tradeoff.study.study import Study
from sfumato.transactions.measures.itemsets import DRAWS, MOST_SETS
from sfumato.transactions.measures.queries import MOST_PAIRS, ItemQueries
from sfumato.transactions.measures.scales import BasketScales
from sfumato.transactions.policy import known_in_words
from sfumato.words.sentences import Subject


def _scales(map_: Map) -> BasketScales:
    return map_.study.scales  # type: ignore[no-any-return]


def meanings(map_: Map) -> list[tuple[str, str]]:
    """List the meanings with the study's own values, each as a short name and one or two sentences."""
    return basket_meanings(_scales(map_))


def subject(map_: Map) -> Subject:
    """Say what sentences are about."""
    scales = _scales(map_)
    known = "the items of a line of the file" if scales.constraints else known_in_words(scales.known)
    records = map_.about.get("records")
    return Subject(scales.sensitive, records=records, known=f"{known} of", below=scales.linking.below)


def data_words(study: Study, point: Point) -> tuple[str, list[str]] | None:
    """Name the baskets as a command line does, if a point's release is one that a command makes of them."""
    candidate = point.candidate
    if point.is_baseline or candidate.warm or study.data.items is None:
        return None
    return study.data.source, study.data.items.options()


def declares_hierarchies(study: Study) -> bool:
    """Say whether a study declares hierarchies itself, which have to be in a file before that command runs."""
    return False  # a tree of items is a file


def basket_meanings(scales: BasketScales) -> list[tuple[str, str]]:
    """List what must be known to read the numbers of a map of baskets."""
    known = (
        known_in_words(scales.known) if scales.constraints is None else f"the items of a line of {scales.constraints}"
    )
    entries = [
        ("Records are counted", "If a person can have several records, the risks here are too low."),
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
            f"{counted(scales.linking.persons, 'record')} (seed {scales.linking.seed}) and count the records that fit; "
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
