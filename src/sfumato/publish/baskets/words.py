"""What is said of an audit of baskets to who reads a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato.phrases import counted
from sfumato.publish.audit_lines import coverage_lines
from sfumato.publish.baskets.audit import BasketAudit
from sfumato.transactions.policy import basket_requirement, known_in_words
from sfumato.words.measures import ARROWS, measure_lines

LONGEST = 90
"""Characters of a set of items that are shown."""


def short(items: Sequence[str] | str) -> str:
    """Show a set of items, cut short."""
    text = items if isinstance(items, str) else " + ".join(items) or "(nothing)"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def basket_audit_lines(audit: BasketAudit) -> Iterator[str]:
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
            f"{'is' if failure.sets == 1 else 'are'} in too few records, such as"
        )
        yield from (f"  {counted(each.records, 'record')}: {short(each.items)}" for each in failure.examples)
    if audit.require is not None and not audit.failures:
        yield f"\nIt holds: {basket_requirement(audit.require).rule_in_words()}."
