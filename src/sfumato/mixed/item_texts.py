"""Sets of items that stand in one field: separated, as a JSON list, or as DuckDB writes a list column.

What a record's field holds crosses the border as one text, like every other value; here it becomes its items again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence

from sfumato.engines.items.files import separator_of, split_line
from sfumato.errors import BadInputError

ELEMENT = re.compile(r"\s*(?:'(?P<quoted>(?:[^'\\]|\\.)*)'|(?P<plain>[^,]*))\s*(?:,|$)", re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)

Split = Callable[[str], list[str | None]]
"""Takes a field apart; None is an item that is missing."""


def engine_list(text: str) -> list[str | None]:
    r"""Take a list apart that DuckDB wrote as text.

    >>> engine_list("[a, 'b, c', 'it\\'s', NULL, 'NULL']")
    ['a', 'b, c', "it's", None, 'NULL']
    >>> engine_list("[]")
    []
    """
    inner, items, position = text[1:-1], list[str | None](), 0
    while position < len(inner):
        match = ELEMENT.match(inner, position)
        assert match is not None, "DuckDB writes no other lists"
        if match["quoted"] is not None:
            items.append(ESCAPED.sub(r"\1", match["quoted"]))
        else:
            items.append(None if match["plain"] == "NULL" else match["plain"])
        position = match.end()
    return items


def json_list(text: str) -> list[str | None]:
    """Take a JSON list apart.

    >>> json_list('["a", 1, null]')
    ['a', '1', None]
    """
    values = json.loads(text, parse_int=str, parse_float=str)
    return [None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values]


def splitter(texts: Iterable[str | None], separator: str | None, is_list: bool) -> tuple[Split, str]:
    """Find out how the fields of a column are taken apart; say it in words, too.

    A column of lists is one; texts that are all JSON lists are; all others are separated, by what is given or found.
    """
    if is_list:
        return engine_list, "lists"
    present = [text for text in texts if text is not None and text.strip()]
    if separator is None and present and all(map(_is_json_list, present)):
        return json_list, "lists"
    if separator is not None and len(separator) != 1:
        raise BadInputError(f"a separator is one character, not {separator!r}")
    mark = separator or _separator(present)
    return lambda text: list(split_line(text, mark)), f"items separated by {mark!r}"


def _separator(texts: Sequence[str]) -> str:
    """Find what separates items; a mark between quotes separates nothing."""
    return separator_of([re.sub(r'"(?:[^"]|"")*"', "", text) for text in texts])


def _is_json_list(text: str) -> bool:
    if not text.lstrip().startswith("["):
        return False
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False
