"""The command by which everybody, or the publisher, checks a release again: derived from what it was made of.

It is run in the folder of the released file. The public one asks of the file what the file alone can answer. The
publisher's names the study that declares the original, and so forgets nothing that is needed to read it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.release import format_of
from sfumato.release.writing import GROUP
from sfumato.table.table import Unit
from sfumato.table.weights import Weights


@dataclass(frozen=True)
class ReleasedColumns:
    """The columns of a released file by their roles, as they were declared."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    """Those that are published."""

    neutral: tuple[str, ...]
    household: str | None = None
    """The original's column that says who lives together; never published."""

    ordered: tuple[str, ...] = ()
    """Sensitive columns whose order everybody sees: rising, for no other was declared."""

    weights: Weights = ()
    """How much a loss in every quasi-identifier counted, where not all did alike."""

    unit: Unit = "records"
    """What was counted in groups."""


def seen_from(folder: Path, file: str | Path) -> str:
    """Name a file as seen from the folder of a release."""
    return os.path.relpath(file, folder)


def argument(name: str) -> str:
    """Write the name of a file so that no command takes it for an option."""
    return f"./{name}" if name.startswith("-") else name


def public_check(names: Sequence[str], columns: ReleasedColumns, form: str, parts: Sequence[str]) -> list[str]:
    """Return the words by which everybody checks on the files alone the parts of the requirement that they confirm."""
    roles = [word for name in columns.quasi for word in ("--quasi", name)]
    roles += [word for name in columns.sensitive for word in ("--sensitive", name)]
    return [*_file(names, form), *roles, *_required(parts)]


def publisher_check(
    names: Sequence[str],
    form: str,
    parts: Sequence[str],
    study: str,
    household: str | None,
    person: str | None = None,
) -> list[str]:
    """Return the words by which the publisher checks the files against the original that a study declares.

    `household` is the column of households where the files confirm what is promised of them, `person` the column that
    says whose record it is.
    """
    together = [] if household is None else ["--household", household]
    together += [] if person is None else ["--person", person]
    return [*_file(names, form), "--original", argument(study), *together, *_required(parts)]


def _file(names: Sequence[str], form: str) -> list[str]:
    words = ["sfumato", "audit", argument(names[0])]
    words += [word for name in names[1:] for word in ("--sensitive-table", argument(name))]
    words += ["--delimiter", ","] if format_of(Path(names[0])) == "csv" else []
    words += ["--group", GROUP] if form == "bucketization" else []
    return [*words, "--suppressed", "keep"]


def _required(parts: Sequence[str]) -> list[str]:
    return ["--require", " & ".join(parts)] if parts else []
