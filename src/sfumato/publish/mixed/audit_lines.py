"""What is said of an audit of a table with items to who reads a terminal: measures first, the verdict last."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.mixed.policy import mixed_requirement
from sfumato.phrases import counted
from sfumato.publish.audit.lines import coverage_lines, failure_line, short, shown_texts
from sfumato.publish.mixed.audit import MixedAudit, RareInGroup
from sfumato.transactions.policy import known_in_words
from sfumato.words.points import ARROWS, measure_lines


def mixed_audit_lines(audit: MixedAudit) -> Iterator[str]:
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
