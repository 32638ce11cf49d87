"""What a certificate says of cells that a spreadsheet would run as formulas."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.engines.formulas import formula_cells, formula_notice
from sfumato.release import format_of

FLAG = "--escaped-formulas"
VERB = 3
"""The words of a command to check a file before its options: `sfumato audit FILE`."""


def written_formulas(drafts: list[Path], escape: bool) -> dict[str, int]:
    """Count the formulas in the columns of what was written; Parquet is nothing that a spreadsheet runs."""
    cells: dict[str, int] = {}
    for draft in drafts:
        if format_of(draft) == "csv":
            cells |= formula_cells(draft, escape)
    return cells


def note_formulas(content: dict[str, Any], cells: Mapping[str, int], escape: bool) -> None:
    """Say in a certificate how formulas were written, and how to read the file back."""
    notice = formula_notice(dict(cells), escape)
    content["formulas"] = {"escaped": escape, "cells": dict(cells)}
    content["warnings"] = [*content["warnings"], *({"about": "Formulas", "text": f"{own}."} for own in notice)]
    if escape:
        content["verify"] = [*content["verify"][:VERB], FLAG, *content["verify"][VERB:]]
