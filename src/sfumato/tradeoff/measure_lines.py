"""Measures as lines of a terminal, each with what it means."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.measures import MEASURES

ARROWS = "(^ higher is better, v lower is better)"
EXACT_VALUES = (
    "WARNING: the exact quasi-identifiers ARE in this file. It does not hide who is in the table; it only\n"
    "loosens the link to the sensitive values."
)


def measure_lines(measures: Mapping[str, float]) -> list[str]:
    """Write measures in their usual order: name, value, which way is better, meaning."""
    return [
        f"  {name:22} {plain_number(measures[name]):>12} {'^' if measure.better == 'higher' else 'v'} {measure.meaning}"
        for name, measure in MEASURES.items()
        if name in measures
    ]


def plain_number(value: float) -> str:
    """Write a whole number in full and any other by four digits."""
    value = 0.0 if abs(value) < 1e-12 else value
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"
