"""Every text for people by its id, so that it can be rewritten and translated: `en/*.toml`.

Code computes values and names a text: `t("run.of", done=3, total=20, unit="releases")`. Templates do the same, scripts
read `texts["columns.title"]`, those that draw releases `w("frontier")` for `drawing.frontier`. A place is one of
`str.format`, whose format may also be a name of `FORMATS` (`{share:percent}`) or a form for one and one for many
(`{count:is/are}`).
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any

from sfumato.errors import BadInputError
from sfumato.texts.format import either, listed, number, percent

LANGUAGE = "en"
FORMATS: Mapping[str, Callable[[Any], str]] = {
    "percent": percent,
    "percent3": lambda share: percent(share, 3),
    "number": number,
    "listed": listed,
    "either": either,
}
"""By name, how values are written beyond what Python knows."""


class _Places(Formatter):
    """Fills in places."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Write a value by a format of ours, or by Python's."""
        one, slash, many = format_spec.partition("/")
        if slash:
            return one if value == 1 else many
        return FORMATS[format_spec](value) if format_spec in FORMATS else str(format(value, format_spec))


PLACES = _Places()


@cache
def texts(file: str = "*", language: str = LANGUAGE) -> Mapping[str, str]:
    """Return the texts of a file, or of all, by their ids."""
    folder = files("sfumato.texts") / language
    found = [each for each in folder.iterdir() if each.name == f"{file}.toml" or file == "*"]
    return {id: text for each in found for id, text in _flat(tomllib.loads(each.read_text(encoding="utf-8")))}


def _flat(entries: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, entry in entries.items():
        if isinstance(entry, str):
            yield f"{above}{name}", entry
        else:
            yield from _flat(entry, f"{above}{name}.")


def drawing_texts() -> Mapping[str, str]:
    """Return the texts of the scripts that draw maps and releases."""
    return {name: text for name, text in texts("pages").items() if name.startswith("drawing.")}


def t(id: str, /, **places: Any) -> str:
    """Return a text with its places filled in.

    >>> t("sentence.of_records", records=45222, share=0.125), t("sentence.is_are", count=1)
    (' of 45,222 (12.5 %)', 'is')
    """
    return PLACES.vformat(texts()[id], (), places)


def refusal(id: str, /, **places: Any) -> BadInputError:
    """Return the error that refuses what somebody asked for: its text says what, why, and the remedy."""
    return BadInputError(t(f"refusal.{id}", **places))
