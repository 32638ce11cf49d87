"""Reproductions: one file per paper."""

from importlib import import_module
from typing import Any

from sfumato.errors import BadInputError
from sfumato.papers.claims import Progress, Results

PAPERS = ("li-li-2009", "brickell-shmatikov-2008", "cormode-2013", "dewri-2011", "loukides-2012")
OPTIONS = {"frontier": ("li-li-2009",), "data": ("loukides-2012", "cormode-2013")}
"""Options besides the reproduction, with the papers that have them."""


def reproduce(paper: str, progress: Progress | None = None, **options: Any) -> Results:
    """Reproduce one paper: its claims with our numbers, its figures with our points."""
    if paper not in PAPERS:
        raise BadInputError(f"unknown paper {paper!r}; there are {', '.join(PAPERS)}")
    given = {name: value for name, value in options.items() if value}
    for name in given:
        if name != "full" and paper not in OPTIONS.get(name, ()):
            raise BadInputError(
                f"--{name} belongs to {' and '.join(OPTIONS.get(name, ())) or 'no paper'}, not to {paper}"
            )
    results: Results = import_module(f"sfumato.papers.{paper.replace('-', '_')}").reproduce(progress, **given)
    return results
