"""How often something happens, in whole numbers: `31 times in 100, 13 without the data`.

What is rounded never reads as never or always, nor as more often than without the data where it is not.
"""

from __future__ import annotations

from math import ceil, floor, isfinite

from sfumato.texts.catalogue import t
from sfumato.texts.format import number, percent

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
        return t("chance.hardly_ever") if share < 0.5 else t("chance.nearly_always")
    return t("chance.in", many=_many(share, base), base=base)


def _base(share: float) -> int | None:
    """Return out of how many a share can be counted in whole numbers."""
    room = NEAR * min(share, 1 - share)
    return next((base for base in BASES if abs(round(share * base) / base - share) <= room), None)


def _many(share: float, base: int) -> str:
    many = round(share * base)
    return "once" if many == 1 else t("chance.times", many=many)


def beside(share: float, other: float) -> str:
    """Say how often something happens, and how often without the data, out of the same number.

    >>> beside(0.31, 0.13), beside(0.231, 0.2309), beside(0.2, 0.3)[17:]
    ('31 times in 100, 13 without the data', '23 times in 100, hardly more than without the data', \
'no more often than without the data')
    """
    if share <= other + EVEN:
        return t("chance.no_more", times=times(share))
    base = max(_base(share) or BASES[-1], _base(other) or BASES[-1])
    if round(other * base) == round(share * base):
        return t("chance.hardly_more", times=times(share))
    if abs(share - 1) < EVEN:
        return t("chance.always_without", many=_many(other, base), base=base)
    return t("chance.without_data", many=_many(share, base), base=base, round=round(other * base))


def one_in(share: float) -> str:
    """Say a risk that is one over a number of people.

    >>> one_in(0.05), one_in(1), one_in(0)
    ('at most 1 time in 20', 'for certain', 'never')
    """
    if share <= 0:
        return "never"
    many = floor(1 / share + 1e-6)  # a risk never reads as smaller than it is
    return t("chance.certain") if many <= 1 else t("chance.most_time", many=many)


def at_most(share: float) -> str:
    """Write a share that is not exceeded, so never rounded down.

    >>> at_most(0.1381), at_most(0.5), at_most(0.9996)
    ('13.9 %', '50.0 %', '100.0 %')
    """
    return f"{ceil(1000 * share - 1e-6) / 10:.1f} %"


def points(difference: float) -> str:
    """Write a difference of shares in percentage points."""
    return t("chance.percentage", value=number(abs(100 * difference), 2), value2=abs(100 * difference))


def more_often(gain: float) -> str:
    """Say how much more often, or less."""
    if abs(gain) < EVEN:
        return t("chance.as_often")
    return t("chance.often_than", points=points(gain), more=t("chance.more") if gain > 0 else t("chance.less"))


def off_by(error: float) -> str:
    """Write a relative error: as a share, beyond twice the truth as a factor.

    >>> off_by(0.021), off_by(3.4), off_by(float("inf"))
    ('2.1 %', '3.4 times their truth', 'more than can be said')
    """
    if not isfinite(error):
        return t("chance.more_than")
    return percent(error, 3) if 0.0005 < error < 2 else t("chance.times_their", error=number(error, 3))
