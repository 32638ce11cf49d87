"""What is said of baskets and their releases: sentences for a person who knows no requirement by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.configuration import Configured
from sfumato.measures.of_baskets import ESTIMATORS
from sfumato.tradeoff.words import counted, listed, origin_in_words, size_in_words
from sfumato.transactions.anonymizers.anonymizer import BasketAnonymizer
from sfumato.transactions.measures.queries import ItemQueries
from sfumato.transactions.measures.scales import BasketScales
from sfumato.transactions.policy import (
    BasketRequirement,
    CompleteKAnonymity,
    KMAnonymity,
    PrivacyConstraints,
    SuppressionLimit,
    UtilityConstraints,
)

MAKERS = {
    "aa": "AA",
    "coat": "COAT",
    "pcta": "PCTA",
    "upcta": "UPCTA",
    "lra": "LRA",
    "vpa": "VPA",
    "partition": "Partition",
}


def known_in_words(m: int) -> str:
    """Say how much an attacker knows.

    >>> known_in_words(1), known_in_words(2)
    ('any one item', 'any two items')
    """
    numbers = {1: "any one item", 2: "any two items", 3: "any three items", 4: "any four items", 5: "any five items"}
    return numbers.get(m, f"any {m} items")


def basket_rule(own: BasketRequirement) -> str:
    """Say what a requirement promises.

    >>> basket_rule(KMAnonymity(5, 2))
    'someone who knows any two items of a person (or fewer) finds at least 5 records that fit, or none'
    """
    match own:
        case KMAnonymity(k=k, m=m):
            fewer = " (or fewer)" if m > 1 else ""
            return (
                f"someone who knows {known_in_words(m)} of a person{fewer} finds at least "
                f"{counted(k, 'record')} that fit{'s' if k == 1 else ''}, or none"
            )
        case CompleteKAnonymity(k=k):
            return f"every published basket is that of at least {counted(k, 'record')}, whatever is known of a person"
        case PrivacyConstraints(k=k, file=file, protect_subsets=subsets):
            some = " (or some of them)" if subsets == "yes" else ""
            return (
                f"someone who knows the items of a line of {file}{some} finds at least {counted(k, 'record')} that "
                f"fit{'s' if k == 1 else ''}, or none"
            )
    return str(own)


def maker_in_words(own: Configured) -> str:
    """Name an anonymizer with the options that are not usual."""
    name, _, options = str(own).partition(" ")
    return MAKERS.get(name, name) + (f" ({options})" if options else "")


def settings(
    maker: BasketAnonymizer, requirement: BasketRequirement, utility: UtilityConstraints | None, limit: SuppressionLimit
) -> str:
    """Say in a sentence how a release is made."""
    if maker.baseline:
        return maker.baseline
    parts = [f"{maker_in_words(maker)}: {basket_rule(requirement)}"]
    if utility is not None:
        where = f"a line of {utility.file}" if utility.file else f"a node of level {utility.level} of the item tree"
        parts.append(f"items published together only within {where}")
    if limit.share:
        parts.append(f"at most {100 * limit.share:.3g} % of the {limit.of} left out")
    return "; ".join(parts)


def studied_baskets(name: str, about: Mapping[str, Any]) -> str:
    """Say which baskets a map is about."""
    items = f"some of {counted(int(about['items']), 'item')}" if "items" in about else "items"
    text = f"the baskets {name}{origin_in_words(name, about)} were tried: {size_in_words(about)}each a set of {items}"
    return text + (" that lie in a tree. " if about.get("tree") else ". ")


def basket_meanings(scales: BasketScales) -> list[tuple[str, str]]:
    """List what must be known to read the numbers of a map of baskets."""
    known = (
        known_in_words(scales.known) if scales.constraints is None else f"the items of a line of {scales.constraints}"
    )
    found = [
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
            "tells.",
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
    if scales.sensitive:
        found.append(
            (
                "Sensitive items",
                f"rho is the largest share of records with {listed(list(scales.sensitive))} among those that fit up to "
                "two other known items; a published set counts for its share of sensitive items. No requirement "
                "here bounds it.",
            )
        )
    return found


def queries_in_words(asked: ItemQueries) -> str:
    """Say what is asked, and how it is answered."""
    what = {
        "transaction": f"{asked.size} random items of a random record",
        "uniform-items": f"{asked.size} items, each item equally likely, that some record has",
        "frequency-weighted": f"{asked.size} items, drawn as often as they occur, that some record has",
        "frequent-pairs": f"one of the {100 * asked.top:.3g} % most frequent pairs of items",
        "file": f"the items of a line of {asked.file}",
    }[asked.kind]
    if asked.kind == "file":
        many = "every query of the file; the interval is a 95 % bootstrap interval"
    elif asked.workloads == 1:
        drawn = f"{counted(asked.number, 'query', 'queries')} (seed {asked.seed})"
        many = f"{drawn}; the interval is a 95 % bootstrap interval"
    else:
        many = (
            f"{asked.workloads} workloads of {counted(asked.number, 'query', 'queries')} (seed {asked.seed}); "
            "intervals reach from the lowest to the highest workload"
        )
    bound = f" Errors are relative to at least {100 * asked.sanity:.3g} % of the records." if asked.sanity else ""
    return (
        f"are is the mean relative error of COUNT queries, each for {what}: {many}. A reader answers as "
        f"{asked.estimator!r} says: {ESTIMATORS[asked.estimator]} (are_half, are_expanded, ... show the others). A "
        f"query with a suppressed item is answered 0.{bound}"
    )


def losses_in_words(scales: BasketScales) -> str:
    """Say how losses are counted."""
    losses = scales.losses
    itself = "nothing" if losses.leaf_zero == "yes" else "1 / the number of items"
    weight = "" if losses.weights == "one" else ", weighted by how far its items lie apart in the tree"
    alone = "" if losses.singletons == "yes" else "; items published as themselves do not count"
    return (
        f"ncp takes the share of all items that a published item stands for, {itself} where it is the item itself, 1 "
        "where it is left out. ul is the number of sets a published item may mean among all sets of items, times the "
        f"share of records that show it{weight}{alone}; it is mostly too small to be written, then ul_log2 tells."
    )
