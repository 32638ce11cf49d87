"""Automatic hierarchies are those a person would have drawn: round, with tails, by what the values are."""

from decimal import Decimal

import pytest

from sfumato.table.hierarchies.automatic import automatic, rounded_span

LADDERS = {
    (17, 90): [5, 10, 20],
    (140, 200): [5, 10],
    (80, 220): [5, 10, 50],
    (0, 500): [5, 25, 50, 100],
    (0, 1000): [10, 50, 100, 200],
    (0, 3): [5],
    (0, 2): [],
}


@pytest.mark.parametrize(("low", "high"), LADDERS)
def test_intervals_are_round_as_people_write_them(low, high):
    span = rounded_span(Decimal(low), Decimal(high), 0, 10_000)
    assert list(span.intervals) == LADDERS[low, high]
    assert span.lower <= low and high < span.end
    widest = span.intervals[-1] if span.intervals else 1
    assert span.lower % widest == 0 == span.end % widest


def test_intervals_nest_whatever_the_scale():
    for low, reach in [(-7, 13), (0, 1), (3, 77), (12285, 1478115), (5, 20_000_001), (0, 299), (0, 30)]:
        for exponent in (0, -1, -3):
            unit = Decimal(1).scaleb(exponent)
            span = rounded_span(low * unit, (low + reach) * unit, exponent, 1000)
            widths = [span.resolution, *span.intervals]
            assert all(wide % fine == 0 and wide > fine for fine, wide in zip(widths, widths[1:], strict=False))
            assert (span.end - span.lower) / widths[-1] <= 8  # six, and one more cut at either end
            assert reach * unit / span.resolution <= 1000


def test_a_long_thin_tail_is_one_value_and_a_short_one_is_not():
    body = {str(n): 10 for n in range(1000, 3000, 50)}
    for values, ends in [
        (body, ("1000", "2999")),
        (body | {"90000": 1}, ("1000", "3000+")),
        (body | {"-5000": 2}, ("<1000", "2999")),
        (body | {"90000": 1, "-5000": 2}, ("<1000", "3000+")),
        (body | {"90000": 30}, ("0", "99999")),  # 7 % of the records are no tail
    ]:
        made = automatic("income", list(values), list(values.values()))
        assert (made.leaves[0], made.leaves[-1]) == ends, ends
        assert (made.encode(list(values)) >= 0).all()
        assert made.observed
    few = {str(n): 100 for n in range(10)} | {"5000": 1}
    assert automatic("n", list(few), list(few.values())).leaves[-1] == "5999"
