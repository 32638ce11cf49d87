"""Texts about data: the subject of sentences, the definitions in force, and the command-line options that name them.

Tables, baskets, tables with items and their public forms share these functions; each part of the data (attributes,
items) adds its own entries. Modules about items are imported only if there are items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from sfumato.config.options import quoted_name
from sfumato.config.sections import option_words
from sfumato.data.cells import weights_in_words
from sfumato.data.reading import Unit
from sfumato.engines.frames import Frame
from sfumato.engines.locations import shown_place
from sfumato.measures.all_measures import ESTIMATORS
from sfumato.measures.queries import Queries
from sfumato.measures.reconstruction import EmReader, Reader
from sfumato.report.measure_sentences import Subject
from sfumato.texts.catalogue import listed, percent, t

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point
    from sfumato.tradeoff.public import PublicStudy
    from sfumato.tradeoff.study.study import Study

DECLARED = "hierarchies.toml"
"""The file of hierarchies that a study declares itself, for the command line."""

Meaning = tuple[str, str]
"""A short name, and one or two sentences."""


def is_public(study: Any) -> TypeGuard[PublicStudy]:
    """Return whether a study is a public one."""
    from sfumato.tradeoff.public import PublicStudy

    return isinstance(study, PublicStudy)


def known_items(m: int) -> str:
    """Describe the number of items that an attacker knows."""
    from sfumato.requirements.items import known_in_words

    return known_in_words(m)


def subject_of(map_: Map) -> Subject:
    """Return the subject of sentences about a map."""
    study, about = map_.study, map_.about
    sensitive, records = tuple(about.get("sensitive", ())), about.get("records")
    if is_public(study):
        return Subject(sensitive, are_bounds=True, unit=study.unit)
    scales = study.scales
    if study.section == "baskets":
        known = t("data.known_line") if scales.constraints else t("data.known_items", items=known_items(scales.known))
        return Subject(scales.sensitive, records=records, known=known, below=scales.linking.below, unit=study.unit)
    if study.section == "items":
        known = t("data.known_both", items=known_items(scales.known)) if scales.known else t("data.known_row")
        return Subject(sensitive, records=records, known=known, below=scales.linking.below)
    target = Subject.target if study.learned is None else study.learned.target
    return Subject(sensitive, target, records, scales.min_support, surest=scales.attack.top, unit=study.unit)


# -- command lines -----------------------------------------------------------------------------------------


def data_words(study: Study, point: Point) -> tuple[str, list[str]] | None:
    """Return the command-line words for the data, if a command can make a point's release from them."""
    if is_public(study):
        return None  # the place of the data is internal
    table, maker = study.data.table, point.candidate.anonymizer
    items = [] if study.data.items is None else study.data.items.options()
    if table is None:
        return None if point.is_baseline else (study.data.source, items)
    if isinstance(table.source, Frame) or maker.external or not maker.is_release:
        return None
    options = option_words(replace(table, hierarchy={}, weights={}), ("source",))
    options += [f"--set=weight={quoted_name(name)}={weight!r}" for name, weight in table.weights.items()]
    options += [f"--hierarchies={DECLARED}"] if table.hierarchy else []
    return shown_place(str(table.source)), options + items


def declares_hierarchies(study: Study) -> bool:
    """Return whether a study declares hierarchies itself; the command needs them in a file."""
    return not is_public(study) and study.data.table is not None and bool(study.data.table.hierarchy)


# -- meanings ----------------------------------------------------------------------------------------------


def meanings(map_: Map) -> list[Meaning]:
    """List the definitions that are needed to read the numbers, with the study's own values."""
    study = map_.study
    if is_public(study):
        of_items = ["empty_public"] if study.studied in ("baskets", "items") else []
        of_baskets = study.unit == "persons" and study.studied == "baskets"
        unit = _entry("unit_persons_of_items") if of_baskets else unit_meaning(study.unit)
        return [unit, *map(_entry, ["rounded", "promised", "bound", "not_here", *of_items])]
    if study.section == "baskets":
        return basket_meanings(study.scales, study.unit)
    return mixed_meanings(study.scales) if study.section == "items" else list(_table_meanings(map_))


def _entry(id: str, /, **places: Any) -> Meaning:
    return t(f"meanings.{id}.title"), t(f"meanings.{id}.text", **places)


def unit_meaning(unit: Unit) -> Meaning:
    """Define the unit that groups count."""
    return _entry(f"unit_{unit.replace(' ', '_')}")


def weights_sentences(map_: Map) -> list[str]:
    """Describe the weights of the quasi-identifiers in losses, if they differ."""
    return [f"{words[0].upper()}{words[1:]}." for words in weights_in_words(map_.about.get("weights", {}))]


def _table_meanings(map_: Map) -> Iterator[Meaning]:
    study = map_.study
    scales, table = study.scales, study.table
    yield unit_meaning(study.unit)
    yield _entry("baseline")
    yield _entry("groups")
    if any(point.form == "bucketization" and not point.is_baseline for point in map_.points):
        yield _entry("bucketization")
    drop = table.missing == "drop"
    yield _entry("missing_drop" if drop else "missing_value", dropped=int(map_.about.get("dropped", 0)))
    largest = max((point.candidate.suppress for point in map_.points), default=0.0)
    yield _entry("suppressed" if largest else "suppressed_none", largest=largest)
    yield from ((t("meanings.weights"), sentence) for sentence in weights_sentences(map_))
    if map_.about.get("sensitive"):
        yield _entry("populations", support=scales.min_support)
        yield _queries(scales.queries)
        yield _attack(map_)
        yield from _reader(scales.reader)
    if (attacks := scales.attacks) is not None:
        by_file, rest = attacks.file is not None, 1 - attacks.control
        kind, unit = "file" if by_file else "share", _counted_unit(map_)
        control = t(f"meanings.control_{kind}", attacks=attacks, rest=rest, unit=unit)
        yield _entry("attacks", control=control, number=attacks.number, unit=unit)
        yield _entry("counted")
    if map_.verdicts is not None:
        workload = map_.verdicts.workload
        shown = t("meanings.shown_release" if workload.test == "release" else "meanings.shown_original")
        others = t("meanings.taught_persons" if study.unit == "persons" else "meanings.taught_records")
        yield _entry("learning", workload=workload, shown=shown, others=others)
    if any(point.is_noisy for point in map_.points):
        yield _entry("noise", draws=scales.draws)


