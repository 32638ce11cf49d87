"""What the claims of this paper share: what a loss allows, which stretch points span."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.tradeoff import Frontier, FrontierPoint

EQUAL = 1e-9


def over(points: Iterable[FrontierPoint], name: str) -> str:
    """Say which stretch of one value some points span."""
    values = [point.values[name] for point in points]
    return f"{name} {min(values):,.6g} to {max(values):,.6g}" if values else "no point"


def pairs_of(points: Sequence[FrontierPoint]) -> list[list[float]]:
    """Write points of problem 4: k, l, loss."""
    pairs = []
    for point in points:
        l = next(value for name, value in point.values.items() if name.startswith("l_"))  # noqa: E741
        pairs.append([point.values["k"], l, round(point.values["loss"], 4)])
    return pairs


def within(frontier: Frontier, loss: float) -> tuple[FrontierPoint, ...]:
    """Return the points within a loss that none other within it equals or beats in privacy, the largest k first."""
    names = frontier.problem.privacies
    inside = sorted(
        (point for point in frontier if point.values["loss"] <= loss + EQUAL),
        key=lambda point: ([-point.values[name] for name in names], point.values["loss"]),
    )
    kept: list[FrontierPoint] = []
    for point in inside:
        if not _offered(point, kept, names):
            kept.append(point)
    return tuple(kept)


def bought(frontier: Frontier, loss: float, relaxed: float) -> tuple[FrontierPoint, ...]:
    """Return what a relaxed loss offers: the best points within it that no point within the loss equals or beats."""
    best = within(frontier, loss)
    return tuple(p for p in within(frontier, relaxed) if not _offered(p, best, frontier.problem.privacies))


def _offered(point: FrontierPoint, others: Sequence[FrontierPoint], names: Sequence[str]) -> bool:
    return any(all(other.values[name] >= point.values[name] for name in names) for other in others)
