"""What a certificate says of cells that a spreadsheet would run as formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.engines import open_rows
from sfumato.engines.formulas import MARK, formula_notice, is_formula, unescaped
from sfumato.engines.protocol import OWN_FILE
from sfumato.release import format_of

FLAG = "--escaped-formulas"
VERB = 3
"""The words of a command to check a file before its options: `sfumato audit FILE`."""


def written_formulas(drafts: list[Path], escape: bool) -> dict[str, int]:
    """Count the formulas in every column of what was written that has any, the name of the column among them.

    `escape` says that they were escaped. Parquet is nothing that a spreadsheet runs.
    """
    cells: dict[str, int] = {}
    for draft in drafts:
        if format_of(draft) == "csv":
            rows = open_rows(draft, replace(OWN_FILE, as_it_stands=True))
            for name in rows.columns:
                texts = rows.distinct(name)
                pairs = zip(texts.values, texts.counts.tolist(), strict=True)
                number = sum(count for text, count in pairs if text is not None and _runs(text, escape))
                if number + _runs(name, escape):
                    cells[unescaped(name) if escape else name] = number + _runs(name, escape)
    return cells


def _runs(text: str, escape: bool) -> bool:
    """Say whether a spreadsheet would run a cell, or would but for the mark in front of it."""
    return text[:1] == MARK and is_formula(text.lstrip(MARK)) if escape else is_formula(text)


def note_formulas(content: dict[str, Any], cells: Mapping[str, int], escape: bool) -> None:
    """Say in a certificate how formulas were written, and how to read the file back."""
    notice = formula_notice(dict(cells), escape)
    content["formulas"] = {"escaped": escape, "cells": dict(cells)}
    content["warnings"] = [
        *content["warnings"],
        *({"about": "Formulas", "text": f"{sentence}."} for sentence in notice),
    ]
    if escape:
        content["verify"] = [*content["verify"][:VERB], FLAG, *content["verify"][VERB:]]
