"""A check of a table with items in words that a data steward understands."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.phrases import counted, listed, percent
from sfumato.tradeoff._check_items import ItemsCheck, MixedCheck
from sfumato.transactions.policy import known_in_words


def mixed_check_parts(check: MixedCheck) -> dict[str, Iterator[str]]:
    """Write the paragraphs of a check by what they are about."""
    return {"study": study_lines(check), "table": _table(check), "known": _known(check)}


def study_lines(check: ItemsCheck) -> Iterator[str]:
    """Say what of a study cannot be made."""
    if check.study is None:
        return
    many = counted(check.candidates, "candidate")
    if not check.problems:
        yield f"The study {check.study!r} can be explored: nothing speaks against its {many}."
        return
    yield f"Of the study {check.study!r} with {many} this cannot be made:"
    for problem in check.problems:
        yield f"  {problem.candidate}: {problem.reason}"


def lengths_in_words(check: ItemsCheck) -> str:
    """Say how many items records have."""
    lengths = check.lengths
    return (
        f"{lengths['mean']:.3g} items on average, {lengths['median']:.3g} in the middle, {lengths['most']:.0f} at most"
    )


def items_lines(check: ItemsCheck) -> Iterator[str]:
    """Say what is unusual about the items."""
    if check.empty:
        yield f"{counted(check.empty, 'record')} without any item."
    if not check.tree:
        yield "There is no tree of items (--tree), so items can be generalized to sets or by their order only."


def _table(check: MixedCheck) -> Iterator[str]:
    yield (
        f"{check.table}: {counted(check.records, 'record')}, each with {listed(check.quasi)} and a set of some of "
        f"{counted(check.items, 'item')} ({check.column}); {lengths_in_words(check)}."
    )
    yield from items_lines(check)


def _known(check: MixedCheck) -> Iterator[str]:
    few = f"fewer than {counted(check.below, 'record')}"
    yield f"As it stands, without any release (records drawn at random, {few} that fit are too few):"
    yield f"  who knows {listed(check.quasi)} of a person:"
    yield f"    {_line(check.alone_by_quasi, check.few_by_quasi, few)}"
    for known, alone in check.alone_by_items.items():
        yield f"  who knows {known_in_words(known)}:"
        yield f"    {_line(alone, check.few_by_items[known], few)}"
    for known, alone in check.alone_by_both.items():
        yield f"  who knows both, the quasi-identifiers and {known_in_words(known)}:"
        yield f"    {_line(alone, check.few_by_both[known], few)}"


def _line(alone: float, few_fit: float, few: str) -> str:
    return f"{percent(alone, 3)} of the records are alone, {few} fit {percent(few_fit, 3)} of them"
