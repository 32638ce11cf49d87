"""How to go on from a point: the command line that makes its release, to be pasted into a shell."""

from __future__ import annotations

import shlex

from sfumato.table import TableDeclaration
from sfumato.tradeoff.map import Point

DECLARED = "hierarchies.toml"
"""Where a person puts the hierarchies that a study declares itself: the command line reads them from a file."""


def anonymize_command(declared: TableDeclaration, point: Point) -> str | None:
    """Write the `sfumato anonymize` that makes a point's release; the original is not a release to make."""
    if point.anonymizer == "original":
        return None
    options = {"--require": point.requirement, "--with": point.anonymizer, "--form": point.form}
    if point.is_noisy:
        options = {"--with": point.anonymizer}
    if point.parameters.get("suppress"):
        options["--suppress"] = repr(float(point.parameters["suppress"]))
    words = ["sfumato", "anonymize", declared.source, *_table_words(declared)]
    words += [word for option in options.items() for word in option]
    return shlex.join([*words, "--to", f"release-{point.id}.csv"])


def _table_words(declared: TableDeclaration) -> list[str]:
    """Write everything of a declaration that differs from what the command assumes."""
    words = []
    for role in ("quasi", "sensitive", "neutral", "identifier", "na"):
        for name in getattr(declared, role):
            words += [f"--{role}", name]
    if declared.hierarchy:
        words += ["--hierarchies", DECLARED]
    elif declared.hierarchies is not None:
        words += ["--hierarchies", declared.hierarchies]
    if declared.missing != "value":
        words += ["--missing", declared.missing]
    if declared.delimiter is not None:
        words += ["--delimiter", declared.delimiter]
    if declared.encoding != "utf-8":
        words += ["--encoding", declared.encoding]
    return words
