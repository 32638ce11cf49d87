"""Bounds on measures, and what would have to be relaxed when nothing fits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Literal

from sfumato.errors import BadInputError
from sfumato.measures import MEASURES
from sfumato.phrases import number
from sfumato.tradeoff.choice.curve import rank

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Point

TOLERANCE = 1e-9
Side = Literal["max", "min"]


@dataclass(frozen=True)
class Bound:
    """The largest or the least value that a measure of the release may have."""

    measure: str
    side: Side
    value: float
    reason: str = "given"
    """Where it comes from: given, or the reason that stands in the preset of a recipient."""

    def __post_init__(self) -> None:
        check_measure(self.measure)
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or isnan(self.value):
            raise BadInputError(f"the bound on {self.measure} must be a number, not {self.value!r}")

    def __str__(self) -> str:
        return f"{self.measure} at {'most' if self.side == 'max' else 'least'} {number(self.value)}"

    @property
    def option(self) -> str:
        """What to type for it, never stricter than the value."""
        return f"--{self.side} {self.measure}={_outward(self)}"

    @property
    def typed(self) -> str:
        """What to type for it in a question, never stricter than the value."""
        sign = "" if self.is_natural else f"{'<=' if self.side == 'max' else '>='} "
        return f"{self.measure} {sign}{_outward(self)}"

    @property
    def is_natural(self) -> bool:
        """Whether it cuts off the worse values, as bounds mostly do."""
        return (self.side == "max") == (MEASURES[self.measure].better == "lower")

    def excess(self, point: Point) -> float:
        """Measure how far a point is outside: 0 within, infinite where its value is unknown."""
        return self.outside(point.measures[self.measure]) if point.has([self.measure]) else inf

    def outside(self, value: float) -> float:
        """Measure how far a value is outside: 0 within."""
        beyond = value - self.value if self.side == "max" else self.value - value
        slack = TOLERANCE * max(1.0, abs(self.value)) if isfinite(self.value) else 0.0
        return beyond if beyond > slack else 0.0

    def admits(self, point: Point) -> bool:
        """Say whether a point has the measure and lies within."""
        return self.excess(point) == 0.0


@dataclass(frozen=True)
class Relaxation:
    """What one bound would have to be for something to fit, all other bounds kept; None where that never helps."""

    bound: Bound
    value: float | None
    point: str | None

    @property
    def relaxed(self) -> Bound | None:
        """The bound that would do."""
        return None if self.value is None else Bound(self.bound.measure, self.bound.side, self.value)


def relaxation(fits_at: Sequence[tuple[float, Point]], bound: Bound, others: Sequence[Bound]) -> Relaxation:
    """Work out how far one bound would have to go, the others kept, from the value at which it admits each point."""
    fitting = [(value, point) for value, point in fits_at if all(other.admits(point) for other in others)]
    if not fitting:
        return Relaxation(bound, None, None)
    value, nearest = min(fitting, key=lambda fit: (bound.outside(fit[0]), rank(fit[1])))
    return Relaxation(bound, value, nearest.id)


def nearest_point(points: Sequence[Point], bounds: Sequence[Bound]) -> Point | None:
    """Find the point that exceeds the bounds least.

    An excess counts as the number of points that are outside the same bound and not further: measures with other
    units, with few large values or with infinite ones then weigh alike.
    """
    passed = {bound: sorted(e for p in points if (e := bound.excess(p)) > 0) for bound in bounds}
    return min(
        points,
        key=lambda p: (sum(bisect_right(passed[b], e) for b in bounds if (e := b.excess(p)) > 0), rank(p)),
        default=None,
    )


def given_bounds(largest: Mapping[str, float] | None, least: Mapping[str, float] | None) -> list[Bound]:
    """Turn what a person gave into bounds."""
    sides: tuple[tuple[Side, Mapping[str, float]], ...] = (("max", largest or {}), ("min", least or {}))
    return [Bound(name, side, value) for side, values in sides for name, value in values.items()]


def read_bounds(texts: Iterable[str], option: str) -> dict[str, float]:
    """Read `measure=number` as the command line has it."""
    bounds: dict[str, float] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        try:
            limit = float(value)
        except ValueError:
            limit = float("nan")
        if name:
            check_measure(name)
        if not name or not equals or isnan(limit):
            raise BadInputError(
                f"{option} {text!r} cannot be read: write measure=number, such as {option} p_loss=0.1; "
                f"known measures are {', '.join(MEASURES)}"
            )
        if name in bounds:
            raise BadInputError(f"{option} {name} is given twice, as {number(bounds[name])} and {number(limit)}")
        bounds[name] = limit
    return bounds


def check_measure(name: str) -> None:
    """Raise unless this is the name of a measure."""
    if name not in MEASURES:
        raise BadInputError(f"unknown measure {name!r}; known are {', '.join(MEASURES)}")


def _outward(bound: Bound) -> str:
    """Write the value of a bound with few digits, rounded so that it does not become stricter."""
    if not isfinite(bound.value):
        return str(bound.value)
    rounding = ROUND_CEILING if bound.side == "max" else ROUND_FLOOR
    if float(bound.value).is_integer():
        return str(int(bound.value))
    short = Context(prec=4, rounding=rounding).create_decimal(Decimal(repr(bound.value))).normalize()
    return f"{short:f}" if 1e-9 < abs(short) < 1e9 else str(short)
