"""What a release does not protect against, said of this very release: the honest part of a certificate.

One registry: every caution has an id (its text stands in the catalogue as `caution.ID`), a condition, and what was
found. Texts are for everybody: whether one is said, and what it says, follows from a `PublicContext`. What needs the
table, and how much there is of it, is found with the release at hand and is for the publisher.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.data.reading import Table
from sfumato.measures.items.estimates import BasketReader, MixedReader
from sfumato.measures.items.linking import Linking, Persons, listed_items, rho
from sfumato.publish._written_file import columns_of
from sfumato.publish.context import (
    InternalContext,
    PublicContext,
    alike_groups,
    shown_by,
    similar_groups,
)
from sfumato.publish.plain_language import NEARLY_SURE, NOISE_PREVAILS, belief, named
from sfumato.release._itemsets import Rows
from sfumato.release.changes import ends_of_single_records, unique_numbers
from sfumato.release.content import NoisyRelease
from sfumato.release.items import MixedRelease
from sfumato.release.records import replicated_uniques, unchanged_records
from sfumato.requirements.items import (
    Coherence,
    CompleteKAnonymity,
    InferenceRequirement,
    KMAnonymity,
    MixedRequirement,
    PrivacyConstraints,
    RhoUncertainty,
    known_in_words,
)
from sfumato.texts.catalogue import t
from sfumato.texts.format import counted, ended, listed, percent
from sfumato.tradeoff.study.candidate import Candidate

Places = Mapping[str, Any]
"""What is filled in into a text."""

RARE = 0.1
"""A delta times the number of rows that is more than this is no small probability any more."""

MANY_ROWS = 0.1
"""The share by which rows and records may differ before the publisher is told."""

ALARMS = ("large epsilon", "large delta", NOISE_PREVAILS)
"""What is wrong with the settings of a noisy draw."""

BESIDE = "; a column that shall stand beside changed ones as it is must be quasi, with what is changed in columns="


@dataclass(frozen=True)
class Caution:
    """One thing that a release does not protect against."""

    about: str
    text: str
    """For everybody: says nothing that cannot be read off the file."""

    count: str = ""
    """For the publisher: how much of it there is in this release."""


@dataclass(frozen=True)
class CautionRule:
    """When a caution is said, and what is found of it."""

    id: str
    """Its text; what stands before `/` is what it is about."""

    applies: Callable[[PublicContext], Iterable[Places]]
    """The places of its text: one caution for each."""

    found: Callable[[InternalContext, Places], str] = lambda inside, places: ""


def cautions(inside: InternalContext) -> list[Caution]:
    """List what a release does not protect against."""
    return [
        Caution(rule.id.partition("/")[0], t(f"caution.{rule.id}", **places), rule.found(inside, places))
        for rule, places in _applying(inside.public)
    ]


def cautions_of(release: Any, candidate: Candidate) -> list[Caution]:
    """List what a release that was not written yet does not protect against."""
    shown = shown_by(release, candidate.anonymizer)
    return cautions(InternalContext(PublicContext(candidate.public, columns_of(release), shown), release, candidate))


def public_cautions(context: PublicContext) -> list[Caution]:
    """List it for everybody, without what was found."""
    return [
        Caution(rule.id.partition("/")[0], t(f"caution.{rule.id}", **places)) for rule, places in _applying(context)
    ]


def _applying(context: PublicContext) -> Iterable[tuple[CautionRule, Places]]:
    return ((rule, places) for rule in CAUTIONS for places in rule.applies(context))


def found_first(cautions: Iterable[Caution]) -> list[Caution]:
    """Put first what was found in a release: for the publisher, since the order tells what was."""
    return sorted(cautions, key=lambda caution: caution.count == "")


def columns_left_out(table: Table) -> list[str]:
    """Return the columns of a table that are not among records of a release's own."""
    kept = {*table.roles.quasi, *table.roles.sensitive}
    return [name for name in table.engine.columns if name not in kept]


# -- conditions --------------------------------------------------------------------------------------------------------


def _if(holds: object, **places: Any) -> list[Places]:
    return [places] if holds else []


def _columns(names: Iterable[str]) -> list[Places]:
    return [{"column": name} for name in names]


