"""The limits of protection of a release: threats that its certificate must name.

One registry: each caution has an id (its text is `caution.ID` in the catalogue), a condition, and a finding. Texts are
public: they follow from a `PublicContext` alone. Findings use the table and the release; they are internal.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.data.persons import PersonPairs
from sfumato.data.reading import Table
from sfumato.measures.items.estimates import BasketReader, MixedReader
from sfumato.measures.items.linking import Linking, Persons, listed_items, rho
from sfumato.publish._written_file import columns_of
from sfumato.publish.certificate_facts import InternalContext, PublicContext, alike_groups, shown_by, similar_groups
from sfumato.publish.plain_language import NEARLY_SURE, NOISE_PREVAILS, belief, named
from sfumato.release._itemsets import Rows
from sfumato.release.changes import ends_of_single_records, unique_numbers
from sfumato.release.content import NoisyRelease
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
from sfumato.texts.catalogue import counted, ended, listed, percent, t
from sfumato.tradeoff.study.candidate import Candidate

Places = Mapping[str, Any]
"""The parameters of a text."""

RARE = 0.1
"""The largest acceptable delta times the number of rows."""

MANY_ROWS = 0.1
"""The difference of rows and records, as a share, that is reported to the publisher."""

ALARMS = ("large epsilon", "large delta", NOISE_PREVAILS)
"""Errors in the settings of a noisy draw."""

GROWN = " and a delta of n e^((n - 1) epsilon) times delta"
BESIDE = "; a column published unchanged next to changed ones must be quasi, with the changed ones in columns="


@dataclass(frozen=True)
class Caution:
    """One threat that a release does not protect against."""

    about: str
    text: str
    """Public: follows from the file and the settings."""

    count: str = ""
    """Internal: its extent in this release."""


@dataclass(frozen=True)
class CautionRule:
    """The condition of a caution, and its finding."""

    id: str
    """The id of its text; the part before `/` is its title."""

    applies: Callable[[PublicContext], object]
    """Returns whether it applies; or the parameters of its text; or a list of these, one caution for each."""

    found: Callable[[InternalContext, Places], str] = lambda inside, places: ""


def cautions(inside: InternalContext) -> list[Caution]:
    """List the cautions of a release."""
    return [
        Caution(rule.id.partition("/")[0], t(f"caution.{rule.id}", **places), rule.found(inside, places))
        for rule, places in _applying(inside.public)
    ]


def cautions_of(release: Any, candidate: Candidate) -> list[Caution]:
    """List the cautions of a release that was not written yet."""
    shown = shown_by(release, candidate.anonymizer)
    return cautions(InternalContext(PublicContext(candidate.public, columns_of(release), shown), release, candidate))


def public_cautions(context: PublicContext) -> list[Caution]:
    """List the public cautions, without findings."""
    return [
        Caution(rule.id.partition("/")[0], t(f"caution.{rule.id}", **places)) for rule, places in _applying(context)
    ]


def _applying(context: PublicContext) -> Iterator[tuple[CautionRule, Places]]:
    for rule in CAUTIONS:
        found = rule.applies(context)
        for places in found if isinstance(found, list) else [found] if found else []:
            yield rule, places if isinstance(places, Mapping) else {}


def found_first(cautions: Iterable[Caution]) -> list[Caution]:
    """Return cautions with a finding first: internal, because the order reveals findings."""
    return sorted(cautions, key=lambda caution: caution.count == "")


def columns_left_out(table: Table) -> list[str]:
    """Return the columns of a table that an external release lacks."""
    kept = {*table.roles.quasi, *table.roles.sensitive}
    return [name for name in table.engine.columns if name not in kept]


# -- conditions --------------------------------------------------------------------------------------------------------


def _columns(names: Iterable[str]) -> list[Places]:
    return [{"column": name} for name in names]


def _named(names: Sequence[str]) -> Places:
    return {"columns": listed(names)} if names else {}


def _known(context: PublicContext, kind: type, items: str) -> list[Places]:
    """Return the number of items that an attacker may know, for each requirement of a kind."""
    own = [part for part in context.required.parts if isinstance(part, kind)]
    return [{"known": known_in_words(getattr(part, items))} for part in own]


def _large_epsilon(context: PublicContext) -> object:
    if not context.is_noisy or belief(context.maker.budget.epsilon, context.maker.budget.delta) <= NEARLY_SURE:
        return False
    return {"epsilon": context.maker.epsilon, "most": math.log(NEARLY_SURE / (1 - NEARLY_SURE)), "sure": NEARLY_SURE}


def _large_delta(context: PublicContext) -> object:
    if not context.is_noisy:
        return False
    delta, rows = context.maker.budget.delta, context.shown.rows
    return delta * rows > RARE and {"delta": delta, "rows": counted(rows, "row")}


def _several(context: PublicContext, persons: bool) -> object:
    if not context.is_noisy or context.maker.counts_persons != persons:
        return False
    return {"grown": GROWN if context.maker.budget.delta else "", "most": context.maker.contribution}


def _noise_prevails(context: PublicContext) -> object:
    (counts, mean, remedy), noise = context.shown.spread, context.shown.noise
    return mean < noise and {"counts": counts, "mean": mean, "noise": noise, "remedy": remedy}


def _ends_at(context: PublicContext) -> object:
    """Return the limits of a promise about known items."""
    wanted = context.required
    if isinstance(wanted, KMAnonymity):
        asked = {"known": known_in_words(wanted.m), "more": f"{wanted.m + 1} items", "beside": "", "k": wanted.k}
        return {**asked, "unit": wanted.unit}
    if not isinstance(wanted, MixedRequirement):
        return False
    ends = f"{wanted.m} known items" if wanted.m > 1 else "one known item" if wanted.m else "no known item"
    known, beside = f"the quasi-identifiers and {ends}", " beside the quasi-identifiers"
    return {
        "known": known,
        "more": counted(wanted.m + 1, "item"),
        "beside": beside,
        "k": wanted.k,
        "unit": wanted.linking.unit,
    }


def _infers(context: PublicContext) -> bool:
    return context.asks(InferenceRequirement)


def _unbounded(context: PublicContext) -> list[str]:
    """Return the sensitive columns whose distribution in a group is not bounded."""
    if not (context.in_groups and context.shown.sensitive):
        return []
    bounding = [p for p in context.wanted.parts if p.name in ("t-closeness", "beta-likeness", "delta-disclosure")]
    return [name for name in context.shown.published if not any(part.on in (None, name) for part in bounding)]


def _neutral(context: PublicContext) -> object:
    names = listed(context.columns.neutral)
    opening = "Taken" if context.is_external else "Published as they are, and taken"
    there = context.columns.neutral and (context.in_groups or context.is_external)
    return there and {"named": ended(f"{opening} for harmless: {names}")}


# -- what was found ----------------------------------------------------------------------------------------------------


def _column(inside: InternalContext, places: Places) -> tuple[Any, Any, int]:
    """Return a sensitive column, the histograms, and its index."""
    histograms = inside.groups.histograms
    place = [each.name for each in histograms.sensitive].index(places["column"])
    return histograms.sensitive[place], histograms, place


def _unique_combinations(inside: InternalContext, places: Places) -> str:
    if inside.public.is_external:
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


def _similar(inside: InternalContext, places: Places) -> str:
    return counted(similar_groups(*_column(inside, places)), "group")


def _gain(inside: InternalContext, places: Places) -> str:
    """Return the column whose distribution in a group differs most from the table's."""
    histograms, names = inside.groups.histograms, _unbounded(inside.public)
    of, persons = histograms, inside.groups.group_persons
    counts, sizes = (of.counts, of.sizes) if persons is None else (persons.weighted, persons.persons)
    gains = {
        attribute.name: float((counts[:, inside.groups.cells.span(place)] / sizes[:, None] / attribute.q).max())
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
    """Describe the item sets of groups that reveal which items occur."""
    k = inside.public.required.k
    found = listed_items(inside.release, k)
    share = percent(found.most / max(found.of_items, 1), 3)
    text = (
        f"{found.groups:,} of {counted(found.of_groups, 'group')} list every item of their sets; the "
        f"longest list has {counted(found.most, 'item')} ({share} of all) of {counted(found.records, 'record')}; "
        f"{counted(found.rare, 'listed item')} fewer than {counted(k, 'record')} of the whole table have. Sets "
        "common to all groups (sets = common) avoid these lists"
    )
    return text if found.groups else ""


def _more_known(inside: InternalContext, places: Places) -> str:
    """Describe the risk from an attacker who knows more items than the promise covers."""
    release, k, more = inside.release, places["k"], inside.public.required.m + 1
    if inside.public.shown.attributes:
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
    unit = places["unit"]
    of = f"of {counted(len(fits), unit)} of which {known}, {few:,} match fewer than {counted(k, unit)}"
    return f"{of}, {one:,} a single one" if few else ""


def _alone(inside: InternalContext, places: Places) -> str:
    rows = Rows.of_release(inside.release)
    alone = int(rows.weights[(rows.weights == 1) & (np.diff(rows.starts) > 0)].sum())
    of = f"{counted(alone, 'record')} of {inside.release.baskets.size:,}"
    return f"{of} show a basket that no other shows" if alone else ""


def _inferred(inside: InternalContext, places: Places) -> str:
    """Describe the maximum confidence in sensitive items."""
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
    return f"{of} that occur once in the table are in the file" if copied else ""


def _seeded(inside: InternalContext, places: Places) -> str:
    text = "it was drawn with a seed, which an attacker could guess; remove the seed before you publish"
    return text if getattr(inside.candidate.anonymizer, "seed", None) is not None else ""


def _rows(inside: InternalContext, places: Places) -> str:
    """Describe a large difference of rows and records, caused by cutting negative noise."""
    rows, records = inside.release.rows_written, inside.release.cells.records
    if abs(rows - records) <= MANY_ROWS * records:
        return ""
    nearer = "a lower height or a larger epsilon" if isinstance(inside.release, NoisyRelease) else "a larger epsilon"
    return f"{counted(rows, 'row')}, but the table has {counted(records, 'record')}; {nearer} brings them nearer"


def _repeated(inside: InternalContext, places: Places) -> str:
    """Describe the most records of one identifier, if more than one."""
    table: Table = inside.release.table
    most = {name: int(table.engine.distinct(name).counts.max()) for name in table.roles.naming_persons}
    repeated = [f"up to {n:,} records with one value of {name}" for name, n in most.items() if n > 1]
    household = table.roles.household
    return listed(repeated if household is None else [*repeated, f"families ({household})"])


def _not_counted(inside: InternalContext, places: Places) -> str:
    """Count the records beyond the limit per person: internal, because one person determines this number."""
    persons: PersonPairs = inside.release.cells.persons
    beyond = np.maximum(persons.records - places["most"], 0)
    several = f"{counted(int((beyond > 0).sum()), 'person')} of {persons.number:,}"
    return f"{counted(int(beyond.sum()), 'record')} of {several} not counted" if beyond.any() else ""


def _left_out(inside: InternalContext, places: Places) -> str:
    others = columns_left_out(inside.release.table)
    beside = BESIDE if inside.public.is_records and inside.public.shown.people else ""
    return f"not in it: {listed(others)}{beside}" if others else ""


# -- the registry ------------------------------------------------------------------------------------------------------

CAUTIONS = (
    CautionRule("origin", lambda c: c.is_external),
    CautionRule("how it was made", lambda c: c.is_records and c.maker.caution and {"text": c.maker.caution}),
    CautionRule("large epsilon", _large_epsilon),
    CautionRule("large delta", _large_delta),
    CautionRule(NOISE_PREVAILS, _noise_prevails),
    CautionRule("what sets tell of a group/listed", lambda c: c.in_groups and c.lists_items, _listed_items),
    CautionRule("what sets tell of a group", lambda c: c.in_groups and c.shown.items and not c.lists_items),
    CautionRule("other known items/constraints", lambda c: c.asks(PrivacyConstraints) and {"file": c.required.file}),
    CautionRule("other known items/rho", lambda c: _known(c, RhoUncertainty, "m")),
    CautionRule("other known items/coherence", lambda c: _known(c, Coherence, "p")),
    CautionRule("other known items/rules", lambda c: _infers(c) and not c.asks(RhoUncertainty, Coherence)),
    CautionRule("more known items", _ends_at, _more_known),
    CautionRule("what the rest of a record tells/group", lambda c: c.in_groups and c.shown.items),
    CautionRule("what the rest of a record tells", lambda c: c.baskets and not _infers(c)),
    CautionRule("what the rest of a record tells/bounded", lambda c: c.baskets and _infers(c)),
    CautionRule("whole baskets", lambda c: c.baskets and not c.asks(CompleteKAnonymity), _alone),
    CautionRule("sensitive items/none", lambda c: c.baskets and not _infers(c) and not c.shown.names_sensitive),
    CautionRule("sensitive items", lambda c: c.baskets and not _infers(c) and c.shown.names_sensitive, _inferred),
    CautionRule(
        "sensitive items and known items",
        lambda c: c.in_groups and c.shown.items and any(part.on == c.columns.items for part in c.required.further),
    ),
    CautionRule("items a person does not have", lambda c: c.baskets),
    CautionRule("identity", lambda c: c.bucketized, _unique_combinations),
    CautionRule("identity/alone", lambda c: c.in_groups and not c.bucketized and not c.shown.sensitive),
    CautionRule("identity/exact", lambda c: c.shown.exact and c.shown.sensitive),
    CautionRule("membership", lambda c: c.in_groups),
    CautionRule("membership/items", lambda c: c.baskets),
    CautionRule("single values", lambda c: _columns(c.shown.single), _single),
    CautionRule("homogeneity", lambda c: _columns(c.shown.homogeneous), _alike),
    CautionRule("similarity", lambda c: _columns(c.shown.similar), _similar),
    CautionRule("similarity/undeclared", lambda c: _named(c.shown.undeclared)),
    CautionRule("skewness", lambda c: _named(_unbounded(c)), _gain),
    CautionRule("several sensitive columns", lambda c: len(c.shown.published) > 1 and _named(c.shown.published)),
    CautionRule("target/sensitive", lambda c: c.shown.target == "sensitive" and {"target": c.maker.decided_by}),
    CautionRule("target/neutral", lambda c: c.shown.target == "neutral" and {"target": c.maker.decided_by}),
    CautionRule("stop", lambda c: c.in_groups and c.maker.stops_at is not None and {"stop": c.maker.stops_at}),
    CautionRule("dealing", lambda c: c.in_groups and c.maker.dealing and {"text": c.maker.dealing}, _moved),
    CautionRule("exact ends", lambda c: c.shown.ends == "exact", _exact_ends),
    CautionRule("rounded ends", lambda c: c.shown.ends == "rounded"),
    CautionRule(
        "minimality",
        lambda c: c.in_groups and c.shown.sensitive and any(part.about_sensitive for part in c.wanted.parts),
    ),
    CautionRule("minimality/items", lambda c: c.baskets),
    CautionRule("items that occur", lambda c: c.baskets and c.shown.sets),
    CautionRule("changed values", lambda c: c.is_records and c.shown.people, _unchanged),
    CautionRule("synthetic records/noisy", lambda c: c.is_noisy, _rows),
    CautionRule("synthetic records/model", lambda c: c.is_records and not c.shown.people, _copied),
    CautionRule("synthetic records/external", lambda c: c.is_external and not c.shown.people),
    CautionRule("chance", lambda c: c.is_records and c.maker.draws_at_random, _seeded),
    CautionRule("nothing is proved", lambda c: c.is_records and not c.maker.promises),
    CautionRule("what k counts", lambda c: c.is_records and c.maker.promises),
    CautionRule("membership/records", lambda c: c.is_records),
    CautionRule("statistics", lambda c: c.is_noisy),
    CautionRule("small groups", lambda c: c.is_noisy and {"noise": c.shown.noise, "not_kept": c.maker.not_kept}),
    CautionRule("conclusions", lambda c: c.is_records),
    CautionRule("composition", lambda c: c.in_groups),
    CautionRule("composition/items", lambda c: c.baskets),
    CautionRule("composition/noisy", lambda c: c.is_noisy),
    CautionRule("composition/records", lambda c: c.is_records),
    CautionRule("composition/external", lambda c: c.is_external),
    CautionRule("several records", lambda c: _several(c, persons=False), _repeated),
    CautionRule("several records/persons", lambda c: _several(c, persons=True), _not_counted),
    CautionRule("several records of one person", lambda c: c.baskets and c.columns.unit == "records"),
    CautionRule("several records of one person/counted", lambda c: c.baskets and c.columns.unit == "persons"),
    CautionRule("declared domains", lambda c: c.is_noisy),
    CautionRule("background knowledge", lambda c: c.in_groups),
    CautionRule(
        "background knowledge/external",
        lambda c: c.is_external and {"known": named(c.columns.quasi) or "the columns here"},
    ),
    CautionRule("neutral columns", _neutral),
    CautionRule("automatic hierarchies", lambda c: _named(c.shown.automatic)),
    CautionRule("other columns", lambda c: c.is_noisy or c.is_records, _left_out),
)
