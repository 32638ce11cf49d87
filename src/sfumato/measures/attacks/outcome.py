"""What all attacks on a candidate found, put together: measures with intervals, and what stands beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from sfumato.measures.attacks.advantage import Advantage, Interval, Rate, worst_of

WORST = "attack_worst"


@dataclass(frozen=True)
class AttackFindings:
    """What the attacks on one release found."""

    advantages: tuple[Advantage, ...] = ()
    described: Mapping[str, tuple[float, Interval]] = field(default_factory=dict)
    """Numbers that are no advantage of anybody, with their intervals."""

    beside: Mapping[str, Any] = field(default_factory=dict)
    """What else is told for the publisher's eyes."""

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
    """What the attacks on a candidate found, over all draws."""

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
