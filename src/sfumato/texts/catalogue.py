"""The catalogue of all texts for people by id, so that they can be rewritten and translated: `en/*.toml`.

Code computes values and names a text: `t("run.of", done=3, total=20, unit="releases")`. Templates do the same; scripts
use `texts["columns.title"]`, and those that draw releases `w("frontier")` for `drawing.frontier`. A parameter is one of
`str.format`. Its format may also be a name of `FORMATS` (`{share:percent}`) or singular and plural (`{count:is/are}`).
Numbers, counts and lists have the same format in all sentences.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from math import ceil, isfinite
from string import Formatter
from textwrap import fill
from typing import Any

from sfumato.errors import BadInputError


def counted(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "record"), counted(2000, "record"), counted(2, "query", "queries")
    ('1 record', '2,000 records', '2 queries')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(parts: Iterable[object]) -> str:
    """Join parts with commas and "and".

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    *others, last = [str(part) for part in parts] or [""]
    return t("list.and", others=", ".join(others), last=last) if others else last


def either(parts: Iterable[object]) -> str:
    """Join alternatives with commas and "or".

    >>> either(["a", "b", "c"]), either(["a"])
    ('a, b or c', 'a')
    """
    *others, last = [str(part) for part in parts] or [""]
    return t("list.or", others=", ".join(others), last=last) if others else last


SMALLEST = 1e-12
"""Values closer to zero are written as 0."""


def ended(sentence: str) -> str:
    """Add a full stop to a sentence unless its last word, such as a column name, ends with one.

    >>> ended("It shows sex"), ended("It shows Geschl.")
    ('It shows sex.', 'It shows Geschl.')
    """
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def number(value: float, digits: int = 4) -> str:
    """Format a number for people.

    >>> number(45222), number(0.0123456), number(0.00004524), number(float("inf")), number(2e-16)
    ('45,222', '0.01235', '0.00004524', 'infinite', '0')
    """
    if not isfinite(value):
        return "infinite" if value > 0 else "minus infinite"
    if abs(value) < SMALLEST:
        return "0"
    if float(value).is_integer():
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.{digits}g}"
    text = f"{value:.{digits}g}"
    return f"{Decimal(text):f}" if "e-0" in text else text


def percent(share: float, digits: int | None = None) -> str:
    """Format a share: a set one with at most `digits` digits, a measured one with one decimal.

    A measured share gets more decimals if it would otherwise look like none or all.

    >>> percent(0.05, 3), percent(0.82363), percent(0.0001), percent(0.9996), percent(0), percent(-0.25)
    ('5 %', '82.4 %', '0.01 %', '99.96 %', '0.0 %', '-25.0 %')
    """
    if digits is not None:
        return f"{100 * share:.{digits}g} %"
    if share <= -1e-6:
        return f"-{percent(-share)}"
    for places in (1, 2, 3, 4):
        rounded = round(100 * share, places)
        if round(share, 12) in (0, 1) or 0 < rounded < 100:
            return f"{abs(rounded):.{places}f} %"
    return "less than 0.0001 %" if share < 0.5 else "more than 99.999 %"


def worst_share(share: float) -> str:
    """Format the share of a worst case: never rounded down, and "100.0 %" only if it is exact.

    >>> worst_share(0.9621), worst_share(0.99996), worst_share(1.0)
    ('96.3 %', '99.996 %', '100.0 %')
    """
    for places in (1, 2, 3, 4):
        rounded = ceil(100 * share * 10**places - 1e-6) / 10**places
        if rounded < 100 or share >= 1:
            return f"{rounded:.{places}f} %"
    return "nearly 100 %"


def wrapped(sentence: str, mark: str = "", width: int = 110) -> str:
    """Break a sentence into lines for the terminal, indented after a mark."""
    start = f"  {mark}"
    return fill(sentence, width, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False)


def section(title: str, sentences: Iterable[str]) -> Iterator[str]:
    """Return a title with its wrapped sentences; nothing if there are none."""
    if texts := list(sentences):
        yield f"\n{title}:"
        yield from (wrapped(text, "- ") for text in texts)


def signed(difference: float) -> str:
    """Format a difference of accuracies in percentage points with its sign; a nonzero one never looks like zero.

    >>> signed(0.0235), signed(-0.00012), signed(0.0)
    ('+2.4', '-0.01', '0')
    """
    value = 100 * difference
    if abs(value) < 1e-9:
        return "0"
    return f"{value:+.1f}" if abs(value) >= 0.05 else f"{value:+.1g}"


def unsigned(difference: float) -> str:
    """Format a difference of accuracies in percentage points, with a sign only if negative."""
    return signed(difference).removeprefix("+")


LANGUAGE = "en"
FORMATS: Mapping[str, Callable[[Any], str]] = {
    "percent": percent,
    "percent3": lambda share: percent(share, 3),
    "number": number,
    "listed": listed,
    "either": either,
}
"""The formats of values besides Python's, by name."""


class _Places(Formatter):
    """Fills in parameters."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format a value by one of our formats, or by Python's."""
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
    """Return a text with its parameters filled in.

    >>> t("sentence.of_records", records=45222, share=0.125), t("sentence.is_are", count=1)
    (' of 45,222 (12.5 %)', 'is')
    """
    return PLACES.vformat(texts()[id], (), places)


def refusal(id: str, /, **places: Any) -> BadInputError:
    """Return an error for bad input; `refusal("no_engine", ...)` is short for the text `refusal.no_engine`."""
    return BadInputError(t(id if "." in id else f"refusal.{id}", **places))
