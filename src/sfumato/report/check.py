"""A check in words that a data steward understands, with the thresholds people use."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.measures.disclosure.group_risk import THRESHOLDS
from sfumato.measures.disclosure.superpopulation import SMALL_FRACTION
from sfumato.phrases import counted, listed, percent
from sfumato.tradeoff.check import Check, Persons

KNOWN_FOR = {11: ", the threshold of EMA policy 0070 and Health Canada"}
SENTENCE = 5
"""The smallest group that sentences about attributes speak of."""

MISSING = {
    "value": "",
    "drop": "Records with a missing value are left out.",
    "any": "A missing value could be anything, so it matches every value.",
}


def check_in_words(check: Check) -> str:
    """Write a check as paragraphs."""
    parts = [
        _study(check),
        _table(check),
        _risk(check),
        _attributes(check),
        _subsets(check),
        _worst(check),
        *(_persons(check, own) for own in check.persons),
        _population(check),
        _household(check),
    ]
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def _study(check: Check) -> Iterator[str]:
    if check.study is None:
        return
    failed = [own for own in check.problems if own.kind == "failed"]
    infeasible = [own for own in check.problems if own.kind == "infeasible"]
    if not check.problems:
        yield f"The study {check.study!r} can be explored: nothing speaks against its {_candidates(check.candidates)}."
    if check.effort is not None and not failed:
        yield f"Exploring it takes {check.effort.in_words}, as an order of magnitude."
    for found, what in ((failed, "would fail"), (infeasible, "have no release")):
        if found:
            verb = what if len(found) > 1 else what.replace("have", "has")
            yield f"Of the {_candidates(check.candidates)} of the study {check.study!r}, {len(found):,} {verb}:"
            for own in found:
                yield f"  {own.candidate}: {own.reason}"


def _candidates(number: int) -> str:
    return counted(number, "candidate")


def _table(check: Check) -> Iterator[str]:
    records = counted(check.records, "record")
    yield f"{check.table}: {records}; an outsider may know {listed(check.quasi)}."
    if check.dropped:
        yield f"{counted(check.dropped, 'record')} with a missing value left out."
    elif MISSING[check.missing]:
        yield MISSING[check.missing]


def _risk(check: Check) -> Iterator[str]:
    risk = check.risk
    yield "How easily is a record found by somebody who knows these of a person, and that the person is in the table?"
    alone = "is" if risk.uniques == 1 else "are"
    yield f"  {counted(risk.combinations, 'different combination')} of values occur."
    unique = f"{counted(risk.uniques, 'record')} ({percent(risk.uniques_share)})"
    yield f"  {unique} {alone} alone with theirs: found for sure (sample uniques)."
    yield f"  The smallest group has {counted(risk.smallest, 'record')}: the highest risk is {risk.highest:.3g}."
    yield (
        f"  The average risk is {risk.average:.3g}: who links all records by these values is right for "
        f"{percent(risk.average)} of them (marketer risk)."
    )
    yield "  Records in groups that are too small, by the thresholds people use:"
    for smallest, threshold in THRESHOLDS.items():
        known = KNOWN_FOR.get(smallest, "")
        yield (
            f"    {percent(risk.above(smallest)):>8} in groups of fewer than {smallest} "
            f"(risk above {threshold:g}{known})"
        )


def _attributes(check: Check) -> Iterator[str]:
    if len(check.quasi) < 2:
        return
    yield "Which quasi-identifier drives the risk? Without it, the table would have:"
    yield f"  {'':20} {'values':>7}   {f'in groups below {SENTENCE}':>17}   {'alone':>8}   average risk"
    for own in check.attributes:
        if own.without is not None:
            below, unique = own.without.above(SENTENCE), own.without.uniques_share
            yield (
                f"  {own.name:20} {own.values:>7,}   {percent(below):>17}   {percent(unique):>8}   "
                f"{own.without.average:>12.3g}"
            )
    risk = check.risk
    yield (
        f"  {'(as it stands)':20} {'':>7}   {percent(risk.above(SENTENCE)):>17}   "
        f"{percent(risk.uniques_share):>8}   {risk.average:>12.3g}"
    )
    first = check.attributes[0]
    if first.without is not None and first.without.below[SENTENCE] < risk.below[SENTENCE]:
        yield (
            f"  Without {first.name}, {percent(first.without.above(SENTENCE))} instead of "
            f"{percent(risk.above(SENTENCE))} of the records would be in groups of fewer than {SENTENCE}."
        )


def _subsets(check: Check) -> Iterator[str]:
    if len(check.quasi) < 2:
        return
    yield "What if an outsider knows only some of them? At worst:"
    for size in sorted({len(names) for names in check.subsets}):
        own = {names: risk for names, risk in check.subsets.items() if len(names) == size}
        if size == len(check.quasi):
            continue
        names, risk = max(own.items(), key=lambda item: (item[1].average, item[1].uniques))
        yield f"  {size} of them: {percent(risk.uniques_share):>8} of the records alone, by {listed(names)}"
    told = check.risk.separation
    yield f"  All together tell {percent(told)} of all pairs of records apart (separation)."
    if not check.all_subsets:
        yield "  (Subsets of up to 3 quasi-identifiers, and of all but one, were looked at; all would be too many.)"
    few = sum(count for size, count in check.unique_by.items() if 0 < size <= 2)
    if few:
        yield f"  {counted(few, 'record')} {'is' if few == 1 else 'are'} alone already by one or two of them."


def _worst(check: Check) -> Iterator[str]:
    groups = counted(check.smallest_groups, "group")
    have = "has" if check.smallest_groups == 1 else "have"
    yield f"{groups} {have} only {counted(check.risk.smallest, 'record')}. The worst (for your eyes only):"
    for own in check.worst:
        values = ", ".join(f"{name} {value or '(missing)'}" for name, value in own.quasi.items())
        why = f"  <- {listed(own.unique_by)} alone would do" if 0 < len(own.unique_by) < len(check.quasi) else ""
        yield f"  {counted(own.frequency, 'record')}: {values}{why}"


def _persons(check: Check, own: Persons) -> Iterator[str]:
    if not own.repeated:
        yield f"By {own.identifier!r} every record is another person, so groups of k records are k persons."
    else:
        yield (
            f"By {own.identifier!r}, {own.repeated:,} of {counted(own.persons, 'person')} "
            f"{'has' if own.repeated == 1 else 'have'} several records (up to {own.most_records:,}). "
            "Groups are counted in records and may hold fewer persons:"
        )
        yield f"  counted in records the smallest group is {check.risk.smallest:,}, in persons {own.smallest:,};"
        groups = counted(own.filled_by_one, "group")
        yield f"  {groups} of several records {'is' if own.filled_by_one == 1 else 'are'} filled by one person alone."
    if own.unnamed:
        yield f"  {counted(own.unnamed, 'record')} without {own.identifier!r} each taken for another person."


def _population(check: Check) -> Iterator[str]:
    individual, estimate = check.individual, check.population
    if individual is not None:
        yield (
            f"Seen as a sample of {individual.population:,.0f} persons (by {individual.source}), where nobody knows "
            "who is in the table:"
        )
        yield (
            f"  {_expected(individual.expected)} ({percent(individual.average)}) are expected to be found (global "
            f"risk); the highest risk of one record is {individual.highest:.3g}."
        )
        above = ", ".join(f"{percent(share)} above {threshold:g}" for threshold, share in individual.above.items())
        yield f"  Records by individual risk: {above}."
    if estimate is None:
        if individual is not None:
            yield f"  How many persons are unique in the population is not estimated: {check.why_no_population}."
        return
    name = {"pitman": "Pitman's model (Hoshino 2001)", "zayatz": "Zayatz 1991"}[estimate.model]
    yield (
        f"  About {percent(estimate.share)} of the population, {estimate.uniques:,.0f} persons, are alone with their "
        f"values in it, by {name}."
    )
    side = "up to" if estimate.sampling_fraction <= SMALL_FRACTION else "above"
    if estimate.pitman is None:
        yield f"  Pitman's model has no estimate: {estimate.why_not_pitman}."
    else:
        zayatz, pitman = estimate.zayatz / estimate.population, estimate.pitman / estimate.population
        other = f"Zayatz 1991 says {percent(zayatz)}" if estimate.model == "pitman" else f"Pitman's {percent(pitman)}"
        yield (
            f"  {other}. (The table holds {percent(estimate.sampling_fraction)} of the population; for samples of "
            f"{side} {percent(SMALL_FRACTION)} the first is the better model.)"
        )


def _household(check: Check) -> Iterator[str]:
    own = check.household
    if own is None:
        return
    shown = list(own.sizes.items())[:8]
    sizes = ", ".join(f"{count:,} with {counted(size, 'member')}" for size, count in shown)
    more = f" and {len(own.sizes) - 8} other sizes" if len(own.sizes) > 8 else ""
    yield f"{counted(own.households, 'household')} by {check.household_column!r}: {sizes}{more}."
    yield "  Who finds one member finds the whole household:"
    yield (
        f"  {_expected(own.expected)} ({percent(own.average)}) are expected to be found that way; the highest risk "
        f"of a household is {own.highest:.3g}."
    )
    alone = f"{counted(own.unique_with_size, 'household')} {'is' if own.unique_with_size == 1 else 'are'} unique"
    if not check.shared:
        yield f"  No quasi-identifier is the same within every household; by the number of members {alone}."
        return
    one = len(check.shared) == 1
    yield (
        f"  {listed(check.shared)} {'is' if one else 'are'} the same within every household: by "
        f"{'it' if one else 'them'} {counted(own.unique, 'household')} {'is' if own.unique == 1 else 'are'} unique, "
        f"and {own.unique_with_size:,} where the number of members is known."
    )


def _expected(number: float) -> str:
    """Write an expected number of records, which need not be whole."""
    return f"{number:,.0f} records" if number >= 100 else f"{number:.3g} records"
