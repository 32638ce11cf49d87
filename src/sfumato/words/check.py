"""A check of a table or of baskets in words that a data steward understands, with the thresholds people use."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.measures.disclosure.group_risk import THRESHOLDS
from sfumato.measures.disclosure.superpopulation import SMALL_FRACTION
from sfumato.phrases import counted, ended, listed, percent
from sfumato.tradeoff._check_items import BasketCheck, ItemsCheck, MixedCheck
from sfumato.tradeoff.check import Check, RepeatedPersons
from sfumato.transactions.policy import known_in_words
from sfumato.words.kinds.items_check import items_lines, lengths_in_words, mixed_check_parts, study_lines

KNOWN_FOR = {11: ", the threshold of EMA policy 0070 and Health Canada"}
SENTENCE = 5
"""The smallest group that sentences about attributes speak of."""

LONGEST = 100
"""Letters of a set of items."""

MISSING = {
    "value": "",
    "drop": "Records with a missing value are left out.",
    "any": "A missing value could be anything, so it matches every value.",
}


def check_in_words(check: Check | ItemsCheck) -> str:
    """Write a check as paragraphs."""
    return "\n\n".join("\n".join(lines) for lines in check_parts(check).values())


def check_parts(check: Check | ItemsCheck) -> dict[str, list[str]]:
    """Write the paragraphs of a check by what they are about, those left out that have nothing to say."""
    parts: dict[str, Iterator[str]]
    if isinstance(check, MixedCheck):
        parts = mixed_check_parts(check)
    elif isinstance(check, BasketCheck):
        parts = {
            "study": study_lines(check),
            "baskets": _baskets(check),
            "known": _known_items(check),
            "sets": _sets(check),
            "rarest": _rarest(check),
        }
    else:
        assert isinstance(check, Check)
        persons = {f"persons {each.identifier}": _persons(check, each) for each in check.persons}
        parts = {
            "study": _study(check),
            "table": _table(check),
            "risk": _risk(check),
            "attributes": _attributes(check),
            "subsets": _subsets(check),
            "worst": _worst(check),
            "neutral": _neutral(check),
            **persons,
            "population": _population(check),
            "household": _household(check),
        }
    written = {name: list(lines) for name, lines in parts.items()}
    return {name: lines for name, lines in written.items() if lines}


def _study(check: Check) -> Iterator[str]:
    if check.study is None:
        return
    failed = [problem for problem in check.problems if problem.kind == "failed"]
    infeasible = [problem for problem in check.problems if problem.kind == "infeasible"]
    many = counted(check.candidates, "candidate")
    if not check.problems:
        yield f"The study {check.study!r} can be explored: nothing speaks against its {many}."
    if check.effort is not None and not failed:
        yield f"Exploring it takes {check.effort.in_words}."
    for problems, what in ((failed, "would fail"), (infeasible, "have no release")):
        if problems:
            verb = what if len(problems) > 1 else what.replace("have", "has")
            yield f"Of the {many} of the study {check.study!r}, {len(problems):,} {verb}:"
            for problem in problems:
                yield f"  {problem.candidate}: {problem.reason}"


def _table(check: Check) -> Iterator[str]:
    records = counted(check.records, "record")
    yield ended(f"{check.table}: {records}; an outsider may know {listed(check.quasi)}")
    if check.dropped:
        yield f"{counted(check.dropped, 'record')} with a missing value left out."
    elif MISSING[check.missing]:
        yield MISSING[check.missing]


def _risk(check: Check) -> Iterator[str]:
    risk = check.risk
    yield "How easily is a record found by somebody who knows these of a person, and that the person is in the table?"
    yield f"  {counted(risk.combinations, 'different combination')} of values occur."
    unique = f"{counted(risk.uniques, 'record')} ({percent(risk.uniques_share)}) {_are(risk.uniques)}"
    yield f"  {unique} alone with theirs: found for sure (sample uniques)."
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
    for attribute in check.attributes:
        if attribute.without is not None:
            below, unique = attribute.without.above(SENTENCE), attribute.without.uniques_share
            yield (
                f"  {attribute.name:20} {attribute.values:>7,}   {percent(below):>17}   {percent(unique):>8}   "
                f"{attribute.without.average:>12.3g}"
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
        risks = {names: risk for names, risk in check.subsets.items() if len(names) == size}
        if size == len(check.quasi):
            continue
        names, risk = max(risks.items(), key=lambda item: (item[1].average, item[1].uniques))
        yield f"  {size} of them: {percent(risk.uniques_share):>8} of the records alone, by {listed(names)}"
    yield f"  All together tell {percent(check.risk.separation)} of all pairs of records apart (separation)."
    if not check.all_subsets:
        yield "  (Subsets of up to 3 quasi-identifiers, and of all but one, were looked at; all would be too many.)"
    few = sum(count for size, count in check.unique_by.items() if 0 < size <= 2)
    if few:
        yield f"  {counted(few, 'record')} {_are(few)} alone already by one or two of them."


def _worst(check: Check) -> Iterator[str]:
    groups = counted(check.smallest_groups, "group")
    have = "has" if check.smallest_groups == 1 else "have"
    yield f"{groups} {have} only {counted(check.risk.smallest, 'record')}. The worst (for your eyes only):"
    for group in check.worst:
        values = ", ".join(f"{name} {value or '(missing)'}" for name, value in group.quasi.items())
        why = f"  <- {listed(group.unique_by)} alone would do" if 0 < len(group.unique_by) < len(check.quasi) else ""
        yield f"  {counted(group.frequency, 'record')}: {values}{why}"


def _neutral(check: Check) -> Iterator[str]:
    if check.with_neutral is None:
        return
    smallest, alone = counted(check.with_neutral[0], "record"), check.with_neutral[1]
    yield (
        f"Whoever also knows {listed(check.neutral)}, which are published as they are: {alone:,} of "
        f"{counted(check.records, 'record')} {_are(alone)} alone with theirs; the smallest group has {smallest}."
    )


def _persons(check: Check, persons: RepeatedPersons) -> Iterator[str]:
    if not persons.repeated:
        yield f"By {persons.identifier!r} every record is another person, so groups of k records are k persons."
    else:
        declared = check.person is not None
        yield (
            f"By {persons.identifier!r}{', the person column' * declared}, {persons.repeated:,} of "
            f"{counted(persons.persons, 'person')} {'has' if persons.repeated == 1 else 'have'} several records (up to "
            f"{persons.most_records:,}). "
            + (
                "Releases count persons; the numbers above count records:"
                if declared
                else "The numbers above count records, and a group may hold fewer persons:"
            )
        )
        yield f"  counted in records the smallest group is {check.risk.smallest:,}, in persons {persons.smallest:,};"
        groups = counted(persons.filled_by_one, "group")
        yield f"  {groups} of several records {_are(persons.filled_by_one)} filled by one person alone."
    if persons.unnamed:
        yield f"  {counted(persons.unnamed, 'record')} without {persons.identifier!r} each taken for another person."


def _population(check: Check) -> Iterator[str]:
    individual, estimate = check.individual, check.population
    if individual is not None:
        yield (
            f"Seen as a sample of a population of {individual.population:,.0f} (by {individual.source}), where an "
            "attacker does not know who is in the table:"
        )
        yield (
            f"  {_expected(individual.expected)} ({percent(individual.average)}) are expected to be found (global "
            f"risk); the highest risk of one record is {individual.highest:.3g}."
        )
        above = ", ".join(f"{percent(share)} above {threshold:g}" for threshold, share in individual.above.items())
        yield f"  Records by individual risk: {above}."
    if estimate is None:
        if individual is not None:
            yield f"  How many are unique in the population is not estimated: {check.why_no_population}."
        return
    name = {"pitman": "Pitman's model (Hoshino 2001)", "zayatz": "Zayatz 1991"}[estimate.model]
    yield (
        f"  About {percent(estimate.share)} of the population, {estimate.uniques:,.0f}, are alone with their values in "
        f"it, by {name}."
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
    household = check.household
    if household is None:
        return
    first = list(household.sizes.items())[:8]
    sizes = ", ".join(f"{count:,} with {counted(size, 'member')}" for size, count in first)
    more = f" and {len(household.sizes) - 8} other sizes" if len(household.sizes) > 8 else ""
    yield f"{counted(household.households, 'household')} by {check.household_column!r}: {sizes}{more}."
    yield "  Who finds one member finds the whole household:"
    yield (
        f"  {_expected(household.expected)} ({percent(household.average)}) are expected to be found that way; the "
        f"highest risk of a household is {household.highest:.3g}."
    )
    alone = f"{counted(household.unique_with_size, 'household')} {_are(household.unique_with_size)} unique"
    if not check.shared:
        yield f"  No quasi-identifier is the same within every household; by the number of members {alone}."
        return
    them = "it" if len(check.shared) == 1 else "them"
    yield (
        f"  {listed(check.shared)} {_are(len(check.shared))} the same within every household, where known: by {them} "
        f"{counted(household.unique, 'household')} {_are(household.unique)} unique, "
        f"and {household.unique_with_size:,} where the number of members is known."
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _expected(number: float) -> str:
    """Write an expected number of records, which need not be whole."""
    return f"{number:,.0f} records" if number >= 100 else f"{number:.3g} records"


# -- baskets


def _baskets(check: BasketCheck) -> Iterator[str]:
    yield (
        f"{check.baskets}: {counted(check.records, 'record')}, each a set of some of {counted(check.items, 'item')}; "
        f"{lengths_in_words(check)}."
    )
    yield from items_lines(check)


def _known_items(check: BasketCheck) -> Iterator[str]:
    yield "How easily is a record found by somebody who knows random items of a person, and that the person is in it?"
    yield f"  Estimated from {counted(check.attacked, 'record')} and random items of each:"
    yield f"  {'known':>8}   {'a single record fits':>20}   {'fewer than 5 fit':>16}"
    for known, alone in check.alone.items():
        yield f"  {counted(known, 'item'):>8}   {percent(alone):>20}   {percent(check.below[known]):>16}"


def _sets(check: BasketCheck) -> Iterator[str]:
    yield f"Of what an attacker may know ({known_in_words(check.known)} of a person), too few records fit:"
    for k, threshold in THRESHOLDS.items():
        known = KNOWN_FOR.get(k, "")
        yield (
            f"  {percent(check.rare_sets[k]):>8} of the sets, {check.rare_items[k]:,} of {check.items:,} single items, "
            f"in fewer than {k} records (risk above {threshold:g}{known})"
        )


def _rarest(check: BasketCheck) -> Iterator[str]:
    yield "The rarest (for your eyes only):"
    for records, items in check.weakest:
        text = " + ".join(items)
        yield f"  {counted(records, 'record')}: {text if len(text) <= LONGEST else text[:LONGEST] + ' ...'}"
