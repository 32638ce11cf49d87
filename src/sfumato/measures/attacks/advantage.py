"""The success of an attack: how often it succeeds, and how often it would have succeeded anyway, with an interval.

A success rate alone is not informative: the guess that a person is not rich is mostly right. So every attack is run
twice, against records that the release was made from and against others that its maker never saw (the control), and
what counts is the difference. Giomi et al. (PoPETs 2023, section 3.2) use (r - c) / (1 - c):
the part of the failures against the control that turn into successes. A membership attack counts r - c, its true minus
its false positives. Both are shown with a naive guesser: an attack that is no better than guessing is not informative.

Intervals of rates are Wilson's (1927). The interval of a difference comes from "square and add" (Newcombe, Statistics
in Medicine 17, 1998, method 10; Zou and Donner, Statistics in Medicine 27, 2008). It is the root of the sum of squares
of how far the value moves when one rate moves to an end of its interval.

The results of all attacks on a candidate: measures with intervals, and their context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import hypot, sqrt
from statistics import NormalDist, median
from typing import Any

from sfumato.texts.catalogue import counted

LEVEL = 0.95
"""The confidence level of all intervals."""

LEAST_TRIES = 50
"""With fewer tries an attack's interval is too wide for a measure: only its rates are reported."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Rate:
    """So many successes in so many tries; `known` where the rate is a plain fact and not counted on a sample."""

    successes: float
    tries: int
    known: bool = False

    @property
    def share(self) -> float:
        """The share of successes; without a try none."""
        return self.successes / self.tries if self.tries else 0.0

    def interval(self, level: float = LEVEL) -> Interval:
        """Wilson's score interval; without a try everything is possible."""
        if self.known:
            return self.share, self.share
        if not self.tries:
            return 0.0, 1.0
        z = NormalDist().inv_cdf((1 + level) / 2)
        n, p = self.tries, self.share
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        reach = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(middle - reach, 0.0), min(middle + reach, 1.0)


@dataclass(frozen=True)
class Advantage:
    """One attack on one release."""

    name: str
    """The measure that it is."""

    attack: Rate
    """Against the records that the release was made from."""

    control: Rate
    """Against records that its maker never saw, or how often a guess at random is right where none is needed."""

    naive: Rate | None = None
    """Of somebody who guesses without looking."""

    of_failures: bool = True
    """Whether it is counted as the part of the failures that are left, as a risk is, or as a plain difference."""

    on: str = ""
    """Its target, where there are several such attacks: a sensitive attribute, the number of columns."""

    bound: float | None = None
    """Its upper bound by what was proved of the release, if anything was."""

    bound_by: str = ""
    """The proof, in a few words."""

    def _value(self, attack: float, control: float) -> float:
        if not self.of_failures:
            return attack - control
        return max((attack - control) / (1 - control), -1.0) if control < 1 else 0.0

    @cached_property
    def value(self) -> float:
        """The advantage; none where the attack does worse on the records that it should know better."""
        return max(self._value(self.attack.share, self.control.share), 0.0)

    def interval(self, level: float = LEVEL) -> Interval:
        """The interval of the advantage, at a confidence level."""
        attack, control = self.attack.share, self.control.share
        (low, high), (least, most) = self.attack.interval(level), self.control.interval(level)
        value = self._value(attack, control)
        below = hypot(value - self._value(low, control), value - self._value(attack, most))
        above = hypot(self._value(high, control) - value, self._value(attack, least) - value)
        return min(max(value - below, 0.0), 1.0), min(max(value + above, 0.0), 1.0)

    @property
    def is_measure(self) -> bool:
        """Whether it was tried often enough."""
        return self.attack.tries >= LEAST_TRIES

    @property
    def tells_nothing(self) -> bool:
        """Whether somebody who guesses without looking does as well."""
        return self.naive is not None and self.attack.tries > 0 and self.naive.share >= self.attack.share

    @property
    def beats_its_bound(self) -> bool:
        """Whether it does what was proved to be impossible, even at the lower end of its interval."""
        return self.bound is not None and self.interval()[0] > self.bound

    @property
    def cautions(self) -> list[str]:
        """The context needed to read the number."""
        title = f"{self.name} ({self.on})" if self.on else self.name
        cautions = []
        if not self.is_measure:
            cautions.append(
                f"{title} could be tried {counted(self.attack.tries, 'time')} only, so it is no measure of this release"
            )
        if self.tells_nothing:
            cautions.append(
                f"{title} is no better than guessing without looking, so it is no evidence about this release"
            )
        if self.control.share == 1 and not self.control.known:
            cautions.append(f"{title} always succeeds against the control as well, so no advantage can be seen")
        if self.beats_its_bound:
            cautions.append(
                f"{title} beats what {self.bound_by} proves (at most {self.bound:.3f}): the release does not keep it"
            )
        return cautions


