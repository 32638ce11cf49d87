"""The terminal output of an audit: measures first, the verdict last."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.auditing._against_original import Together
from sfumato.auditing.audit import Audit
from sfumato.auditing.coverage import Coverage
from sfumato.auditing.decision import Failure
from sfumato.auditing.intersection import Intersection
from sfumato.auditing.item_audit import ItemPersons, RareInGroup, RareSet
from sfumato.auditing.ledger import Difference, Remainder, Throughout
from sfumato.auditing.persons import PersonAudit
from sfumato.auditing.profile import worst_of
from sfumato.auditing.question import WorstGroup
from sfumato.report.measure_sentences import ARROWS, EXACT_VALUES, measure_lines
from sfumato.requirements.items import basket_requirement, known_in_words, mixed_requirement
from sfumato.texts.catalogue import counted, ended, listed, number, percent, t

LONGEST = 90
"""The maximum length of a printed set of items."""


def audit_lines(audit: Audit) -> Iterator[str]:
    """Yield the measures of an audit and its verdict."""
    grouped = audit.has_items or "smallest_group" in audit.measures or audit.persons is not None
    yield from _file_lines(audit, grouped)
    several = len(audit.sensitive) > 1 and not audit.has_items
    more = ", of the worst sensitive attribute where there are several" if several else ""
    relative = f" relative to {audit.relative_to}{more}" if audit.quasi else ""
    yield f"\nMeasured{relative} {ARROWS}:"
    yield from measure_lines(audit.measures, columns=_worst_columns(audit.by_sensitive) if several else {})
    yield from _weakest(audit) if audit.has_items else _worst(audit, grouped)
    for both in audit.repeated:
        yield from _repeated(both)
    for taken in audit.differences:
        yield from _difference(taken)
    for every in audit.throughout:
        yield from _throughout(every)
    if audit.coverage is not None:
        yield f"\nChecked{'' if audit.quasi else ' against the original'}: {audit.coverage.checked}."
        examples = map(short, audit.coverage.examples) if audit.has_items else audit.coverage.examples
        yield from coverage_lines(audit.coverage, "row" if audit.quasi else "record", examples)
    if audit.households is not None:
        yield from _together(audit.households)
    if audit.persons is not None:
        yield from _persons(audit.persons)
    for failure in audit.faults:
        if isinstance(failure, Failure):
            what = counted(failure.of, "group" if grouped else "combination")
            yield t("audit_line.fails", failure=failure, what=what, shows=shown_texts(failure.worst))
        else:
            yield t("audit_line.sets_fail", failure=failure)
            yield from (_rare(audit, rare) for rare in failure.examples)
    if audit.require is not None and not audit.faults and (audit.persons is None or audit.persons.holds):
        yield _verdict(audit, grouped)


def _file_lines(audit: Audit, grouped: bool) -> Iterator[str]:
    """Describe the file and the columns that define its groups."""
    known = f"{known_in_words(audit.known)} of a person" if audit.known else "no item"
    if audit.has_items:
        kind = "baskets" if audit.items is None else "items"
        yield from t(f"audit_line.{kind}", audit=audit, quasi=", ".join(audit.quasi), known=known).split("\n")
        return
    kinds = counted(audit.groups, "group" if grouped else "different combination")
    yield f"{audit.file}: {counted(audit.records, 'record')} in {kinds}."
    if audit.neutral:
        yield f"Groups are defined by the quasi-identifiers and the neutral {listed(audit.neutral)}."
    if audit.uniques:
        neutral = " and neutral columns" if audit.neutral else ""
        yield t("audit_line.uniques", audit=audit, neutral=neutral, share=audit.uniques / audit.records)
    if audit.with_neutral is not None and not audit.neutral:
        yield neutral_line(*audit.with_neutral, audit.records)
    if audit.group is not None:
        yield EXACT_VALUES


def _verdict(audit: Audit, grouped: bool) -> str:
    """Return the sentence that the requirement is satisfied."""
    if not audit.has_items:
        return f"\nEvery {'group' if grouped else 'record'} satisfies: {audit.require}"
    read = basket_requirement if audit.items is None else mixed_requirement
    return f"\nIt holds: {read(str(audit.require)).rule_in_words()}."


def _weakest(audit: Audit) -> Iterator[str]:
    """Describe the rarest published sets."""
    if audit.weakest or audit.items is None:
        yield f"\nWhat fewest {_unit(audit)}s {'show' if audit.items is None else 'of a group show'} together:"
    yield from (_rare(audit, rare) for rare in audit.weakest)


def _unit(audit: Audit) -> str:
    """Name what was counted of a file with items."""
    return "person" if isinstance(audit.persons, ItemPersons) and audit.persons.persons else "record"


def _rare(audit: Audit, rare: RareSet) -> str:
    within = f" of {rare.size:,} with {shown_texts(rare.group)}" if isinstance(rare, RareInGroup) else ""
    return f"  {counted(rare.records, _unit(audit))}{within}: {short(rare.items)}"


def _worst_columns(by_sensitive: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    """Return for each measure of sensitive values the worst column."""
    worst = worst_of(by_sensitive)
    columns = [(name, column) for column, own in by_sensitive.items() for name in own if own[name] == worst[name]]
    return dict(reversed(columns))


def neutral_line(smallest: int, alone: int, records: int) -> str:
    """Describe k for an attacker who also knows the neutral columns."""
    unlike = f"; {alone:,} of {counted(records, 'record')} {'is' if alone == 1 else 'are'} like no other"
    size = counted(smallest, "record")
    return f"By the quasi-identifiers and the neutral columns the smallest group has {size}{unlike if alone else ''}."


def coverage_lines(coverage: Coverage, what: str, examples: Iterable[str]) -> Iterator[str]:
    """Describe whether the published file can come from the original, with counterexamples."""
    if coverage.holds:
        yield f"All {what}s fit." if coverage.exact else "Nothing was found that does not fit."
    else:
        yield f"NOT COVERED: {counted(coverage.uncovered, what)} cannot come from this original:"
        yield from (f"  {example}" for example in examples)


def shown_texts(texts: Mapping[str, str]) -> str:
    """Return the published texts of a group."""
    return ", ".join(f"{name} {text or '(missing)'}" for name, text in texts.items())


def _worst(audit: Audit, grouped: bool) -> Iterator[str]:
    """Describe the worst groups, grouped by kind."""
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


def _persons(persons: PersonAudit | ItemPersons) -> Iterator[str]:
    """Describe the number of persons in groups, or with items, as far as it is certain."""
    if isinstance(persons, ItemPersons):
        if persons.persons:
            yield t("audit_line.persons_of_items", persons=persons.persons)
        yield from (f"\nNOT CONFIRMED: {reason}." for reason in persons.unconfirmed)
        return
    certain = persons.counted == persons.groups
    yield f"\nPersons, not records, are counted (by {persons.column!r}, in the original)."
    if not certain:
        yield t("audit_line.persons_bounded", open=persons.groups - persons.counted, groups=persons.groups)
    share = f"{'' if certain else 'at most '}{percent(persons.share, 3)}"
    yield t("audit_line.persons", k=persons.k, share=share)
    yield from (f"  NOT CONFIRMED: {reason}." for reason in persons.unconfirmed)


def _together(together: Together) -> Iterator[str]:
    """Describe whether members of a household show the same shared values."""
    several = counted(together.households, "household")
    if not together.shared:
        yield f"\nHouseholds: members of the {several} with several members share no quasi-identifier."
        return
    yield f"\nHouseholds: within each of the {several} with several members all that have a value have the same"
    yield ended(f"  {', '.join(together.shared)}")
    if together.holds:
        yield "  One published combination of these covers each of them: members show the same values."
        return
    yield t("audit_line.households_open", households=counted(together.households - together.confirmed, "household"))
    yield from (f"  {example}" for example in together.examples)


def _repeated(both: Intersection) -> Iterator[str]:
    """Describe what two releases reveal together."""
    most = "" if both.exact else "at most "
    yield t("audit_line.together", both=both, quasi=", ".join(both.quasi))
    yield t("audit_line.pairs", both=both, most=most)
    if both.unmatched_groups:
        yield t(f"audit_line.unmatched{'' if both.exact else '_texts'}", both=both)
    if both.worst is None:
        yield "  The two files together reveal no more about anybody than one of them alone."
    else:
        yield t("audit_line.raised", both=both, most=most)
        yield f"  The worst: {shown_texts(both.worst.earlier)}  in the earlier file,"
        remain = _remaining(both.worst.candidates)
        yield f"             {shown_texts(both.worst.later)}  in this one; what remains: {remain}."
    for name, together in (("l_frequency", both.l_frequency), ("l_distinct", both.l_distinct), ("p_loss", both.p_loss)):
        yield f"  {name:12} {number(both.alone[name]):>8} alone, {number(together):>8} together"


def _remaining(candidates: Mapping[str, int]) -> str:
    """List the possible values with their numbers of records."""
    return ", ".join(f"{value!r} ({records})" for value, records in list(candidates.items())[:5])


def _difference(taken: Difference) -> Iterator[str]:
    """Describe what the difference of two files reveals."""
    if taken.more is None:
        yield ended(f"\nThis file and {taken.earlier} have the same groups with the same values of {taken.sensitive}")
        return
    larger, smaller = ("this file", taken.earlier) if taken.larger == "later" else (taken.earlier, "this file")
    yield f"\nAll of {smaller} may be part of {larger}; an attacker who removes it obtains a release of the rest,"
    yield f"  {counted(taken.more.records, 'record')} in {counted(taken.more.groups, 'group')}."
    yield from _remainder(taken.more, taken.sensitive)


def _throughout(every: Throughout) -> Iterator[str]:
    """Describe what remains about a person in all files."""
    yield f"\nA person in all {every.files} files with the same {every.sensitive} in each:"
    if every.left is None:
        yield "  there is none: no group of all of them has a common value."
    else:
        yield f"  {counted(every.left.groups, 'group')} of all of them with a common value."
        yield from _remainder(every.left, every.sensitive)


def _remainder(left: Remainder, sensitive: str) -> Iterator[str]:
    yield t("audit_line.smallest_left", left=left, l_frequency=number(left.l_frequency))
    if not left.raised_groups and not left.single_groups:
        yield "  They reveal no more about anybody than a file alone."
        return
    places = {"worst": shown_texts(left.worst), "remain": _remaining(left.candidates)}
    yield t("audit_line.left", left=left, sensitive=sensitive, **places)


def certified_lines(content: Mapping[str, Any], file: Path, certificate: Path) -> Iterator[str]:
    """Describe a certified file of perturbed or synthetic records: its identity and its promise."""
    promise = content["promise"]
    yield f"{file} is exactly the file that {certificate} certifies, byte by byte."
    if "differential_privacy" in promise:
        privacy = promise["differential_privacy"]
        delta = f" and delta {privacy['delta']:g}" if "delta" in privacy else ""
        yield f"Promised: differential privacy with epsilon {privacy['epsilon']:g}{delta}. {privacy['in_words']}"
        yield f"Neighbouring tables: {privacy['neighbours']}."
    yield f"{promise['why_not_checked']} Its rows are not the table's own, so groups and k were not measured."


def short(items: Sequence[str] | str) -> str:
    """Return a set of items, shortened."""
    text = items if isinstance(items, str) else " + ".join(items) or "(nothing)"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
