"""Reading JSON and TOML documents of the program safely, after an editor, a crash or a stranger has changed them.

The result is plain values of the requested shape, without traps. There is no nesting that exhausts the stack, no
number beyond 128 bits, no NaN or infinity, no repeated key, no half of a surrogate pair. Otherwise one sentence names
the file, the place and the error. Code that uses the values therefore checks meanings, never types.

Also plain values for JSON: infinities as texts, numpy numbers as numbers; and back.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any

from sfumato.config.options import shortened
from sfumato.errors import BadInputError

DEEPEST = 100
"""The maximum nesting of a document; ours have fewer than ten levels, a hierarchy in nested lists some dozens."""

LARGEST_WHOLE = 2**128 - 1
"""The largest whole number: the state of a random generator has 128 bits."""

PLAIN_KEY = re.compile(r"[\w-]+")

Shape = Callable[[Any, str], None]
"""Raises ShapeError unless a value at a place of a document has the expected shape."""


class ShapeError(ValueError):
    """A value in a document has the wrong shape; the message has place and error, but not the file."""


@cache
def bundled_facts(name: str, folder: str = "data/files") -> Mapping[str, Any]:
    """Return bundled facts from a TOML file: names of columns, countries, schools, diagnoses."""
    return tomllib.loads((files("sfumato") / folder / f"{name}.toml").read_text(encoding="utf-8"))


# -- reading -----------------------------------------------------------------------------------------------


def read_text(path: Path) -> str:
    """Read a file of UTF-8 text, with or without a byte order mark."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise BadInputError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read ({error.strerror or error})") from None
    if not text.strip():
        raise BadInputError(f"{path}: the file is empty")
    return text


def read_json(path: Path, what: str, shape: Shape | None = None) -> Any:
    """Read a JSON file; `what` is its expected content, such as `a mapping`."""
    return parse_json(read_text(path), str(path), what, shape)


def parse_json(text: str, origin: str, what: str, shape: Shape | None = None) -> Any:
    """Parse a JSON text; `origin` is its file."""
    return _bordered(lambda: json.loads(text, object_pairs_hook=_object, parse_constant=_constant), origin, what, shape)


def parse_toml(text: str, origin: str) -> dict[str, Any]:
    """Parse a TOML text; `origin` is its file."""
    content: dict[str, Any] = _bordered(lambda: tomllib.loads(text), origin, "a readable TOML file", None)
    return content


def in_shape(content: Any, origin: str, what: str, shape: Shape) -> Any:
    """Return a part of a document if it has the expected shape."""
    return _bordered(lambda: content, origin, what, shape)


def _bordered(parse: Callable[[], Any], origin: str, what: str, shape: Shape | None) -> Any:
    """Parse and check a document; every error becomes one sentence."""
    try:
        content = parse()
        _check_plain(content)
        if shape is not None:
            shape(content, "")
        return content
    except RecursionError:
        reason = f"it is nested more than {DEEPEST} levels deep"
    except (ShapeError, json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        reason = str(error)
    except ValueError:  # Python refuses to parse whole numbers of more than 4,300 digits
        reason = "a whole number in it has thousands of digits"
    raise BadInputError(f"{origin}: not {what} ({reason})") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ShapeError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} appears twice")
    return content


def _constant(name: str) -> float:
    raise ShapeError(f"{name} is no number of JSON")


def _check_plain(content: Any) -> None:
    """Raise if a document has values that are not plain; without recursion."""
    _check_value(content, "the document")
    waiting = [(content, "", 1)] if isinstance(content, dict | list) else []
    while waiting:
        container, place, depth = waiting.pop()
        if depth > DEEPEST:
            raise ShapeError(f"it is nested more than {DEEPEST} levels deep")
        if isinstance(container, dict):
            for key in (key for key in container if not key.isascii()):
                _check_value(key, f"a key of {place or 'the document'}")
        for key, value in container.items() if isinstance(container, dict) else enumerate(container):
            if isinstance(value, dict | list):
                waiting.append((value, at(place, key), depth + 1))
            elif not _is_plain(value):
                _check_value(value, at(place, key))


def _is_plain(value: Any) -> bool:
    """Return quickly whether a value is harmless, as most are."""
    return (
        value.isascii()
        if isinstance(value, str)
        else isinstance(value, int | float) and -LARGEST_WHOLE <= value <= LARGEST_WHOLE
    )


def _check_value(value: Any, place: str) -> None:
    if isinstance(value, float) and not isfinite(value):
        raise ShapeError(f"{place} is not a finite number")
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        raise ShapeError(f"{place} is a whole number of more than 128 bits")
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise ShapeError(f"{place} has half of a surrogate pair, which is no character")


