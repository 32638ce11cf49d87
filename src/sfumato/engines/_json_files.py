"""JSON files as columns of text: every number is unchanged, because a reader of the file sees it so.

`1`, `1.0` and `1e0` are three texts, and so are two whole numbers with equal floating point values. A text has no
quotes, unless its column also contains a number, `true` or `false` that looks the same; then all texts of that column
keep them. `null` and an absent key are a missing value; lists and objects are compact JSON. If lists are requested, the
same rules apply to their elements.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from sfumato.engines._headers import checked_header
from sfumato.engines._text_files import opened_text
from sfumato.texts.catalogue import refusal

LIST = "json"
"""The name of the column of lists in a file of lists without objects."""

ARRAY = {False: re.compile(r"\["), True: re.compile(r"\[(?=\s*[\[{])")}
"""The beginning of a file that is one array of records; if lists are requested, any other list is a record."""

CHUNK = 1 << 20
"""The number of characters read at a time."""


class Token(str):
    """A value without quotes: a number, `true`, `false`, or a whole list or object."""


class KeyValues(list[tuple[str, Any]]):
    """The keys of an object with their values, in order, also where a key appears twice."""


def json_texts(path: Path) -> pa.Table:
    """Read the objects of a JSON file: one array of them, or one after another."""
    columns = _columns(path, lambda pairs: [(name, _text(value)) for name, value in pairs])
    with _valid(path):
        return pa.table({name: _column(values) for name, values in columns.items()})


def json_lists(path: Path) -> pa.Table:
    """Read the columns of a JSON file that contain only lists of texts; the others have no values.

    Lists may also occur without objects: in one array, or one after another.
    """
    columns = _columns(path, lambda pairs: pairs, lists=True)
    with _valid(path):
        return pa.table(
            {
                name: _list_column(values) if _are_lists(values) else pa.nulls(len(values))
                for name, values in columns.items()
            }
        )


def _are_lists(values: list[Any]) -> bool:
    return all(value is None or _is_list(value) for value in values) and any(value is not None for value in values)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and not isinstance(value, KeyValues)


def _list_column(lists: list[list[Any] | None]) -> pa.Array:
    texts = iter(_column([_text(value) for values in lists for value in values or ()]).to_pylist())
    column = [None if values is None else [next(texts) for _ in values] for values in lists]
    return pa.array(column, pa.list_(pa.string()))


def _columns(path: Path, of: Callable[[KeyValues], list[tuple[str, Any]]], lists: bool = False) -> dict[str, list[Any]]:
    """Collect the values of all objects by their keys; `of` selects the values of an object."""
    columns: dict[str, list[Any]] = {}
    number = 0
    try:
        with opened_text(path, "utf-8") as stream:
            for number, record in enumerate(_records(stream, path, ARRAY[lists]), start=1):
                pairs = KeyValues([(LIST, record)]) if lists and _is_list(record) else record
                if not isinstance(pairs, KeyValues):
                    raise refusal("engines.no_json_object", path=path, number=number)
                _add(columns, of(pairs), number, path)
    except RecursionError:
        raise refusal("nested_too_deeply", path=path, number=number + 1) from None
    checked_header(str(path), tuple(columns))
    for values in columns.values():
        values.extend([None] * (number - len(values)))
    return columns


def _add(columns: dict[str, list[Any]], pairs: list[tuple[str, Any]], number: int, path: Path) -> None:
    """Append one object's values to those of the earlier objects."""
    for name, value in pairs:
        column = columns.setdefault(name, [])
        if len(column) == number:
            raise refusal("key_stands_twice", path=path, number=number, name=name)
        column.extend([None] * (number - 1 - len(column)))
        column.append(value)


@contextmanager
def _valid(path: Path) -> Iterator[None]:
    """Turn invalid Unicode into a sentence."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise refusal("text_no_valid_unicode", path=path, reason=error.reason) from None


def _records(stream: IO[str], path: Path, array: re.Pattern[str]) -> Iterator[Any]:
    """Decode one record after the other; a record cut at the end of a chunk is tried again with the next chunk."""
    decoder = json.JSONDecoder(
        parse_float=Token, parse_int=Token, parse_constant=Token, object_pairs_hook=KeyValues, strict=False
    )
    text = stream.read(CHUNK).lstrip()
    in_array = array.match(text) is not None
    position, ended = int(in_array), False
    while True:
        position = _skipped(text, position, ", \t\r\n" if in_array else " \t\r\n")
        if in_array and text.startswith("]", position):
            in_array, ended, position = False, True, position + 1
            continue
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            more = stream.read(max(CHUNK, len(text) - position))
            if more:
                text, position = text[position:] + more, 0
                continue
            if position == len(text) and not in_array:
                return
            raise refusal("file_no_json_near", path=path, msg=error.msg, text=text[position : position + 20]) from None
        if ended:
            raise refusal("file_no_json", path=path)
        yield value


def _skipped(text: str, position: int, blanks: str) -> int:
    while position < len(text) and text[position] in blanks:
        position += 1
    return position


def _text(value: Any) -> str | None:
    """Return a value as written; its type distinguishes a text from all else."""
    return value if value is None or type(value) is str else Token(_token(value))


def _token(value: Any) -> str:
    """Return a value that is no text: a number as written, a list or an object without blanks."""
    if isinstance(value, Token):
        return value
    if isinstance(value, KeyValues):
        return "{" + ",".join(f"{_quoted(key)}:{_token(member)}" for key, member in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_token, value)) + "]"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _column(values: list[str | None]) -> pa.Array:
    """Return a column as text, its texts in quotes if one of them looks like another value in it."""
    tokens = {str(value) for value in values if isinstance(value, Token)}
    alike = tokens and any(value in tokens for value in values if type(value) is str)
    if alike:
        values = [_quoted(value) if type(value) is str else value for value in values]
    return pa.array(values, pa.string())