def _large_epsilon(context: PublicContext) -> list[Places]:
    if not _noisy(context) or belief(context.maker.budget.epsilon, context.maker.budget.delta) <= NEARLY_SURE:
        return []
    return [{"epsilon": context.maker.epsilon, "most": math.log(NEARLY_SURE / (1 - NEARLY_SURE)), "sure": NEARLY_SURE}]


def _large_delta(context: PublicContext) -> list[Places]:
    if not _noisy(context):
        return []
    delta, rows = context.maker.budget.delta, context.shown.rows
    return _if(delta * rows > RARE, delta=delta, rows=counted(rows, "row"))


def _noise_prevails(context: PublicContext) -> list[Places]:
    counts, mean, remedy = context.shown.spread
    return _if(mean < context.shown.noise, counts=counts, mean=mean, noise=context.shown.noise, remedy=remedy)


def _ends_at(context: PublicContext) -> list[Places]:
    """Say where a promise about known items ends."""
    wanted = context.candidate.requirement
    if isinstance(wanted, KMAnonymity):
        return [{"known": known_in_words(wanted.m), "more": f"{wanted.m + 1} items", "beside": "", "k": wanted.k}]
    if not isinstance(wanted, MixedRequirement):
        return []
    ends = f"{wanted.m} known items" if wanted.m > 1 else "one known item" if wanted.m else "no known item"
    known, beside = f"the quasi-identifiers and {ends}", " beside the quasi-identifiers"
    return [{"known": known, "more": counted(wanted.m + 1, "item"), "beside": beside, "k": wanted.k}]


def _inference(context: PublicContext) -> bool:
    return isinstance(context.candidate.requirement, InferenceRequirement)


def _about_rules(context: PublicContext) -> bool:
    return _inference(context) and not isinstance(context.candidate.requirement, RhoUncertainty | Coherence)


def _unbounded(context: PublicContext) -> list[str]:
    """Name the sensitive columns whose distribution in a group nothing bounds."""
    if not (context.in_groups and context.shown.sensitive):
        return []
    bounding = [p for p in context.wanted.parts if p.name in ("t-closeness", "beta-likeness", "delta-disclosure")]
    return [name for name in context.shown.published if not any(part.on in (None, name) for part in bounding)]


def _noisy(context: PublicContext) -> bool:
    return context.shown.content == "noisy"


def _records(context: PublicContext) -> bool:
    return context.shown.content == "records"


def _external(context: PublicContext) -> bool:
    return context.shown.content == "external"


def _neutral(context: PublicContext) -> list[Places]:
    names = listed(context.columns.neutral)
    opening = "Taken" if _external(context) else "Published as they are, and taken"
    there = context.columns.neutral and (context.in_groups or _external(context))
    return _if(there, named=ended(f"{opening} for harmless: {names}"))


# -- what was found ----------------------------------------------------------------------------------------------------


def _column(inside: InternalContext, places: Places) -> tuple[Any, Any, int]:
    """Find a sensitive column: itself, the histograms, its place."""
    histograms = inside.groups.histograms
    place = [each.name for each in histograms.sensitive].index(places["column"])
    return histograms.sensitive[place], histograms, place


def _unique_combinations(inside: InternalContext, places: Places) -> str:
    if inside.public.shown.content == "external":
        return ""
    unique = int((inside.groups.quasi_counts == 1).sum())
    return f"{counted(unique, 'combination')} of quasi-identifiers occur once" if unique else ""


def _single(inside: InternalContext, places: Places) -> str:
    attribute, histograms, place = _column(inside, places)
    return f"{unique_numbers(attribute, histograms, place):,} of {counted(int(histograms.sizes.sum()), 'row')}"


def _alike(inside: InternalContext, places: Places) -> str:
    _, histograms, place = _column(inside, places)
    alike = alike_groups(histograms, place)
    return f"{counted(int(alike.sum()), 'group')}, {counted(int(histograms.sizes[alike].sum()), 'record')}"