def at(place: str, key: str | int) -> str:
    """Return the name of a place inside a place: `points[3].measures`."""
    if isinstance(key, int):
        return f"{place}[{key}]"
    name = key if PLAIN_KEY.fullmatch(key) else shortened(key)
    return f"{place}.{name}" if place else name


@contextmanager
def named(origin: str) -> Iterator[None]:
    """Prepend the file to an error unless the sentence names it already."""
    try:
        yield
    except BadInputError as error:
        raise BadInputError(str(error) if str(error).startswith(origin) else f"{origin}: {error}") from None


# -- shapes ------------------------------------------------------------------------------------------------


def text(value: Any, place: str) -> None:
    """Require a text."""
    _want(isinstance(value, str), place, "a text", value)


def flag(value: Any, place: str) -> None:
    """Require true or false."""
    _want(isinstance(value, bool), place, "true or false", value)


def number(value: Any, place: str) -> None:
    """Require a number."""
    _want(isinstance(value, int | float) and not isinstance(value, bool), place, "a number", value)


def plain(value: Any, place: str) -> None:
    """Require a text, a number, true, false or null."""
    _want(value is None or isinstance(value, str | int | float), place, "a text or a number", value)


def number_or_infinity(value: Any, place: str) -> None:
    """Require a number, or an infinity as text."""
    if value not in ("inf", "-inf"):
        number(value, place)


def whole(least: int = 0, most: int = 2**63 - 1) -> Shape:
    """Require a whole number within bounds."""

    def shape(value: Any, place: str) -> None:
        good = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        _want(good, place, f"a whole number from {least:,} to {most:,}", value)

    return shape


def one_of(*choices: object) -> Shape:
    """Require one of some values."""

    def shape(value: Any, place: str) -> None:
        good = any(type(value) is type(choice) and value == choice for choice in choices)
        _want(good, place, " or ".join(map(repr, choices)), value)

    return shape


def optional(inner: Shape) -> Shape:
    """Require null, or a value of a shape."""

    def shape(value: Any, place: str) -> None:
        if value is not None:
            inner(value, place)

    return shape


def listed(inner: Shape, length: int | None = None, least: int = 0) -> Shape:
    """Require a list of values of one shape, optionally of a length or a least length."""
    wanted = f"a list of {length}" if length is not None else f"a list of at least {least}" if least else "a list"

    def shape(value: Any, place: str) -> None:
        good = isinstance(value, list) and length in (None, len(value)) and len(value) >= least
        _want(good, place, wanted, value)
        for index, item in enumerate(value):
            inner(item, f"{place}[{index}]")

    return shape


def mapped(inner: Shape) -> Shape:
    """Require an object whose values, under any keys, have one shape."""

    def shape(value: Any, place: str) -> None:
        _want(isinstance(value, dict), place, "an object", value)
        for key, item in value.items():
            inner(item, at(place, key))

    return shape


def together(*shapes: Shape) -> Shape:
    """Require several shapes at once."""

    def shape(value: Any, place: str) -> None:
        for inner in shapes:
            inner(value, place)

    return shape


def anything(value: Any, place: str) -> None:
    """Accept any value."""


def fields(needed: Mapping[str, Shape], further: Mapping[str, Shape] | None = None) -> Shape:
    """Require an object with some keys, each with its shape, and optional further ones; other keys are ignored."""

    def shape(value: Any, place: str) -> None:
        _want(isinstance(value, dict), place, "an object", value)
        for key, inner in needed.items():
            if key not in value:
                raise ShapeError(f"{at(place, key)} is missing")
            inner(value[key], at(place, key))
        for key, inner in (further or {}).items():
            if key in value:
                inner(value[key], at(place, key))

    return shape


def _want(good: bool, place: str, wanted: str, value: Any) -> None:
    if not good:
        raise ShapeError(f"{place or 'the document'} must be {wanted}, not {shortened(value)}")


def to_plain(value: Any) -> Any:
    """Return a value for JSON."""
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if type(value).__module__ == "numpy" and hasattr(value, "item"):  # a numpy number; numpy is not imported here
        value = value.item()
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return value


def from_plain(value: Any) -> Any:
    """Restore the infinities of measures."""
    if isinstance(value, dict):
        return {key: from_plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    return float(value) if value in ("inf", "-inf") else value


def json_text(content: dict[str, Any], schema: int = 1) -> str:
    """Return a JSON document, with its schema version first."""
    plain = {"schema": schema, **to_plain(content)}
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
