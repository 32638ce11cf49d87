"""The meanings in force: what was decided once and must be known to read any number of a map and its report."""

from __future__ import annotations

from sfumato.report.kinds import words_of
from sfumato.tradeoff.map import Map


def meanings(map_: Map) -> list[tuple[str, str]]:
    """List the meanings with the study's own values, each as a short name and one or two sentences."""
    entries: list[tuple[str, str]] = words_of(map_.study).meanings(map_)
    return entries