def _gain(inside: InternalContext, places: Places) -> str:
    """Name the column whose distribution in a group differs most from the table's."""
    histograms, names = inside.groups.histograms, _unbounded(inside.public)
    gains = {
        attribute.name: float((histograms.of(place) / histograms.sizes[:, None] / attribute.shares).max())
        for place, attribute in enumerate(histograms.sensitive)
        if attribute.name in names
    }
    worst = max(gains, key=lambda name: gains[name])
    column = f" ({worst})" if len(gains) > 1 else ""
    return f"up to {gains[worst]:.3g} times as likely{column}" if gains[worst] > 1.5 else ""


def _moved(inside: InternalContext, places: Places) -> str:
    release = inside.groups
    moved = int(release.details.get("exchanged", 0))
    of = f"{counted(moved, 'record')} of {release.assignment.records:,}"
    return f"{of} outside the bucket of most people like them" if moved else ""


def _exact_ends(inside: InternalContext, places: Places) -> str:
    release = inside.groups
    return "; ".join(map(str, ends_of_single_records(release, inside.public.maker.ranges_of(release.table))))


def _listed_items(inside: InternalContext, places: Places) -> str:
    """Say what a group's sets tell of it beyond what they stand for."""
    k = inside.public.candidate.requirement.k
    found = listed_items(inside.release, k)
    share = percent(found.most / max(found.of_items, 1), 3)
    text = (
        f"{found.groups:,} of {counted(found.of_groups, 'group')} list every item that their sets stand for; the "
        f"longest list has {counted(found.most, 'item')} ({share} of all) of {counted(found.records, 'record')}; "
        f"{counted(found.rare, 'listed item')} fewer than {counted(k, 'record')} of the whole table have. Sets that "
        "all groups have in common (sets = common) list nothing of the kind"
    )
    return text if found.groups else ""


def _more_known(inside: InternalContext, places: Places) -> str:
    """Say what happens to somebody of whom more is known than the promise speaks of."""
    release, k, more = inside.release, places["k"], inside.public.candidate.requirement.m + 1
    if isinstance(release, MixedRelease):
        persons = Persons.drawn(release.data, replace(Linking(), persons=2000), more)
        kept, items = persons.in_release(release)
        asked = persons.questions(release.data, kept, items, True) if kept else None
        fits = np.zeros(0) if asked is None else MixedReader.of(release).fitting(asked)
        known = f"the quasi-identifiers and {more} random items are known"
    else:
        drawn = inside.prepared.scales.linking.draw(release.baskets, more)
        fits = BasketReader.of(release).matches(drawn) if drawn else np.zeros(0, np.int64)
        known = f"{more} random items are known"
    few, one = int((fits < k).sum()), int((fits == 1).sum())
    of = f"of {len(fits):,} records of which {known}, {few:,} fit fewer than {counted(k, 'record')}"
    return f"{of}, {one:,} a single one" if few else ""


def _alone(inside: InternalContext, places: Places) -> str:
    rows = Rows.of_release(inside.release)
    alone = int(rows.weights[(rows.weights == 1) & (np.diff(rows.starts) > 0)].sum())
    of = f"{counted(alone, 'record')} of {inside.release.baskets.size:,}"
    return f"{of} show a basket that no other shows" if alone else ""


def _inferred(inside: InternalContext, places: Places) -> str:
    """Say how surely the sensitive items can be inferred."""
    release, prepared = inside.release, inside.prepared
    names = listed([release.baskets.items[code] for code in prepared.sensitive])
    confidence = rho(release, prepared.sensitive, prepared.scales.known)
    sure = f", up to {percent(confidence, 3)} sure, from up to two other items" if confidence else ""
    return f"{names}{sure}"


def _unchanged(inside: InternalContext, places: Places) -> str:
    same, rows = unchanged_records(inside.release), counted(inside.release.records, "row")
    return f"{same:,} of {rows} say just what was recorded of the person" if same else ""


def _copied(inside: InternalContext, places: Places) -> str:
    copied, unique = replicated_uniques(inside.release)
    of = f"{copied:,} of the {counted(unique, 'record')}"
    return f"{of} that occur once in the table stand in the file" if copied else ""


def _seeded(inside: InternalContext, places: Places) -> str:
    text = "it was drawn with a seed, and who guesses that can; leave the seed out of what you publish"
    return text if getattr(inside.candidate.anonymizer, "seed", None) is not None else ""


