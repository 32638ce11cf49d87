"""Numbers, counts and lists as people write them: the one way for every sentence of the house.

How often something happens, in whole numbers: `31 times in 100, 13 without the data`.

What is rounded never reads as never or always, nor as more often than without the data where it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from math import ceil, floor, isfinite
from textwrap import fill


def counted(count: int, one: str, many: str = "") -> str:
    """Write a number with its noun.

    >>> counted(1, "record"), counted(2000, "record"), counted(2, "query", "queries")
    ('1 record', '2,000 records', '2 queries')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(parts: Iterable[object]) -> str:
    """Join parts as a person would.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    *others, last = [str(part) for part in parts] or [""]
    return f"{', '.join(others)} and {last}" if others else last


def either(parts: Iterable[object]) -> str:
    """Join alternatives.

    >>> either(["a", "b", "c"]), either(["a"])
    ('a, b or c', 'a')
    """
    *others, last = [str(part) for part in parts] or [""]
    return f"{', '.join(others)} or {last}" if others else last


SMALLEST = 1e-12
"""What is closer to zero than this is written as 0."""


def ended(sentence: str) -> str:
    """End a sentence, unless what it ends in does so itself: a column may be called so.

    >>> ended("It shows sex"), ended("It shows Geschl.")
    ('It shows sex.', 'It shows Geschl.')
    """
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def number(value: float, digits: int = 4) -> str:
    """Write a number for a person to read.

    >>> number(45222), number(0.0123456), number(0.00004524), number(float("inf")), number(2e-16)
    ('45,222', '0.01235', '0.00004524', 'infinite', '0')
    """
    if not isfinite(value):
        return "infinite" if value > 0 else "minus infinite"
    if abs(value) < SMALLEST:
        return "0"
    if float(value).is_integer():
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.{digits}g}"
    text = f"{value:.{digits}g}"
    return f"{Decimal(text):f}" if "e-0" in text else text


def percent(share: float, digits: int | None = None) -> str:
    """Write a share: one that was set with at most so many digits, one that was measured with one after the point.

    Of what was measured a small share is told from none, and a large one from all, by as many more as it takes.

    >>> percent(0.05, 3), percent(0.82363), percent(0.0001), percent(0.9996), percent(0), percent(-0.25)
    ('5 %', '82.4 %', '0.01 %', '99.96 %', '0.0 %', '-25.0 %')
    """
    if digits is not None:
        return f"{100 * share:.{digits}g} %"
    if share <= -1e-6:
        return f"-{percent(-share)}"
    for places in (1, 2, 3, 4):
        rounded = round(100 * share, places)
        if round(share, 12) in (0, 1) or 0 < rounded < 100:
            return f"{abs(rounded):.{places}f} %"
    return "less than 0.0001 %" if share < 0.5 else "more than 99.999 %"


def worst_share(share: float) -> str:
    """Write the share of a worst case: never rounded down, and as all of it only where it is.

    >>> worst_share(0.9621), worst_share(0.99996), worst_share(1.0)
    ('96.3 %', '99.996 %', '100.0 %')
    """
    for places in (1, 2, 3, 4):
        rounded = ceil(100 * share * 10**places - 1e-6) / 10**places
        if rounded < 100 or share >= 1:
            return f"{rounded:.{places}f} %"
    return "nearly 100 %"


def wrapped(sentence: str, mark: str = "") -> str:
    """Break a sentence into lines for the terminal, indented behind a mark."""
    start = f"  {mark}"
    return fill(sentence, 110, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False)


def section(title: str, sentences: Iterable[str]) -> Iterator[str]:
    """Write a title with its sentences, wrapped; nothing where there are none."""
    if texts := list(sentences):
        yield f"\n{title}:"
        yield from (wrapped(text, "- ") for text in texts)


BASES = (100, 1_000, 10_000, 100_000, 1_000_000)
"""Out of how many something is counted."""

NEAR = 0.05
"""A count of so many is near enough where it is off by no more than this part of the rarer side."""

EVEN = 1e-12
"""Shares closer than this are equal."""


def times(share: float) -> str:
    """Say how often something happens; never and always only where it is so.

    >>> times(0.31), times(0.013), times(0), times(1), times(0.9996)
    ('31 times in 100', '13 times in 1,000', 'never', 'always', '9,996 times in 10,000')
    """
    if abs(share) < EVEN:
        return "never"
    if abs(share - 1) < EVEN:
        return "always"
    base = _base(share)
    if base is None:
        return "hardly ever" if share < 0.5 else "nearly always"
    return f"{_many(share, base)} in {base:,}"


def _base(share: float) -> int | None:
    """Return out of how many a share can be counted in whole numbers."""
    room = NEAR * min(share, 1 - share)
    return next((base for base in BASES if abs(round(share * base) / base - share) <= room), None)


def _many(share: float, base: int) -> str:
    many = round(share * base)
    return "once" if many == 1 else f"{many:,} times"


def beside(share: float, other: float) -> str:
    """Say how often something happens, and how often without the data, out of the same number.

    >>> beside(0.31, 0.13), beside(0.231, 0.2309), beside(0.2, 0.3)[17:]
    ('31 times in 100, 13 without the data', '23 times in 100, hardly more than without the data', \
'no more often than without the data')
    """
    if share <= other + EVEN:
        return f"{times(share)}, no more often than without the data"
    base = max(_base(share) or BASES[-1], _base(other) or BASES[-1])
    if round(other * base) == round(share * base):
        return f"{times(share)}, hardly more than without the data"
    if abs(share - 1) < EVEN:
        return f"always, {_many(other, base)} in {base:,} without the data"
    return f"{_many(share, base)} in {base:,}, {round(other * base):,} without the data"


def one_in(share: float) -> str:
    """Say a risk that is one over a number of people.

    >>> one_in(0.05), one_in(1), one_in(0)
    ('at most 1 time in 20', 'for certain', 'never')
    """
    if share <= 0:
        return "never"
    many = floor(1 / share + 1e-6)  # a risk never reads as smaller than it is
    return "for certain" if many <= 1 else f"at most 1 time in {many:,}"


def at_most(share: float) -> str:
    """Write a share that is not exceeded, so never rounded down.

    >>> at_most(0.1381), at_most(0.5), at_most(0.9996)
    ('13.9 %', '50.0 %', '100.0 %')
    """
    return f"{ceil(1000 * share - 1e-6) / 10:.1f} %"


def points(difference: float) -> str:
    """Write a difference of shares in percentage points."""
    return f"{number(abs(100 * difference), 2)} percentage {'point' if abs(100 * difference) == 1 else 'points'}"


def more_often(gain: float) -> str:
    """Say how much more often, or less."""
    if abs(gain) < EVEN:
        return "as often as"
    return f"{points(gain)} {'more' if gain > 0 else 'less'} often than"


def off_by(error: float) -> str:
    """Write a relative error: as a share, beyond twice the truth as a factor.

    >>> off_by(0.021), off_by(3.4), off_by(float("inf"))
    ('2.1 %', '3.4 times their truth', 'more than can be said')
    """
    if not isfinite(error):
        return "more than can be said"
    return percent(error, 3) if 0.0005 < error < 2 else f"{number(error, 3)} times their truth"


def signed(difference: float) -> str:
    """Write a difference of accuracies in percentage points with its sign; what is not zero never reads as zero.

    >>> signed(0.0235), signed(-0.00012), signed(0.0)
    ('+2.4', '-0.01', '0')
    """
    value = 100 * difference
    if abs(value) < 1e-9:
        return "0"
    return f"{value:+.1f}" if abs(value) >= 0.05 else f"{value:+.1g}"


def unsigned(difference: float) -> str:
    """Write a difference of accuracies in percentage points, with a sign only where it is negative."""
    return signed(difference).removeprefix("+")
