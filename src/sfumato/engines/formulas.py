"""Cells that a spreadsheet would run as a formula, and how they are written so that it does not: with `'` in front.

A cell that has `'` in front of a formula already gets one more, so two values never become one and every cell can be
read back. Numbers with a sign and ranges of them (`-5..-1`, `-0.5..<0`, `-5+`) are no formulas.
"""

import csv
import re
from collections.abc import Iterable
from pathlib import Path

from sfumato.engines._text_files import csv_line, wide_fields
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import t

NUMBER = r"(?:[0-9][0-9.,]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?%?"
BEGINNING = r"(?:[=@\t\r\n]|[+-].)(?s:.*)"
HARMLESS = rf"[+-]{NUMBER}(?:\+|\.\.<?[+-]?{NUMBER})?"
MARK = "'"

_BEGINNING, _HARMLESS = re.compile(BEGINNING), re.compile(HARMLESS)


def is_formula(text: str) -> bool:
    """Say whether a spreadsheet would run a cell with this text."""
    return _BEGINNING.fullmatch(text) is not None and _HARMLESS.fullmatch(text) is None


def escaped(text: str) -> str:
    """Write a cell so that it is not run."""
    return MARK + text if is_formula(text.lstrip(MARK)) else text


def unescaped(text: str) -> str:
    """Read a cell that `escaped` wrote."""
    return text[1:] if text[:1] == MARK and is_formula(text.lstrip(MARK)) else text


def check_escaping(escape: bool, path: Path, format: str) -> None:
    """Raise where cells shall be escaped that no spreadsheet runs."""
    if escape and format != "csv":
        raise BadInputError(f"{path}: --escape-formulas is about CSV, of which spreadsheets run cells; leave it out")


def escape_file(path: Path) -> None:
    """Escape every cell of a CSV file of our own, the header's too."""
    copy = path.with_name(f"{path.name}.escaped")
    try:
        with (
            wide_fields(),
            path.open(encoding="utf-8", newline="") as source,
            copy.open("w", encoding="utf-8", newline="") as target,
        ):
            target.writelines(csv_line([escaped(cell) for cell in row]) for row in csv.reader(source))
        copy.replace(path)
    finally:
        copy.unlink(missing_ok=True)


def formula_items(rows: Iterable[Iterable[str]], escape: bool = False) -> dict[str, int]:
    """Count the formulas among the cells of rows that have no columns, or the cells to escape."""
    number = sum(escaped(cell) != cell if escape else is_formula(cell) for row in rows for cell in row)
    return {"items": number} if number else {}


def formula_notice(cells: dict[str, int], escape: bool) -> list[str]:
    """Say which columns have formulas and how many; nothing where there are none."""
    if not cells:
        return []
    where = ", ".join(f"{name!r} {number:,}" for name, number in cells.items())
    if escape:
        return [t("engines.escaped_formulas", where=where)]
    return [t("engines.formulas", where=where)]
