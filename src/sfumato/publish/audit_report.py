"""What is said of an audit, of a table or of baskets, to who reads a terminal: measures first, the verdict last.

What is said of an audit of a table with items to who reads a terminal: measures first, the verdict last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.auditing._against_original import Together
from sfumato.auditing.audit import Audit
from sfumato.auditing.coverage import Coverage
from sfumato.auditing.decision import Failure
from sfumato.auditing.intersection import Intersection
from sfumato.auditing.item_audit import RareInGroup
from sfumato.auditing.ledger import Difference, Remainder, Throughout
from sfumato.auditing.persons import PersonAudit
from sfumato.auditing.profile import worst_of
from sfumato.auditing.question import WorstGroup
from sfumato.report.measure_sentences import ARROWS, EXACT_VALUES, measure_lines
from sfumato.requirements.items import basket_requirement, known_in_words, mixed_requirement
from sfumato.texts.format import counted, ended, listed, number, percent

LONGEST = 90
"""Characters of a set of items that are shown."""


def audit_lines(audit: Audit) -> Iterator[str]:
    """Say what was measured, and whether what was required holds."""
    if not audit.has_items:
        return _table_lines(audit)
    return _basket_lines(audit) if audit.items is None else _item_lines(audit)


def _table_lines(audit: Audit) -> Iterator[str]:
    """Say what was measured, and whether what was required holds."""
    grouped = "smallest_group" in audit.measures or audit.persons is not None
    kinds = counted(audit.groups, "group" if grouped else "different combination")
    yield f"{audit.file}: {counted(audit.records, 'record')} in {kinds}."
    if audit.neutral:
        yield f"Groups are told apart by the quasi-identifiers and by the neutral {listed(audit.neutral)}."
    if audit.uniques:
        alone = f"{counted(audit.uniques, 'record')} ({audit.uniques / audit.records:.1%})"
        known = "its quasi-identifiers and neutral columns" if audit.neutral else "its quasi-identifiers"
        yield f"No other record looks like it by {known}: {alone}."
    if audit.with_neutral is not None and not audit.neutral:
        yield neutral_line(*audit.with_neutral, audit.records)
    if audit.group is not None:
        yield EXACT_VALUES
    several = ", of the worst sensitive attribute where there are several" if len(audit.sensitive) > 1 else ""
    yield f"\nMeasured relative to {audit.relative_to}{several} {ARROWS}:"
    yield from measure_lines(audit.measures, columns=_worst_columns(audit.by_sensitive))
    yield from _worst(audit, grouped)
    for both in audit.repeated:
        yield from _repeated(both)
    for taken in audit.differences:
        yield from _difference(taken)
    for every in audit.throughout:
        yield from _throughout(every)
    if audit.coverage is not None:
        yield f"\nChecked: {audit.coverage.checked}."
        yield from coverage_lines(audit.coverage, "row", audit.coverage.examples)
    if audit.households is not None:
        yield from _together(audit.households)
    if audit.persons is not None:
        yield from _persons(audit.persons)
    for failure in audit.failures:
        yield failure_line(failure, "group" if grouped else "combination")
    if audit.require is not None and not audit.failures and (audit.persons is None or audit.persons.holds):
        yield f"\nEvery {'group' if grouped else 'record'} satisfies: {audit.require}"


def _worst_columns(by_sensitive: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    """Name for every measure of sensitive values the column that has the worst, where there are several."""
    if len(by_sensitive) < 2:
        return {}
    worst = worst_of(by_sensitive)
    columns = [(name, column) for column, own in by_sensitive.items() for name in own if own[name] == worst[name]]
    return dict(reversed(columns))


def neutral_line(smallest: int, alone: int, records: int) -> str:
    """Say what is left of k for an attacker who also knows the neutral columns."""
    unlike = f"; {alone:,} of {counted(records, 'record')} {'is' if alone == 1 else 'are'} like no other"
    size = counted(smallest, "record")
    return f"By the quasi-identifiers and the neutral columns the smallest group has {size}{unlike if alone else ''}."


def coverage_lines(coverage: Coverage, what: str, examples: Iterable[str]) -> Iterator[str]:
    """Say whether what is published can come from the original, and if not, what cannot."""
    if coverage.holds:
        yield f"All {what}s fit." if coverage.exact else "Nothing was found that does not fit."
    else:
        yield f"NOT COVERED: {counted(coverage.uncovered, what)} cannot come from this original:"
        yield from (f"  {example}" for example in examples)


def shown_texts(texts: Mapping[str, str]) -> str:
    """Write what a group shows."""
    return ", ".join(f"{name} {text or '(missing)'}" for name, text in texts.items())


def _worst(audit: Audit, grouped: bool) -> Iterator[str]:
    """Show the groups that stand out, those of one kind together."""
    kinds: dict[tuple[str, str | None], list[WorstGroup]] = {}
    for group in audit.worst:
        about = None if group.why == "smallest" or len(audit.sensitive) == 1 else group.sensitive
        kinds.setdefault((group.why, about), []).append(group)
    for (why, about), groups in kinds.items():
        which = (
            f"groups that are {why}{f' in {about}' if about else ''}" if grouped else "combinations that fewest match"
        )
        yield f"\nThe {which}:"
        for group in groups:
            value = "" if group.share is None else f"; {group.share:.0%} have {group.sensitive} {group.dominant!r}"
            distance = f", distance {group.measures['t_js']:.3g}" if why == "farthest from Q" else ""
            yield f"  {counted(group.size, 'record')}{value}{distance}: {shown_texts(group.shows)}"


def failure_line(failure: Failure, what: str) -> str:
    """Say which part of a requirement fails, and where it does so worst."""
    return (
        f"\nFAILS: {failure.requirement} does not hold in {failure.groups:,} of {counted(failure.of, what)} "
        f"({counted(failure.records, 'record')}).\n"
        f"  The worst has {counted(failure.size, 'record')}: {shown_texts(failure.worst)}\n"
        f"  What the file achieves: {failure.achieved}."
    )


def _persons(persons: PersonAudit) -> Iterator[str]:
    """Say how many persons stand behind every group, as far as that is certain."""
    certain = persons.counted == persons.groups
    yield f"\nPersons, not records, are counted (by {persons.column!r}, in the original)."
    if not certain:
        yield (
            f"  {persons.groups - persons.counted:,} of {counted(persons.groups, 'group')} can hold the records of "
            "different persons: of these the numbers are bounds."
        )
    behind = f"At least {counted(persons.k, 'person')} {'is' if persons.k == 1 else 'are'} behind every combination"
    share = f"{'' if certain else 'at most '}{percent(persons.share, 3)} of its group's records"
    yield f"  {behind}; the most exposed person has {share}."
    yield from (f"  NOT CONFIRMED: {reason}." for reason in persons.unconfirmed)


def _together(together: Together) -> Iterator[str]:
    """Say whether members of a household show the same value of what they share."""
    several = counted(together.households, "household")
    if not together.shared:
        yield f"\nHouseholds: members of the {several} with several members share no quasi-identifier."
        return
    yield f"\nHouseholds: within each of the {several} with several members all that have a value have the same"
    yield ended(f"  {', '.join(together.shared)}")
    if together.holds:
        yield "  One published combination of these covers each of them: members show the same values."
        return
    yield (
        f"  NOT CONFIRMED for {counted(together.households - together.confirmed, 'household')}: several published "
        "combinations cover their values, so two\n  members may show two of them, and who knows of both members "
        "intersects these:"
    )
    yield from (f"  {example}" for example in together.examples)


def _repeated(both: Intersection) -> Iterator[str]:
    """Say what two releases tell together."""
    most = "" if both.exact else "at most "
    yield (
        f"\nTogether with {both.earlier}: who knows a person's {', '.join(both.quasi)} finds their group in both\n"
        f"files; only {both.sensitive} values that stand in both groups remain possible."
    )
    pairs = f"  {counted(both.pairs, 'pair')} of groups that a person may be in"
    yield f"{pairs}; {most}{counted(both.people, 'record')} are in both files."
    if both.unmatched_groups:
        yield f"  {counted(both.unmatched_groups, 'group')} of this file meet none of the earlier one" + (
            "." if both.exact else ": give --hierarchies or --original if their texts cannot be compared."
        )
    if both.worst is None:
        yield "  The two files together tell no more of anybody than one of them alone."
    else:
        yield (
            f"  {counted(both.raised_pairs, 'pair')} ({most}{counted(both.raised_people, 'record')}) make a value more "
            f"certain than either file alone, in {counted(both.raised_groups, 'group')} of this file;\n"
            f"  {counted(both.single_pairs, 'pair')} ({most}{counted(both.single_people, 'record')}) leave one value "
            "where each file alone leaves several."
        )
        remain = ", ".join(f"{value!r} ({records})" for value, records in list(both.worst.candidates.items())[:5])
        yield f"  The worst: {shown_texts(both.worst.earlier)}  in the earlier file,"
        yield f"             {shown_texts(both.worst.later)}  in this one; what remains: {remain}."
    for name, together in (("l_frequency", both.l_frequency), ("l_distinct", both.l_distinct), ("p_loss", both.p_loss)):
        yield f"  {name:12} {number(both.alone[name]):>8} alone, {number(together):>8} together"


def _difference(taken: Difference) -> Iterator[str]:
    """Say what the larger of two files tells by what it has more."""
    if taken.more is None:
        yield ended(f"\nThis file and {taken.earlier} have the same groups with the same values of {taken.sensitive}")
        return
    larger, smaller = ("this file", taken.earlier) if taken.larger == "later" else (taken.earlier, "this file")
    yield f"\nAll of {smaller} may stand in {larger}: who takes the one from the other has a release of the rest,"
    yield f"  {counted(taken.more.records, 'record')} in {counted(taken.more.groups, 'group')}."
    yield from _remainder(taken.more, taken.sensitive)


def _throughout(every: Throughout) -> Iterator[str]:
    """Say what is left of somebody who is in every file."""
    yield f"\nWho is in all {every.files} files, and has the same {every.sensitive} in each:"
    if every.left is None:
        yield "  nobody can be: no group stands in all of them with a value in common."
    else:
        yield f"  {counted(every.left.groups, 'group')} stand in all of them with a value in common."
        yield from _remainder(every.left, every.sensitive)


def _remainder(left: Remainder, sensitive: str) -> Iterator[str]:
    yield f"  The smallest of these groups has {counted(left.smallest, 'record')}; l_distinct {left.l_distinct}, " + (
        f"l_frequency {number(left.l_frequency)}."
    )
    if not left.raised_groups and not left.single_groups:
        yield "  They tell no more of anybody than a file alone."
        return
    values = ", ".join(f"{value!r} ({records})" for value, records in list(left.candidates.items())[:5])
    yield (
        f"  {counted(left.raised_groups, 'group')} make a value of {sensitive} more certain than any file alone; "
        f"{counted(left.single_groups, 'group')} leave\n  one value where every file alone leaves several. "
        f"The worst: {shown_texts(left.worst)}; what remains: {values}."
    )


def certified_lines(content: Mapping[str, Any], file: Path, certificate: Path) -> Iterator[str]:
    """Say what can be said of a file of other records than the table's: it is the certified one; what is promised."""
    promise = content["promise"]
    yield f"{file} is the very file that {certificate} certifies, byte by byte."
    if "differential_privacy" in promise:
        privacy = promise["differential_privacy"]
        delta = f" and delta {privacy['delta']:g}" if "delta" in privacy else ""
        yield f"Promised: differential privacy with epsilon {privacy['epsilon']:g}{delta}. {privacy['in_words']}"
    yield f"{promise['why_not_checked']} Its rows are not the table's own, so groups and k were not measured."


