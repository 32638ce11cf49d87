"""A check of baskets in words that a data steward understands."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.measures.disclosure.group_risk import THRESHOLDS
from sfumato.phrases import counted, percent
from sfumato.report.check import KNOWN_FOR
from sfumato.transactions.check import BasketCheck
from sfumato.transactions.words import known_in_words

LONGEST = 100


def basket_check_in_words(check: BasketCheck) -> str:
    """Write a check as paragraphs."""
    parts = [_study(check), _baskets(check), _persons(check), _sets(check), _weakest(check)]
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def _study(check: BasketCheck) -> Iterator[str]:
    if check.study is None:
        return
    many = counted(check.candidates, "candidate")
    if not check.problems:
        yield f"The study {check.study!r} can be explored: nothing speaks against its {many}."
        return
    yield f"Of the study {check.study!r} with {many} this cannot be made:"
    for own in check.problems:
        yield f"  {own.candidate}: {own.reason}"


def _baskets(check: BasketCheck) -> Iterator[str]:
    lengths = check.lengths
    yield (
        f"{check.baskets}: {counted(check.records, 'record')}, each a set of some of {counted(check.items, 'item')}; "
        f"{lengths['mean']:.3g} items on average, {lengths['median']:.3g} in the middle, {lengths['most']:.0f} at most."
    )
    if check.empty:
        yield f"{counted(check.empty, 'record')} without any item."
    if not check.tree:
        yield "There is no tree of items (--tree), so items can be generalized to sets or by their order only."


def _persons(check: BasketCheck) -> Iterator[str]:
    yield "How easily is a record found by somebody who knows random items of a person, and that the person is in it?"
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


def _weakest(check: BasketCheck) -> Iterator[str]:
    yield "The rarest (for your eyes only):"
    for records, items in check.weakest:
        text = " + ".join(items)
        yield f"  {counted(records, 'record')}: {text if len(text) <= LONGEST else text[:LONGEST] + ' ...'}"
