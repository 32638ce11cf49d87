"""Measures as lines of a terminal, each with what it means."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.measures import MEASURES
from sfumato.phrases import number

ARROWS = "(^ higher is better, v lower is better)"
EXACT_VALUES = (
    "WARNING: the exact quasi-identifiers ARE in this file. It does not hide who is in the table; it only\n"
    "loosens the link to the sensitive values."
)


def measure_lines(measures: Mapping[str, float]) -> list[str]:
    """Write measures in their usual order: name, value, which way is better, meaning."""
    return [
        f"  {name:22} {number(measures[name]):>12} {'^' if measure.better == 'higher' else 'v'} {measure.meaning}"
        for name, measure in MEASURES.items()
        if name in measures
    ]