def _rows(inside: InternalContext, places: Places) -> str:
    """Say how many rows and records there are, where they differ much: noise below zero is cut off, above it stays."""
    rows, records = inside.release.rows_written, inside.release.cells.records
    if abs(rows - records) <= MANY_ROWS * records:
        return ""
    nearer = "a lower height or a larger epsilon" if isinstance(inside.release, NoisyRelease) else "a larger epsilon"
    return f"{counted(rows, 'row')}, but the table has {counted(records, 'record')}; {nearer} brings them nearer"


def _repeated(inside: InternalContext, places: Places) -> str:
    """Say how many records one identifier has at most, if more than one."""
    table: Table = inside.release.table
    most = {name: int(table.engine.distinct(name).counts.max()) for name in table.roles.naming_persons}
    repeated = [f"up to {n:,} records with one value of {name}" for name, n in most.items() if n > 1]
    household = table.roles.household
    return listed(repeated if household is None else [*repeated, f"families ({household})"])


def _left_out(inside: InternalContext, places: Places) -> str:
    others = columns_left_out(inside.release.table)
    beside = BESIDE if _records(inside.public) and inside.public.shown.people else ""
    return f"not in it: {listed(others)}{beside}" if others else ""


# -- the registry ------------------------------------------------------------------------------------------------------

