"""The original that a file is audited against, opened from the study that declares it.

A study says where its table is and how it is read: roles, hierarchies, texts that mean missing, encoding. So who names
the study can forget none of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import BadInputError
from sfumato.table import Table

STUDY = "study.toml"


def study_file(given: Any) -> Path | None:
    """Return the study that an original is named by: a file that ends in .toml, or the one in the folder of a map."""
    if not isinstance(given, str | Path):
        return None
    path = Path(given)
    if path.suffix.lower() == ".toml":
        return path
    return path / STUDY if (path / STUDY).is_file() else None


def opened_original(given: Any, **read: Any) -> Any:
    """Open the table of a study; anything else is returned as it is. `read` says how else it would be read."""
    path = study_file(given)
    if path is None:
        return given
    from sfumato.tradeoff.study.study import of_table, read_study  # studies name anonymizers, and an audit needs none

    for option, value in read.items():
        if value:
            raise BadInputError(f"{option}: {path} says how its table is read; leave the option out")
    return of_table(read_study(str(path))).table.open()


def roles_in(
    columns: Sequence[str], quasi: tuple[str, ...], sensitive: tuple[str, ...], original: Any
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return quasi-identifiers and sensitive columns: those named, or where none is those of the original's roles.

    A release may leave sensitive columns out, so of these only what stands in the file is taken.
    """
    if quasi or not isinstance(original, Table):
        return quasi, sensitive
    return original.roles.quasi, sensitive or tuple(name for name in original.roles.sensitive if name in columns)
