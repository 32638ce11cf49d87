"""Weights of quasi-identifiers: how much a loss in each of them counts (Xu et al. 2006, whom Dewri et al. follow).

A loss is the weighted mean over the quasi-identifiers. Only the ratios of weights matter: makers and measures read them
scaled to a mean of 1, so that a table without weights is one whose weights are all 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from sfumato.configuration import check_number, named_entries
from sfumato.errors import BadInputError

Weights = tuple[tuple[str, float], ...]
"""The weight of every quasi-identifier, in the order of their names; nothing where all count alike."""


def weights_of(quasi: Iterable[str], given: Mapping[str, float]) -> Weights:
    """Give every quasi-identifier its weight, 1 where none is given; raises where one cannot be a weight."""
    names = sorted(quasi)
    for name, weight in given.items():
        if name not in names:
            raise BadInputError(f"weights: {name!r} is no quasi-identifier; these are {', '.join(names)}")
        check_number(f"weights: the weight of {name!r}", weight, least=0)
    weights = tuple((name, float(given.get(name, 1.0))) for name in names)
    if weights and not any(weight for _, weight in weights):
        raise BadInputError("weights: at least one quasi-identifier must weigh more than 0, or nothing is lost ever")
    return weights if len({weight for _, weight in weights}) > 1 else ()


def read_weights(texts: Iterable[str]) -> dict[str, float]:
    """Read weights from texts such as `age=2, "zip, code"=0.5`."""
    weights: dict[str, float] = {}
    for name, value in named_entries("weights", ", ".join(texts), "age=2, sex=0.5"):
        try:
            weights[name] = float(value)
        except ValueError:
            raise BadInputError(f"weights: the weight of {name!r} must be a number, not {value!r}") from None
    return weights


def scaled(weights: Sequence[float]) -> list[float]:
    """Scale weights to a mean of 1, by their decimal digits: 0.1 and 0.3 are the very same as 1 and 3."""
    exact = [Fraction(str(weight)) for weight in weights]
    total = sum(exact)
    return [float(weight * len(exact) / total) for weight in exact]


def weights_in_words(weights: Mapping[str, float]) -> list[str]:
    """Say which weights were used, as a sentence without its end; nothing where all count alike."""
    if not weights:
        return []
    each = ", ".join(f"{name} {weight:g}" for name, weight in weights.items())
    ignored = (
        "; what weighs 0 is protected like the others, and its loss does not count" if 0 in weights.values() else ""
    )
    return [f"losses are weighted means over the quasi-identifiers, by these weights: {each}{ignored}"]