CAUTIONS = (
    CautionRule("origin", lambda c: _if(_external(c))),
    CautionRule(
        "how it was made", lambda c: _if(_records(c) and c.maker.caution, text=getattr(c.maker, "caution", ""))
    ),
    CautionRule("large epsilon", _large_epsilon),
    CautionRule("large delta", _large_delta),
    CautionRule(NOISE_PREVAILS, _noise_prevails),
    CautionRule("what sets tell of a group/listed", lambda c: _if(c.in_groups and c.lists_items), _listed_items),
    CautionRule("what sets tell of a group", lambda c: _if(c.in_groups and c.shown.items and not c.lists_items)),
    CautionRule(
        "other known items/constraints",
        lambda c: _if(
            isinstance(c.candidate.requirement, PrivacyConstraints), file=getattr(c.candidate.requirement, "file", "")
        ),
    ),
    CautionRule(
        "other known items/rho",
        lambda c: [
            {"known": known_in_words(own.m)} for own in c.candidate.requirement.parts if isinstance(own, RhoUncertainty)
        ],
    ),
    CautionRule(
        "other known items/coherence",
        lambda c: [
            {"known": known_in_words(own.p)} for own in c.candidate.requirement.parts if isinstance(own, Coherence)
        ],
    ),
    CautionRule("other known items/rules", lambda c: _if(_about_rules(c))),
    CautionRule("more known items", _ends_at, _more_known),
    CautionRule("what the rest of a record tells/group", lambda c: _if(c.in_groups and c.shown.items)),
    CautionRule("what the rest of a record tells", lambda c: _if(c.baskets and not _inference(c))),
    CautionRule("what the rest of a record tells/bounded", lambda c: _if(c.baskets and _inference(c))),
    CautionRule(
        "whole baskets",
        lambda c: _if(c.baskets and not isinstance(c.candidate.requirement, CompleteKAnonymity)),
        _alone,
    ),
    CautionRule(
        "sensitive items/none",
        lambda c: _if(c.baskets and not _inference(c) and not c.shown.names_sensitive),
    ),
    CautionRule(
        "sensitive items",
        lambda c: _if(c.baskets and not _inference(c) and c.shown.names_sensitive),
        _inferred,
    ),
    CautionRule(
        "sensitive items and known items",
        lambda c: _if(
            c.in_groups and c.shown.items and any(p.on == c.columns.items for p in c.candidate.requirement.further)
        ),
    ),
    CautionRule("items a person does not have", lambda c: _if(c.baskets)),
    CautionRule("identity", lambda c: _if(c.bucketized), _unique_combinations),
    CautionRule("identity/alone", lambda c: _if(c.in_groups and not c.bucketized and not c.shown.sensitive)),
    CautionRule("identity/exact", lambda c: _if(c.shown.exact and c.shown.sensitive)),
    CautionRule("membership", lambda c: _if(c.in_groups)),
    CautionRule("membership/items", lambda c: _if(c.baskets)),
    CautionRule("single values", lambda c: _columns(c.shown.single), _single),
    CautionRule("homogeneity", lambda c: _columns(c.shown.homogeneous), _alike),
    CautionRule(
        "similarity",
        lambda c: _columns(c.shown.similar),
        lambda inside, places: counted(similar_groups(*_column(inside, places)), "group"),
    ),
    CautionRule("similarity/undeclared", lambda c: _if(c.shown.undeclared, columns=listed(c.shown.undeclared))),
    CautionRule("skewness", lambda c: _if(_unbounded(c), columns=listed(_unbounded(c))), _gain),
    CautionRule(
        "several sensitive columns",
        lambda c: _if(len(c.shown.published) > 1, columns=listed(c.shown.published)),
    ),
    CautionRule(
        "target/sensitive", lambda c: _if(c.shown.target == "sensitive", target=getattr(c.maker, "decided_by", ""))
    ),
    CautionRule(
        "target/neutral", lambda c: _if(c.shown.target == "neutral", target=getattr(c.maker, "decided_by", ""))
    ),
    CautionRule(
        "stop", lambda c: _if(c.in_groups and c.maker.stops_at is not None, stop=getattr(c.maker, "stops_at", ""))
    ),
    CautionRule(
        "dealing", lambda c: _if(c.in_groups and c.maker.dealing, text=getattr(c.maker, "dealing", "")), _moved
    ),
    CautionRule("exact ends", lambda c: _if(c.shown.ends == "exact"), _exact_ends),
    CautionRule("rounded ends", lambda c: _if(c.shown.ends == "rounded")),
    CautionRule(
        "minimality",
        lambda c: _if(c.in_groups and c.shown.sensitive and any(part.about_sensitive for part in c.wanted.parts)),
    ),
    CautionRule("minimality/items", lambda c: _if(c.baskets)),
    CautionRule("items that occur", lambda c: _if(c.baskets and c.shown.sets)),
    CautionRule("changed values", lambda c: _if(_records(c) and c.shown.people), _unchanged),
    CautionRule("synthetic records/noisy", lambda c: _if(_noisy(c)), _rows),
    CautionRule("synthetic records/model", lambda c: _if(_records(c) and not c.shown.people), _copied),
    CautionRule("synthetic records/external", lambda c: _if(_external(c) and not c.shown.people)),
    CautionRule("chance", lambda c: _if(_records(c) and c.maker.draws_at_random), _seeded),
    CautionRule("nothing is proved", lambda c: _if(_records(c) and not c.maker.promises)),
    CautionRule("what k counts", lambda c: _if(_records(c) and c.maker.promises)),
    CautionRule("membership/records", lambda c: _if(_records(c))),
    CautionRule("statistics", lambda c: _if(_noisy(c))),
    CautionRule(
        "small groups", lambda c: _if(_noisy(c), noise=c.shown.noise, not_kept=getattr(c.maker, "not_kept", ""))
    ),
    CautionRule("conclusions", lambda c: _if(_records(c))),
    CautionRule("composition", lambda c: _if(c.in_groups)),
    CautionRule("composition/items", lambda c: _if(c.baskets)),
    CautionRule("composition/noisy", lambda c: _if(_noisy(c))),
    CautionRule("composition/records", lambda c: _if(_records(c))),
    CautionRule("composition/external", lambda c: _if(_external(c))),
    CautionRule(
        "several records",
        lambda c: _if(
            _noisy(c),
            grown=" and a delta of n e^((n - 1) epsilon) times delta" if _noisy(c) and c.maker.budget.delta else "",
        ),
        _repeated,
    ),
    CautionRule("several records of one person", lambda c: _if(c.baskets)),
    CautionRule("declared domains", lambda c: _if(_noisy(c))),
    CautionRule("background knowledge", lambda c: _if(c.in_groups)),
    CautionRule(
        "background knowledge/external", lambda c: _if(_external(c), known=named(c.columns.quasi) or "the columns here")
    ),
    CautionRule("neutral columns", _neutral),
    CautionRule("automatic hierarchies", lambda c: _if(c.shown.automatic, columns=listed(c.shown.automatic))),
    CautionRule("other columns", lambda c: _if(_noisy(c) or _records(c)), _left_out),
)