def worst_of(advantages: Sequence[Advantage]) -> tuple[float, Interval] | None:
    """Return the largest advantage and an interval for it that allows for having chosen the largest (Bonferroni)."""
    tried = [advantage for advantage in advantages if advantage.is_measure]
    if not tried:
        return None
    level = 1 - (1 - LEVEL) / len(tried)
    ends = [advantage.interval(level) for advantage in tried]
    return max(each.value for each in tried), (max(low for low, _ in ends), max(high for _, high in ends))


WORST = "attack_worst"


@dataclass(frozen=True)
class AttackFindings:
    """The results of the attacks on one release."""

    advantages: tuple[Advantage, ...] = ()
    described: Mapping[str, tuple[float, Interval]] = field(default_factory=dict)
    """Numbers that are no advantage of anybody, with their intervals."""

    beside: Mapping[str, Any] = field(default_factory=dict)
    """Further results, internal to the publisher."""

    def joined(self, other: AttackFindings) -> AttackFindings:
        """Put the findings on two releases of one candidate together."""
        return AttackFindings(
            (*self.advantages, *other.advantages),
            {**self.described, **other.described},
            {**self.beside, **other.beside},
        )

    @property
    def numbers(self) -> dict[str, tuple[float, Interval]]:
        """Every measure with its interval; of several attacks of one name the worst."""
        numbers: dict[str, tuple[float, Interval]] = {}
        for advantage in self.advantages:
            if not advantage.is_measure:
                continue
            if advantage.name not in numbers or advantage.value > numbers[advantage.name][0]:
                numbers[advantage.name] = advantage.value, advantage.interval()
        worst = worst_of(self.advantages)
        return numbers | dict(self.described) | ({} if worst is None else {WORST: worst})


@dataclass(frozen=True)
class AttackOutcome:
    """The results of the attacks on a candidate, over all draws."""

    measures: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    """Every attack with its rates, and cautions: for the publisher's eyes."""

    @staticmethod
    def of(draws: Sequence[AttackFindings], cautions: Sequence[str] = (), all_tried: bool = True) -> AttackOutcome:
        """Take the median of every measure; its interval reaches from the lowest end of any draw to the highest.

        The worst of some attacks would look better than the worst of all, so unless `all_tried` it is not said.
        """
        numbers = [{n: v for n, v in draw.numbers.items() if all_tried or n != WORST} for draw in draws]
        known = [name for name in numbers[0] if all(name in each for each in numbers)] if numbers else []
        ends = {name: [each[name][1] for each in numbers] for name in known}
        warnings = [sentence for advantage in draws[0].advantages for sentence in advantage.cautions] if draws else []
        return AttackOutcome(
            {name: median(each[name][0] for each in numbers) for name in known},
            {name: (min(low for low, _ in ends[name]), max(high for _, high in ends[name])) for name in known},
            {
                "attacks": [entry(advantage) for advantage in draws[0].advantages] if draws else [],
                "beside": dict(draws[0].beside) if draws else {},
                "cautions": [*cautions, *warnings],
            },
        )


def entry(advantage: Advantage) -> dict[str, Any]:
    """Write an attack with everything that belongs beside its number."""
    return {
        "name": advantage.name,
        "on": advantage.on,
        "value": advantage.value,
        "interval": list(advantage.interval()),
        "attack": rate_entry(advantage.attack),
        "control": rate_entry(advantage.control),
        "naive": None if advantage.naive is None else rate_entry(advantage.naive),
        "bound": advantage.bound,
        "bound_by": advantage.bound_by,
        "tells_nothing": advantage.tells_nothing,
    }


def rate_entry(rate: Rate) -> dict[str, Any]:
    """Write a success rate with its interval."""
    return {"successes": rate.successes, "tries": rate.tries, "rate": rate.share, "interval": list(rate.interval())}
