"""A counterexample to what was required of a release of baskets."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.quiet import Quiet


@dataclass(frozen=True, repr=False)
class Weak(Quiet):
    """A published set of parts and how many records have it; of a rule also what is behind its arrow."""

    support: int
    parts: tuple[str, ...]
