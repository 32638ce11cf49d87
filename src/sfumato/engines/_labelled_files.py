"""Files of SPSS, Stata and SAS: values by their labels, user-missing values missing, labels of columns told.

They are read by pyreadstat, which is imported when such a file is, and is no part of a plain installation.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import BadInputError

LABELLED = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""How the names of such files end, and pyreadstat's word for each."""

MOST_SHOWN = 8


def read_labelled(path: Path) -> tuple[pa.Table, tuple[str, ...]]:
    """Read a file of a statistics program as texts, and say what its columns are called at length."""
    try:
        import pyreadstat
    except ImportError:
        raise BadInputError(
            f"{path}: reading files of SPSS, Stata and SAS needs pyreadstat: pip install 'sfumato[stats]'"
        ) from None
    try:
        columns, about = getattr(pyreadstat, LABELLED[path.suffix.lower()])(str(path), output_format="dict")
    except Exception as error:  # pyreadstat and its parser have errors of several kinds, all about the file
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInputError(f"{path}: the file cannot be read ({first})") from None
    labels = about.variable_value_labels
    texts = {name: _texts(values, labels.get(name, {})) for name, values in columns.items()}
    content = pa.table([pa.array(values, pa.string()) for values in texts.values()], names=list(texts))
    named = {name: label for name, label in zip(about.column_names, about.column_labels, strict=True) if label}
    return content, tuple(_notices(path, named, [name for name in columns if labels.get(name)]))


def _texts(values: Sequence[Any], labels: Mapping[Any, str]) -> list[str | None]:
    """Write values as texts: by their labels, where they have any."""
    known = {_key(value): label for value, label in labels.items()}
    return [known.get(_key(value)) or cell_text(value) for value in values]


def _key(value: Any) -> Any:
    return float(value) if isinstance(value, int | float) else value


def cell_text(value: Any) -> str | None:
    """Write the value of a cell as it would stand in a text file; None where it is missing."""
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
        notices.append(f"{path}: the file says of its columns: {told}{more}")
    if labelled:
        told = ", ".join(map(repr, labelled[:MOST_SHOWN]))
        notices.append(f"{path}: values are read by their labels in {told}")
    return notices