def short(items: Sequence[str] | str) -> str:
    """Show a set of items, cut short."""
    text = items if isinstance(items, str) else " + ".join(items) or "(nothing)"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _basket_lines(audit: Audit) -> Iterator[str]:
    """Say what was measured, and whether what was required holds."""
    yield (
        f"{audit.file}: {counted(audit.records, 'record')} with {counted(audit.published_items, 'published item')}; an "
        f"attacker is taken to know {known_in_words(audit.known)} of a person."
    )
    yield f"\nMeasured {ARROWS}:"
    yield from measure_lines(audit.measures)
    yield "\nWhat fewest records show together:"
    yield from (f"  {counted(each.records, 'record')}: {short(each.items)}" for each in audit.weakest)
    if audit.coverage is not None:
        yield f"\nChecked against the original: {audit.coverage.checked}."
        yield from coverage_lines(audit.coverage, "record", map(short, audit.coverage.examples))
    for failure in audit.failures:
        yield (
            f"\nFAILS: {failure.requirement} does not hold: {counted(failure.sets, 'set')} of known items "
            f"{'is' if failure.sets == 1 else 'are'} {failure.fault}, such as"
        )
        yield from (f"  {counted(each.records, 'record')}: {short(each.items)}" for each in failure.examples)
    if audit.require is not None and not audit.failures:
        yield f"\nIt holds: {basket_requirement(audit.require).rule_in_words()}."


