"""Files of spreadsheets and statistics programs, read as texts.

Sheets of Excel and LibreOffice are read by python-calamine, imported at its first use. A formula has the value of the
last save.

Files of SPSS, Stata and SAS are read by pyreadstat, which is imported at its first use and not part of a plain
installation. Values are read by their labels, user-missing values as missing, with the labels of columns.
"""

import datetime
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.engines._headers import LOOKED_AT, check_header_row, find_header, header_of, name_titles
from sfumato.engines.protocol import Reading
from sfumato.runtime.memory import check_expanded
from sfumato.texts.catalogue import counted, refusal, t

SHEETS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
UNSAVED = re.compile(rb"(?:</f>|<f[^>]*/>)\s*(?:<v\s*/>|<v></v>)?\s*</c>")
"""A cell of a sheet with a formula and no value."""


def read_sheet(path: Path, reading: Reading) -> tuple[pa.Table, tuple[str, ...]]:
    """Read a sheet of a workbook as texts, with notices."""
    check_expanded(path)
    workbook = _opened(path)
    name, notices = _chosen(path, workbook.sheet_names, reading.sheet)
    sheet = workbook.get_sheet_by_name(name)
    cells = [[cell_text(value) for value in row] for row in sheet.to_python(skip_empty_area=True)]
    before = 0 if sheet.start is None else sheet.start[0]
    origin = f"{path}, sheet {name!r}"
    header_place = _header_place(origin, cells, before, reading)
    if header_place:
        notices.append(name_titles(origin, cells[:header_place], before + header_place + 1))
    elif before and reading.header_row is None:
        notices.append(t("notice.above_first", origin=origin, before=before))
    cells = cells[header_place:]
    full = [any(cell is not None for cell in row) for row in cells]
    rows = [row for row, holds in zip(cells, full, strict=True) if holds]
    if not rows:
        raise refusal("sheet_empty", path=path, name=name)
    if len(rows) < len(cells):
        notices.append(f"{origin}: {counted(len(cells) - len(rows), 'empty row')} left out")
    texts = [[cell or "" for cell in row] for row in rows[: LOOKED_AT + 1]]
    header = header_of(origin, texts, reading.header, reading.columns, reading.settles)
    body = rows[1:] if header.stands else rows
    columns = [pa.array([row[i] for row in body], pa.string()) for i in range(len(header.names))]
    return pa.table(columns, names=list(header.names)), (*notices, *header.notices, *_unsaved(path))


def _header_place(origin: str, cells: Sequence[Sequence[str | None]], before: int, reading: Reading) -> int:
    """Return the row with the names of the columns: the given one, or the first below titles."""
    check_header_row(reading)
    if reading.header_row is not None:
        place = reading.header_row - 1 - before
        if not 0 <= place < len(cells):
            raise refusal("row_empty", origin=origin, header_row=reading.header_row)
        return place
    if reading.header is False or reading.columns:
        return 0
    return find_header(cells[:LOOKED_AT])


def _unsaved(path: Path) -> list[str]:
    """Report formulas whose values were never computed; programs other than Excel write such files."""
    if not zipfile.is_zipfile(path):
        return []
    with zipfile.ZipFile(path) as parts:
        sheets = [parts.read(name) for name in parts.namelist() if name.startswith("xl/worksheets/")]
    number = sum(len(UNSAVED.findall(content)) for content in sheets)
    if not number:
        return []
    return [t("engines.formulas_without_value", path=path, number=number)]


def _opened(path: Path) -> Any:
    import python_calamine

    try:
        return python_calamine.CalamineWorkbook.from_path(str(path))
    except Exception as error:  # of several kinds, all about the file
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise refusal("file_cannot_read_workbook", path=path, first=first) from None


def _chosen(path: Path, sheets: Sequence[str], wanted: str | None) -> tuple[str, list[str]]:
    """Return the name of the sheet to read: the given one, or the first."""
    listed = ", ".join(map(repr, sheets))
    if wanted is None:
        said = t("notice.sheet_read", path=path, sheets=sheets[0], sheets_2=len(sheets), listed=listed)
        return sheets[0], [said] if len(sheets) > 1 else []
    if wanted not in sheets:
        raise refusal("no_sheet", path=path, wanted=wanted, listed=listed)
    return wanted, []


LABELLED = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""Extensions of such files, with the functions of pyreadstat."""

MOST_SHOWN = 8


def read_labelled(path: Path) -> tuple[pa.Table, tuple[str, ...]]:
    """Read a file of a statistics program as texts, with the labels of its columns as notices."""
    try:
        import pyreadstat
    except ImportError:
        raise refusal("engines.needs_pyreadstat", path=path) from None
    try:
        columns, about = getattr(pyreadstat, LABELLED[path.suffix.lower()])(str(path), output_format="dict")
    except Exception as error:  # pyreadstat and its parser have errors of several kinds, all about the file
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise refusal("file_cannot_read", path=path, first=first) from None
    labels = about.variable_value_labels
    texts = {name: _texts(values, labels.get(name, {})) for name, values in columns.items()}
    content = pa.table([pa.array(values, pa.string()) for values in texts.values()], names=list(texts))
    named = {name: label for name, label in zip(about.column_names, about.column_labels, strict=True) if label}
    return content, tuple(_notices(path, named, [name for name in columns if labels.get(name)]))


def _texts(values: Sequence[Any], labels: Mapping[Any, str]) -> list[str | None]:
    """Return values as texts: by their labels, if any."""
    known = {_key(value): label for value, label in labels.items()}
    return [known.get(_key(value)) or cell_text(value) for value in values]


def _key(value: Any) -> Any:
    return float(value) if isinstance(value, int | float) else value


def cell_text(value: Any) -> str | None:
    """Return the value of a cell as in a text file; None if it is missing."""
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(float(value))
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        return value.date().isoformat() if midnight else value.isoformat(" ", "seconds")
    return str(value)


def _notices(path: Path, named: Mapping[str, str], labelled: Sequence[str]) -> list[str]:
    notices = []
    if named:
        told = "; ".join(f"{name!r}: {label}" for name, label in [*named.items()][:MOST_SHOWN])
        more = f"; and {len(named) - MOST_SHOWN} more" if len(named) > MOST_SHOWN else ""
        notices.append(t("notice.file_says_columns", path=path, told=told, more=more))
    if labelled:
        told = ", ".join(map(repr, labelled[:MOST_SHOWN]))
        notices.append(t("notice.values_read_labels", path=path, told=told))
    return notices
