"""Limits on what a file may ask of the machine while it is opened: the workbench sets them, commands set none."""

from __future__ import annotations

import zipfile
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import BadInputError

GIGABYTE = 1 << 30


@dataclass(frozen=True)
class OpeningLimits:
    """How much a file may take until it is open."""

    expanded: int = 2 * GIGABYTE
    """Bytes of a workbook's parts, unpacked."""

    memory: int = 4 * GIGABYTE
    """Bytes of memory of the process that opens it."""

    seconds: float = 120
    columns: int = 2000


in_force: ContextVar[OpeningLimits | None] = ContextVar("in_force", default=None)
"""The limits of this process; None where there are none."""


def check_columns(origin: str, number: int) -> None:
    """Raise where a file has more columns than are opened here."""
    limits = in_force.get()
    if limits is not None and number > limits.columns:
        raise BadInputError(
            f"{origin}: the file has {number:,} columns, and at most {limits.columns:,} are opened here "
            "(--most-columns); leave out those that nobody needs"
        )


def check_expanded(path: Path) -> None:
    """Raise where a packed file would take more room than is allowed here; of what is not packed nothing is said."""
    limits = in_force.get()
    if limits is None or not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as parts:
        expanded = sum(part.file_size for part in parts.infolist())
    if expanded > limits.expanded:
        raise BadInputError(
            f"{path}: unpacked, the file takes {expanded / GIGABYTE:.1f} GB, and at most "
            f"{limits.expanded / GIGABYTE:g} GB are opened here (--most-expanded); save the sheet as CSV"
        )