def _counted_unit(map_: Map) -> str:
    return "persons" if map_.study.unit == "persons" else "records"


def _reader(reader: Reader) -> Iterator[Meaning]:
    """Define the second estimator."""
    if isinstance(reader, EmReader):
        yield _entry("em_reader", rounds=reader.rounds)


def _attack(map_: Map) -> Meaning:
    """Define the attack, with the success of guessing the most frequent value if one attribute is attacked."""
    attack, unit = map_.study.scales.attack, _counted_unit(map_)
    both = ("attack_accuracy", "empirical_breach")
    known = next((p for p in map_.points if p.has(both) and p.measures["attack_accuracy"] > 0), None)
    columns = [] if known is None else subject_of(map_).of_columns(known.measures, known.by_sensitive)
    rates = [
        (about.column, percent(own["attack_accuracy"] / (1 + own["empirical_breach"]), 3))
        for about, own in columns
        if len(about.sensitive) == 1 and own.get("attack_accuracy") and "empirical_breach" in own
    ]
    right = listed([f"{rate} ({name})" if len(rates) > 1 else rate for name, rate in rates])
    return _entry(
        "attack",
        learns=t(f"meanings.learns_{attack.kind.replace('-', '_')}"),
        which=t(f"meanings.every_{unit[:-1]}" if attack.top == 1 else "meanings.surest", top=attack.top, unit=unit),
        beside=t("meanings.right_for", right=right) if rates else "",
    )


def _queries(queries: Queries) -> Meaning:
    bound = t("meanings.sane" if queries.sanity else "meanings.above_zero", sanity=queries.sanity)
    if queries.halves:
        ends = t("meanings.both_ends") if queries.reading == "closed-half-range" else ""
        return _entry("queries_halves", queries=queries, ends=ends, bound=bound)
    reading = t("meanings.of_records" if queries.reading == "query" else "meanings.of_values")
    chosen = t("meanings.at_random" if queries.select == "values" else "meanings.as_ranges")
    return _entry("queries", queries=queries, reading=reading, chosen=chosen, bound=bound)


def basket_meanings(scales: Any, unit: Unit) -> list[Meaning]:
    """List the definitions for a map of baskets."""
    from sfumato.release._itemsets import DRAWS, MOST_SETS

    line = scales.constraints is not None
    known = t("meanings.line_of", file=scales.constraints) if line else known_items(scales.known)
    entries = [
        _entry("unit_persons_of_items" if unit == "persons" else "records"),
        _entry("published_items"),
        _entry("known_items", known=known, sets=MOST_SETS, draws=DRAWS),
        _entry("attack_items", scales=scales, linking=scales.linking),
        _item_queries(scales.queries),
        _entry("empty"),
        _item_losses(scales.losses),
    ]
    entries += [_entry("studies")] if scales.studies else []
    return entries + ([_entry("sensitive_items", items=scales.sensitive)] if scales.sensitive else [])


def _item_queries(asked: Any) -> Meaning:
    """Define the queries and their estimator."""
    from sfumato.measures.items.queries import MOST_PAIRS

    many = "exact" if asked.is_exact else "file" if asked.kind == "file" else "drawn"
    many = "several" if many == "drawn" and asked.workloads != 1 else many
    auto = asked.is_exact and asked.workload == "auto" and asked.size > 1
    return _entry(
        "item_queries",
        what=t(f"meanings.asked_{asked.kind.replace('-', '_')}", asked=asked),
        many=t(f"meanings.many_{many}", asked=asked) + (t("meanings.many_auto", pairs=MOST_PAIRS) if auto else ""),
        estimator=asked.estimator,
        how=ESTIMATORS[asked.estimator],
        bound=t("meanings.item_sanity", sanity=asked.sanity) if asked.sanity else "",
    )


def _item_losses(losses: Any) -> Meaning:
    """Define the loss."""
    itself = t("meanings.itself_nothing" if losses.leaf_zero == "yes" else "meanings.itself_one")
    weight = "" if losses.weights == "one" else t(f"meanings.weighted_{losses.weights}")
    alone = "" if losses.singletons == "yes" else t("meanings.singletons")
    return _entry("item_losses", itself=itself, weight=weight, alone=alone)


def mixed_meanings(scales: Any) -> list[Meaning]:
    """List the definitions for a map of a table with items."""
    known = t("meanings.known_person", items=known_items(scales.known)) if scales.known else t("meanings.nothing_else")
    return [
        _entry("records"),
        _entry("groups_items"),
        _entry("published_items"),
        _entry("known_both", known=known, number=scales.known),
        _entry("attack_both", number=scales.known, linking=scales.linking),
        _entry("queries_both", joint=scales.joint_queries),
        _entry("sensitive_both"),
        _entry("losses_both"),
    ]
