"""What came of the settings of Cormode et al. 2013, and how outcomes and curves of them are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter

import numpy as np


@dataclass(frozen=True)
class Outcome:
    """What came of one setting: how often the attack was right, and the median error of queries, in every draw."""

    parameter: float
    boxes: int
    accuracies: tuple[float, ...]
    errors: tuple[float, ...]
    """One number where nothing is drawn at random."""

    cut_errors: tuple[float, ...] = ()
    """The errors of the same draws where queries too read negative counts as 0; empty where there is no noise."""

    @property
    def accuracy(self) -> float:
        """The mean accuracy of the attack."""
        return float(np.mean(self.accuracies))

    @property
    def error(self) -> float:
        """The mean error."""
        return float(np.mean(self.errors))

    @property
    def cut(self) -> Outcome:
        """The same draws with negative counts cut at 0 for queries too."""
        return replace(self, errors=self.cut_errors or self.errors)


Number = Callable[[Outcome], float]
Curves = Mapping[str, Sequence[Outcome]]


def rounded(outcomes: Iterable[Outcome], of: Number) -> dict[str, float]:
    """Return a number of every outcome by its parameter."""
    return {f"{outcome.parameter:g}": round(of(outcome), 4) for outcome in outcomes}


accuracy: Number = attrgetter("accuracy")
error: Number = attrgetter("error")
"""Of queries, which read noisy counts as they were drawn."""


def deviation(outcome: Outcome) -> float:
    """The standard deviation of the error over the draws."""
    return float(np.std(outcome.errors))


def both(outcome: Outcome) -> list[float]:
    """Error and accuracy."""
    return [round(outcome.error, 4), round(outcome.accuracy, 4)]


def at(outcomes: Iterable[Outcome], parameter: float) -> Outcome:
    """Find the outcome of a parameter."""
    return next(outcome for outcome in outcomes if outcome.parameter == parameter)


def rises(values: Sequence[float], slack: float = 0.0) -> bool:
    """Say whether values rise, each by no less than minus a slack."""
    return all(b >= a - slack for a, b in pairwise(values))


def least_accuracy(curves: Curves, most_error: float) -> dict[str, float]:
    """Find how little a model leaves the attack with an error below a bound; without such a release it is left out."""
    return _least({name: [o.accuracy for o in curve if o.error < most_error] for name, curve in curves.items()})


def least_error(curves: Curves, most_accuracy: float) -> dict[str, float]:
    """Find the least error of a model with the attack below a bound; without such a release it is left out."""
    return _least({name: [o.error for o in curve if o.accuracy < most_accuracy] for name, curve in curves.items()})


def _least(reached: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: round(min(values), 4) for name, values in reached.items() if values}


def dominates(one: Outcome, other: Outcome) -> bool:
    """Say whether a release is better on one axis and no worse on the other."""
    no_worse = one.error <= other.error and one.accuracy <= other.accuracy
    return no_worse and (one.error < other.error or one.accuracy < other.accuracy)


def levels_off(outcomes: Sequence[Outcome]) -> float | None:
    """Find the first parameter from which on accuracy and error are those of the last, to .002."""
    last = outcomes[-1]
    same = [abs(o.accuracy - last.accuracy) <= 0.002 and abs(o.error - last.error) <= 0.002 for o in outcomes]
    return next((outcome.parameter for i, outcome in enumerate(outcomes) if all(same[i:])), None)


def along(curve: Sequence[Outcome], of: Number, at_error: float) -> float | None:
    """Read a number off a curve at an error, between its releases; None beyond its ends."""
    ordered = sorted(curve, key=error)
    errors = [outcome.error for outcome in ordered]
    if not errors[0] <= at_error <= errors[-1]:
        return None
    return float(np.interp(at_error, errors, [of(outcome) for outcome in ordered]))
