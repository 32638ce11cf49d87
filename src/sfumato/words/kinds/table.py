"""What is said of tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sfumato.config.sections import option_words
from sfumato.configuration import quoted_name
from sfumato.engines import Frame
from sfumato.engines.places import shown_place
from sfumato.measures import EmReader, Queries, Reader
from sfumato.phrases import counted, listed, percent
from sfumato.table import TableDeclaration
from sfumato.table.table import Unit
from sfumato.table.weights import weights_in_words
from sfumato.tradeoff import Map, Point, Study, of_table
from sfumato.words.sentences import Subject

DECLARED = "hierarchies.toml"
"""Where a person puts the hierarchies that a study declares itself: the command line reads them from a file."""


def subject(map_: Map) -> Subject:
    """Say what sentences are about."""
    study = of_table(map_.study)
    target = "a column" if study.learned is None else study.learned.target
    scales, about = study.scales, map_.about
    sensitive, records = tuple(about.get("sensitive", ())), about.get("records")
    return Subject(sensitive, target, records, scales.min_support, surest=scales.attack.top, unit=study.unit)


def data_words(study: Study, point: Point) -> tuple[str, list[str]] | None:
    """Name the table as a command line does, if a point's release is one that a command makes of it."""
    return table_words(study.table, point)


def declares_hierarchies(study: Study) -> bool:
    """Say whether a study declares hierarchies itself, which have to be in a file before that command runs."""
    return bool(study.table.hierarchy)


def table_words(declared: TableDeclaration, point: Point) -> tuple[str, list[str]] | None:
    """Name a table and the options that say what it is."""
    maker = point.candidate.anonymizer
    if isinstance(declared.source, Frame) or maker.foreign or not maker.is_release:
        return None
    options = option_words(replace(declared, hierarchy={}, weights={}), ("source",))
    options += [f"--weight={quoted_name(name)}={weight!r}" for name, weight in declared.weights.items()]
    return shown_place(str(declared.source)), options + ([f"--hierarchies={DECLARED}"] if declared.hierarchy else [])


def meanings(map_: Map) -> list[tuple[str, str]]:
    """List the meanings with the study's own values, each as a short name and one or two sentences."""
    forms = {point.form for point in map_.points if not point.is_baseline}
    entries = [
        UNITS[of_table(map_.study).unit],
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


UNITS: Mapping[Unit, tuple[str, str]] = {
    "records": (
        "Records are counted",
        "No column says whose record it is. A person with several records is easier to find than the risks here say.",
    ),
    "one each": ("One record is one person", "The publisher declares that every record is another person."),
    "persons": (
        "Persons are counted",
        "A column that is never published says whose record it is. k is the number of different persons in a group, "
        "prosecutor the largest share of a group's records that belongs to one person, marketer the number of groups "
        "over the number of sightings (a person in a group). Risks about sensitive values are left out: they count "
        "records.",
    ),
}
"""What is counted in groups: its name, and what it means."""


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
            "u_loss and query_error read a release as if every record had the sensitive values of its group. u_loss_em "
            "and query_error_em are for a researcher who learns across groups how quasi-identifiers go with sensitive "
            f"values (naive Bayes, {counted(reader.rounds, 'round')} of expectation maximization). definetti_accuracy "
            "is how often an adversary who knows the group of every record guesses right by the same inference, "
            "definetti_gain how much more often that is than by guessing the commonest value of the group.",
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
    which = "every record" if attack.top == 1 else f"the {percent(attack.top, 3)} of the records he is surest of"
    both = ("attack_accuracy", "empirical_breach")
    known = next((p for p in map_.points if p.has(both) and p.measures["attack_accuracy"] > 0), None)
    columns = [] if known is None else subject(map_).of_columns(known.measures, known.by_sensitive)
    rates = [
        (about.column, percent(own["attack_accuracy"] / (1 + own["empirical_breach"]), 3))
        for about, own in columns
        if len(about.sensitive) == 1 and own.get("attack_accuracy") and "empirical_breach" in own
    ]
    several = len(rates) > 1
    right = listed([f"{rate} ({name})" if several else rate for name, rate in rates])
    beside = f", which is right for {right}" if rates else ""
    return (
        f"attack_accuracy lets an attacker who knows the quasi-identifiers learn from a release {learns} and guess the "
        f"sensitive value of {which}; empirical_breach compares him with guessing the commonest value always{beside}."
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
