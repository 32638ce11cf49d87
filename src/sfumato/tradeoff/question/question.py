"""The grammar of the publisher's questions: the best of some measures within bounds on others.

    question = measures ["within" bounds] ["or" bounds]
    measures = measure {("," | "and") measure}
    bounds   = bound {("," | "and") bound}
    bound    = measure ["<=" | ">="] number ["%"]

A bound without a sign excludes the worse values: it is a maximum if lower is better, else a minimum. `suppressed` is
the share of suppressed records. Dewri et al. 2011, section 1, ask such questions.

Also bounds on measures, and their relaxation if nothing fits.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Literal, NoReturn, TypeVar

from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES
from sfumato.texts.catalogue import number, refusal, t

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Point

TOLERANCE = 1e-9
Side = Literal["max", "min"]


@dataclass(frozen=True)
class Bound:
    """The largest or the least allowed value of a measure."""

    measure: str
    side: Side
    value: float
    reason: str = "given"
    """Its source: given, or the reason in the preset of a recipient."""

    def __post_init__(self) -> None:
        check_measure(self.measure)
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or isnan(self.value):
            raise BadInputError(f"the bound on {self.measure} must be a number, not {self.value!r}")

    def __str__(self) -> str:
        return t(f"bound.{self.side}", measure=self.measure, value=number(self.value))

    @property
    def is_given(self) -> bool:
        """Whether a person gave it, in contrast to the bound of a recipient."""
        return self.reason == "given"

    @property
    def option(self) -> str:
        """The command-line option, never stricter than the value."""
        return f"--{self.side} {self.measure}={_outward(self)}"

    @property
    def typed(self) -> str:
        """The text form in a question, never stricter than the value."""
        sign = "" if self.is_natural else f"{'<=' if self.side == 'max' else '>='} "
        return f"{self.measure} {sign}{_outward(self)}"

    @property
    def is_natural(self) -> bool:
        """Whether it excludes the worse values, as most bounds do."""
        return (self.side == "max") == (MEASURES[self.measure].better == "lower")

    def excess(self, point: Point) -> float:
        """Return the excess of a point: 0 within, infinite if its value is unknown."""
        return self.outside(point.measures[self.measure]) if point.has([self.measure]) else inf

    def outside(self, value: float) -> float:
        """Return the excess of a value: 0 within."""
        beyond = value - self.value if self.side == "max" else self.value - value
        slack = TOLERANCE * max(1.0, abs(self.value)) if isfinite(self.value) else 0.0
        return beyond if beyond > slack else 0.0

    def admits(self, point: Point) -> bool:
        """Return whether a point has the measure within the bound."""
        return self.excess(point) == 0.0


@dataclass(frozen=True)
class Relaxation:
    """The value of one bound at which something fits, all other bounds unchanged; None if no value helps."""

    bound: Bound
    value: float | None
    point: str | None

    @property
    def relaxed(self) -> Bound | None:
        """The relaxed bound."""
        return None if self.value is None else Bound(self.bound.measure, self.bound.side, self.value)


def relaxation(fits_at: Sequence[tuple[float, Point]], bound: Bound, others: Sequence[Bound]) -> Relaxation:
    """Relax one bound, the others unchanged, given the value at which it admits each point."""
    fitting = [(value, point) for value, point in fits_at if all(other.admits(point) for other in others)]
    if not fitting:
        return Relaxation(bound, None, None)
    value, nearest = min(fitting, key=lambda fit: (bound.outside(fit[0]), rank(fit[1])))
    return Relaxation(bound, value, nearest.id)


def nearest_point(points: Sequence[Point], bounds: Sequence[Bound]) -> Point | None:
    """Return the point with the least excess.

    An excess counts as the number of points with a smaller or equal excess of the same bound. So measures with
    different units, few large values or infinite ones have equal weight.
    """
    passed = {bound: sorted(e for p in points if (e := bound.excess(p)) > 0) for bound in bounds}
    return min(
        points,
        key=lambda p: (sum(bisect_right(passed[b], e) for b in bounds if (e := b.excess(p)) > 0), rank(p)),
        default=None,
    )


def given_bounds(largest: Mapping[str, float] | None, least: Mapping[str, float] | None) -> list[Bound]:
    """Return given limits as bounds."""
    sides: tuple[tuple[Side, Mapping[str, float]], ...] = (("max", largest or {}), ("min", least or {}))
    return [Bound(name, side, value) for side, values in sides for name, value in values.items()]


def read_bounds(texts: Iterable[str], option: str) -> dict[str, float]:
    """Parse `measure=number` of the command line."""
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
            raise refusal("bound_unread", option=option, text=text, known=", ".join(MEASURES))
        if name in bounds:
            raise BadInputError(f"{option} {name} is given twice, as {number(bounds[name])} and {number(limit)}")
        bounds[name] = limit
    return bounds


def check_measure(name: str) -> None:
    """Raise unless the name is a measure."""
    if name not in MEASURES:
        raise BadInputError(f"unknown measure {name!r}; known are {', '.join(MEASURES)}")


def _outward(bound: Bound) -> str:
    """Return the value of a bound with few digits, rounded so that it is not stricter."""
    if not isfinite(bound.value):
        return str(bound.value)
    rounding = ROUND_CEILING if bound.side == "max" else ROUND_FLOOR
    if float(bound.value).is_integer():
        return str(int(bound.value))
    short = Context(prec=4, rounding=rounding).create_decimal(Decimal(repr(bound.value))).normalize()
    return f"{short:f}" if 1e-9 < abs(short) < 1e9 else str(short)


T = TypeVar("T")
EXAMPLES = '"k within loss 0.25", "k, l_frequency within loss 0.25 and suppressed 5% or loss 0.3", "k"'
SHARE, SUPPRESSED = "suppression_loss", "suppressed"
"""The measure of the share of suppressed records, and its name in a question."""

WORDS = ("within", "or", "and")
TOKENS = re.compile(r"\s*(<=|>=|≤|≥|[A-Za-z_]\w*|[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|\S)")
SIGNS: dict[str, Side] = {"<=": "max", "≤": "max", ">=": "min", "≥": "min"}


@dataclass(frozen=True)
class Question:
    """A parsed question."""

    asked: tuple[str, ...]
    """The measures to optimize, in lexicographic order."""

    bounds: tuple[Bound, ...] = ()
    relaxed: tuple[Bound, ...] = ()
    """Looser bounds, whose gain is reported."""

    def __post_init__(self) -> None:
        if not self.asked:
            raise BadInputError(f"a question asks for at least one measure, such as {EXAMPLES}")
        for name in self.asked:
            check_measure(name)
            if self.asked.count(name) > 1:
                raise BadInputError(f"{name} is asked for twice")
        for bounds in (self.bounds, self.relaxed):
            _check_bounds(bounds)
        given = {(bound.measure, bound.side): bound for bound in self.bounds}
        for bound in self.relaxed:
            before = given.get((bound.measure, bound.side))
            if before is None or (bound.side == "max") != (bound.value > before.value) or bound.value == before.value:
                kept = "none is given" if before is None else f"which is {number(before.value)}"
                raise BadInputError(f"{bound} must be looser than the bound on {bound.measure} that it relaxes: {kept}")

    def __str__(self) -> str:
        parts = [", ".join(self.asked)]
        groups = (("within", self.bounds), ("or", self.relaxed))
        parts += [f"{word} {' and '.join(map(_typed, bounds))}" for word, bounds in groups if bounds]
        return " ".join(parts)

    @property
    def measures(self) -> tuple[str, ...]:
        """All its measures, each once."""
        return tuple(dict.fromkeys([*self.asked, *(bound.measure for bound in self.bounds)]))

    @property
    def loosened(self) -> tuple[Bound, ...]:
        """The bounds, with the relaxed ones replaced."""
        instead = {(bound.measure, bound.side): bound for bound in self.relaxed}
        return tuple(instead.get((bound.measure, bound.side), bound) for bound in self.bounds)


def read_question(text: str) -> Question:
    """Parse a question.

    >>> str(read_question("k, l_frequency within loss 25% and suppressed <= .05 or loss 0.3"))
    'k, l_frequency within loss 0.25 and suppression_loss 0.05 or loss 0.3'
    """
    return _Reader(text).question()


def read_within(text: str) -> tuple[Bound, ...]:
    """Parse bounds in the syntax after `within`.

    >>> [str(bound) for bound in read_within("loss 25% and suppressed 0.05")]
    ['loss at most 0.25', 'suppression_loss at most 0.05']
    """
    reader = _Reader(text, "bounds", '"loss 0.25 and suppressed 5%"')
    bounds = tuple(reader.several(reader.bound))
    reader.end()
    _check_bounds(bounds)
    return bounds


class _Reader:
    """A parser over the words of a question."""

    def __init__(self, text: str, what: str = "question", examples: str = EXAMPLES) -> None:
        self.text, self.words, self.place = text, TOKENS.findall(text), 0
        self.what, self.examples = what, examples

    def question(self) -> Question:
        asked = self.several(self.measure)
        bounds = self.several(self.bound) if self.takes("within") else []
        relaxed = self.several(self.bound) if self.takes("or") else []
        self.end()
        return Question(tuple(asked), tuple(bounds), tuple(relaxed))

    def end(self) -> None:
        """Raise if words remain."""
        if self.next is not None:
            self.fail(f"{self.next!r} is not expected there")

    @property
    def next(self) -> str | None:
        return self.words[self.place] if self.place < len(self.words) else None

    def takes(self, *words: str) -> str | None:
        """Consume the next word if it is one of these."""
        word = self.next
        if word is None or word.lower() not in words:
            return None
        self.place += 1
        return word.lower()

    def several(self, read: Callable[[], T]) -> list[T]:
        parts = [read()]
        while self.takes(",", "and"):
            parts.append(read())
        return parts

    def measure(self) -> str:
        word = self.next
        if word is None or not re.match(r"[A-Za-z_]", word) or word in WORDS:
            self.fail("a measure is expected" + (" at its end" if word is None else f", not {word!r}"))
        self.place += 1
        name = SHARE if word == SUPPRESSED else word
        check_measure(name)
        return name

    def bound(self) -> Bound:
        name = self.measure()
        sign = self.takes(*SIGNS)
        side: Side = SIGNS[sign] if sign else ("max" if MEASURES[name].better == "lower" else "min")
        word = self.next
        try:
            value = float(word or "")
        except ValueError:
            self.fail(f"the bound on {name} must be a number" + (f", not {word!r}" if word else ""))
        self.place += 1
        return Bound(name, side, value / 100 if self.takes("%") else value)

    def fail(self, why: str) -> NoReturn:
        word = "ask" if self.what == "question" else "write"
        raise BadInputError(f"the {self.what} {self.text!r} cannot be read: {why}; {word} for example {self.examples}")


def _check_bounds(bounds: Sequence[Bound]) -> None:
    """Raise if a measure is bounded twice, or by a value that it cannot have."""
    seen: set[tuple[str, Side]] = set()
    for bound in bounds:
        if (bound.measure, bound.side) in seen:
            raise BadInputError(f"{bound.measure} is bounded twice at its {bound.side}")
        seen.add((bound.measure, bound.side))
        measure = MEASURES[bound.measure]
        if isfinite(measure.most) and not measure.least <= bound.value <= measure.most:
            hint = "; write 0.25 or 25% for a quarter" if measure.most == 1 else ""
            raise refusal("bound_range", bound=bound, measure=measure, hint=hint)


def _typed(bound: Bound) -> str:
    sign = "" if bound.is_natural else f"{'<=' if bound.side == 'max' else '>='} "
    return f"{bound.measure} {sign}{repr(float(bound.value)).removesuffix('.0')}"


def rank(point: Point) -> tuple[bool, bool, bool, str]:
    """Return the sort key of otherwise equal points: the more private one first, then by id."""
    return not point.candidate.anonymizer.is_release, point.form == "bucketization", point.is_baseline, point.id