def _item_lines(audit: Audit) -> Iterator[str]:
    """Say what was measured, and whether what was required holds."""
    yield (
        f"{audit.file}: {counted(audit.records, 'record')} in {counted(audit.groups, 'group')}, with "
        f"{counted(audit.published_items, 'published item')} in {audit.items}."
    )
    known = f"{known_in_words(audit.known)} of a person" if audit.known else "no item"
    yield f"An attacker is taken to know {', '.join(audit.quasi)} and {known}."
    yield f"\nMeasured relative to {audit.relative_to} {ARROWS}:"
    yield from measure_lines(audit.measures)
    if audit.weakest:
        yield "\nWhat fewest records of a group show together:"
        yield from map(_rare, audit.weakest)
    if audit.coverage is not None:
        yield f"\nChecked: {audit.coverage.checked}."
        yield from coverage_lines(audit.coverage, "row", map(short, audit.coverage.examples))
    for failure in audit.failures:
        yield failure_line(failure, "group")
    for rare in audit.rare:
        yield (
            f"\nFAILS: {rare.requirement} does not hold: {counted(rare.sets, 'set')} of known items "
            f"{'is' if rare.sets == 1 else 'are'} in too few records of their group, in "
            f"{counted(rare.groups, 'group')}, such as"
        )
        yield from map(_rare, rare.examples)
    if audit.require is not None and not audit.failures and not audit.rare:
        yield f"\nIt holds: {mixed_requirement(audit.require).rule_in_words()}."


def _rare(rare: RareInGroup) -> str:
    group = shown_texts(rare.group)
    return f"  {counted(rare.records, 'record')} of {rare.size:,} with {group}: {short(rare.items)}"
