"""The reproductions: one file per paper."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from sfumato.errors import BadInputError
from sfumato.papers.results import Claim, Figure, Results

PAPERS = {
    "li-li-2009": "sfumato.papers.li_li_2009",
    "brickell-shmatikov-2008": "sfumato.papers.brickell_shmatikov_2008",
    "cormode-2013": "sfumato.papers.cormode_2013",
    "dewri-2011": "sfumato.papers.dewri_2011",
}
Progress = Callable[[int, int, str], None]


def reproduce(paper: str, progress: Progress | None = None) -> Results:
    """Reproduce one paper: its claims with our numbers, its figures with our points."""
    if paper not in PAPERS:
        raise BadInputError(f"unknown paper {paper!r}; there are {', '.join(PAPERS)}")
    results: Results = import_module(PAPERS[paper]).reproduce(progress)
    return results


__all__ = ["PAPERS", "Claim", "Figure", "Results", "reproduce"]
