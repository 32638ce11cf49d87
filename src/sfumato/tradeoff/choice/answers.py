"""What a frontier offers within a loss: the best points, their neighbours, and what a little more loss would buy.

The points are those of a search over cuts (`questions`): all that is asked of them is their values by name, with `loss`
and both its parts, and which others are privacy, of which more is better. A map is asked by `reply`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from sfumato.configuration import check_number
from sfumato.errors import BadInputError
from sfumato.quiet import Quiet

EQUAL = 1e-9


class Valued(Protocol):
    """A point with values by name."""

    @property
    def values(self) -> Mapping[str, float]:
        """What is known of it."""


P = TypeVar("P", bound=Valued)


@dataclass(frozen=True, repr=False)
class Answer(Quiet, Generic[P]):
    """What is known of a question."""

    spoken: ClassVar[tuple[str, ...]] = ("question",)

    question: str
    best: tuple[P, ...]
    """The releases within the loss that no other within it beats in privacy; none if nothing fits."""

    cheaper: P | None
    """The next point on the frontier with less privacy than the best and less loss."""

    dearer: P | None
    """The point of least loss beyond the bound that no best one equals or beats: what the next step would cost."""

    bought: tuple[P, ...]
    """What the relaxed bound offers and the bound does not."""

    frontier: Iterable[P]

    def __str__(self) -> str:
        lines = [self.question]
        lines += [f"  {in_words(point.values)}" for point in self.best] or [
            "  No release that was found keeps within this loss."
        ]
        if self.cheaper is not None:
            lines.append(f"  With less privacy: {in_words(self.cheaper.values)}")
        if self.dearer is not None:
            lines.append(f"  The next step: {in_words(self.dearer.values)}")
        lines += [f"  With the relaxed bound also: {in_words(point.values)}" for point in self.bought]
        return "\n".join(lines)


def check_losses(loss: float, relaxed: float | None) -> None:
    """Raise unless these are a loss and a larger one."""
    check_number("loss", loss, least=0, most=1)
    if relaxed is not None and not loss < relaxed <= 1:
        raise BadInputError(f"relaxed must be more than loss ({loss:g}) and at most 1, not {relaxed!r}")


def answered(
    question: str, frontier: Iterable[P], names: Sequence[str], loss: float, relaxed: float | None = None
) -> Answer[P]:
    """Say what a frontier offers of some privacies within a loss, and what more within a relaxed one."""
    check_losses(loss, relaxed)
    best = best_within(frontier, names, loss)
    dear = [point for point in frontier if point.values["loss"] > loss + EQUAL]
    beyond = [point for point in dear if not _offered(point, best, names)]
    below = [point for point in frontier if best and point.values["loss"] < best[0].values["loss"] - EQUAL]
    more = () if relaxed is None else best_within(frontier, names, relaxed)
    return Answer(
        question,
        best,
        max(below, key=lambda point: point.values["loss"], default=None) if len(best) == 1 else None,
        min(beyond, key=lambda point: point.values["loss"], default=None),
        tuple(point for point in more if not _offered(point, best, names)),
        frontier,
    )


def best_within(frontier: Iterable[P], names: Sequence[str], loss: float) -> tuple[P, ...]:
    """Return the points within a loss that none other within it equals or beats in privacy, the first privacy first."""
    inside = sorted(
        (point for point in frontier if point.values["loss"] <= loss + EQUAL),
        key=lambda point: ([-point.values[name] for name in names], point.values["loss"]),
    )
    kept: list[P] = []
    for point in inside:
        if not _offered(point, kept, names):
            kept.append(point)
    return tuple(kept)


def _offered(point: P, others: Sequence[P], names: Sequence[str]) -> bool:
    return any(all(other.values[name] >= point.values[name] for name in names) for other in others)


def in_words(values: Mapping[str, float]) -> str:
    """Put values into words: privacy first, then losses."""
    privacies = [
        f"{name.replace('_', ' ')} {value:,.2f}".removesuffix(".00")
        for name, value in values.items()
        if "loss" not in name
    ]
    loss = f"{values['generalization_loss']:.1%} by generalization, {values['suppression_loss']:.1%} by suppression"
    return f"{', '.join(privacies)} at a loss of {values['loss']:.1%} ({loss})"
