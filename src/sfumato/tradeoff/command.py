"""How to go on from a point: the command line that makes its release, to be pasted into a shell.

It is derived from the fields of the table's declaration and of a candidate, so a new field is either an option of the
same name or an error here, and never left out.
"""

from __future__ import annotations

import shlex
from dataclasses import replace

from sfumato.table import TableDeclaration
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.study.texts import changed, option_words, source_word

DECLARED = "hierarchies.toml"
"""Where a person puts the hierarchies that a study declares itself: the command line reads them from a file."""


def anonymize_command(declared: TableDeclaration, point: Point) -> str | None:
    """Write the `sfumato anonymize` that makes a point's release; the original is not a release to make."""
    if point.anonymizer == "original":
        return None
    words = ["sfumato", "anonymize", source_word(declared.source), *table_words(declared), *_candidate_words(point)]
    return shlex.join([*words, "--to", f"release-{point.id}.csv"])


def table_words(declared: TableDeclaration) -> list[str]:
    """Write everything of a declaration that differs from what the command assumes, but its source."""
    words = option_words(replace(declared, hierarchy={}), ("source",))
    return words + ([f"--hierarchies={DECLARED}"] if declared.hierarchy else [])


OPTIONS = {"anonymizer": "--with", "requirement": "--require", "form": "--form", "suppress": "--suppress"}
"""The option for every field of a candidate."""


def _candidate_words(point: Point) -> list[str]:
    """Write what the candidate of a point says; a noisy one has nothing but its mechanism."""
    given = changed(point.candidate)
    names = ["anonymizer"] if point.is_noisy else list(given)
    return [word for name in names for word in (OPTIONS[name], str(given[name]))]
