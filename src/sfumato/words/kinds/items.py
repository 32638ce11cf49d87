"""What is said of tables with items."""

from __future__ import annotations

from sfumato.mixed.measures.scales import MixedScales
from sfumato.phrases import counted, percent
from sfumato.tradeoff import Map, Point
from sfumato.tradeoff.study.study import Study
from sfumato.transactions.policy import known_in_words
from sfumato.words.kinds.table import table_words
from sfumato.words.sentences import Subject


def _scales(map_: Map) -> MixedScales:
    return map_.study.scales  # type: ignore[no-any-return]


def meanings(map_: Map) -> list[tuple[str, str]]:
    """List the meanings with the study's own values, each as a short name and one or two sentences."""
    return mixed_meanings(_scales(map_))


def subject(map_: Map) -> Subject:
    """Say what sentences are about."""
    scales, about = _scales(map_), map_.about
    known = f"the quasi-identifiers and {known_in_words(scales.known)} of" if scales.known else "the row of"
    sensitive = tuple(about.get("sensitive", ()))
    return Subject(sensitive, records=about.get("records"), known=known, below=scales.linking.below)


def data_words(study: Study, point: Point) -> tuple[str, list[str]] | None:
    """Name table and items as a command line does, if a point's release is one that a command makes of them."""
    named, items = table_words(study.table, point), study.data.items
    return None if named is None or items is None else (named[0], [*named[1], *items.options()])


def declares_hierarchies(study: Study) -> bool:
    """Say whether a study declares hierarchies itself, which have to be in a file before that command runs."""
    return bool(study.table.hierarchy)


def mixed_meanings(scales: MixedScales) -> list[tuple[str, str]]:
    """List the meanings with the study's own values, each as a short name and one or two sentences."""
    known = f"{known_in_words(scales.known)} of a person" if scales.known else "nothing else"
    joint, linking = scales.joint_queries, scales.linking
    return [
        ("Records are counted", "If a person can have several records, the risks here are too low."),
        (
            "Groups",
            "A group is what a reader of the file sees: all records with the same published quasi-identifiers. Its "
            "items are published by themselves: an item may stand for itself in one group and be one of several in "
            "the next.",
        ),
        (
            "Published items",
            "An item is published as itself, or as what stands for several items (a set {a, b}, or a node of the item "
            "tree) and then says that the record has one or more of them; or it is left out (suppressed).",
        ),
        (
            "What an attacker knows",
            f"itemset_risk is 1 / the fewest records of a group that show the same {scales.known} or fewer published "
            f"items: who knows the quasi-identifiers and {known} has no fewer candidates. It says nothing of somebody "
            "who knows more, nor of what the rest of the record then tells.",
        ),
        (
            "The attack by both",
            f"joint_match_least and joint_matched_below take the quasi-identifiers and {scales.known} random items of "
            f"each of up to {counted(linking.persons, 'record')} (seed {linking.seed}) and count the records that fit; "
            f"fewer than {linking.below} are too few. match_least and matched_below are the same without the "
            "quasi-identifiers.",
        ),
        (
            "Queries",
            f"joint_query_error is the mean relative error of {joint.number:,} COUNT queries (seed {joint.seed}), each "
            f"for {counted(joint.items, 'item')} of a random record and a stretch of {percent(joint.width, 3)} of the "
            f"values of {joint.dimensions} quasi-identifiers around it. A reader takes the share of a group's box that "
            f"the query covers, times the odds of the items ({joint.estimator}), row by row of the group. Errors are "
            f"relative to at least {percent(joint.sanity, 3)} of the records.",
        ),
        (
            "Sensitive items",
            "A requirement on the column of items is about the sensitive items that the owner names: those that a "
            "record has make one value, `none` where it has none of them. It is about the items that people have, "
            "whatever is published of them.",
        ),
        (
            "Losses",
            "loss is that of the table's columns. ncp takes the share of all items that a published item stands for, "
            "nothing where it is the item itself, 1 where it, or its record, is left out.",
        ),
    ]
