"""What the claims of this paper share: likely reasons, which stretch some points span, pairs as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.tradeoff import FrontierPoint

WHY = "the paper's hierarchies and granularity are not printed; loss is relative to them"
PRINTED = "theirs may be artefacts of the unsound definition"


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
