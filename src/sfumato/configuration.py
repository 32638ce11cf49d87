"""Objects that are their configuration: frozen dataclasses with a text form that parses and prints back.

`k-anonymity k=10`, `l-diversity l=3 variant=distinct on="marital status"`, `mondrian mode=relaxed`: a name, then
keys with values. A value with blanks or quotes stands in double quotes, inner quotes doubled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import MISSING, Field, fields
from typing import Any, ClassVar, TypeVar

from sfumato.errors import BadInputError

TOKEN = re.compile(
    r"""\s*(?:(?P<key>[A-Za-z_][\w-]*)\s*=\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^\s"]+)))(?=\s|$)"""
)
LARGEST = 1e300
"""No parameter is larger: kernels read parameters as floating-point numbers."""

OPTION = re.compile(r'[^\s"]+(?:"(?:[^"]|"")*")?')
"""The name or one option of a configuration; a value in quotes may hold blanks."""

SEED = re.compile(r"seed=\d+")
PLAIN = re.compile(r"""[^\s"=&]+""")


class Configured:
    """Base of requirements and anonymizers: a frozen dataclass that prints as what a person would type."""

    name: ClassVar[str]
    example: ClassVar[str | None] = None
    """What to type, where that is not plain from the keys."""

    def __str__(self) -> str:
        parts = [self.name]
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.default is MISSING or value != field.default:
                parts.append(f"{field.name.replace('_', '-')}={value_text(value)}")
        return " ".join(parts)


Kind = TypeVar("Kind", bound=Configured)


def parse(text: str, kinds: Iterable[type[Kind]], what: str) -> Kind:
    """Make the configured object that a text describes; unknown names and keys are errors that list the known."""
    known = {kind.name: kind for kind in kinds}
    name, rest = [*text.split(None, 1), "", ""][:2]
    if name not in known:
        raise BadInputError(f"unknown {what} {name!r}; known are {', '.join(known)}")
    kind = known[name]
    allowed = {field.name.replace("_", "-"): field for field in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in _tokens(text, rest):
        if key not in allowed:
            listed = ", ".join(allowed) or "none"
            raise BadInputError(f"{what} {text.strip()!r}: unknown key {key!r}; the keys of {name} are: {listed}")
        if allowed[key].name in values:
            raise BadInputError(f"{what} {text.strip()!r}: the key {key!r} stands twice")
        values[allowed[key].name] = _read(text.strip(), allowed[key], value)
    lacking = [key for key, field in allowed.items() if field.default is MISSING and field.name not in values]
    if lacking:
        example = kind.example or f"{name} " + " ".join(f"{key}=..." for key in lacking)
        raise BadInputError(f"{what} {text.strip()!r}: {lacking[0]} is not given; write {example}")
    return kind(**values)


def _tokens(text: str, rest: str) -> list[tuple[str, str]]:
    found, position = [], 0
    while rest[position:].strip():
        match = TOKEN.match(rest, position)
        if match is None:
            raise BadInputError(f"{text.strip()!r}: cannot read {rest[position:].strip()!r}; write key=value")
        quoted = match["quoted"]
        found.append((match["key"], match["plain"] if quoted is None else quoted.replace('""', '"')))
        position = match.end()
    return found


def _read(text: str, field: Field[Any], value: str) -> Any:
    """Read a value by the type of its field: whole numbers, numbers, or text."""
    kind = str(field.type)
    try:
        if kind.startswith("int"):
            return int(value)
        if kind.startswith("float"):
            return float(value)
    except ValueError:
        wanted = "a whole number" if kind.startswith("int") else "a number"
        raise BadInputError(f"{text!r}: {field.name} must be {wanted}, not {value!r}") from None
    return value


def value_text(value: object) -> str:
    """Write a value as it stands behind its key, in quotes where it needs them."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    return text if PLAIN.fullmatch(text) else '"' + text.replace('"', '""') + '"'


def without_seed(text: str) -> str:
    """Leave a number called seed out of a configuration's text: with it a release could be made again.

    >>> without_seed('mondrian mode=relaxed seed=7 target="a seed=7"')
    'mondrian mode=relaxed target="a seed=7"'
    """
    name, *options = [found.group() for found in OPTION.finditer(text)]
    return " ".join([name, *(option for option in options if not SEED.fullmatch(option))])


def split_outside_quotes(text: str, separator: str) -> list[str]:
    """Split a text at a one-character separator that does not stand between double quotes."""
    parts, current, quoted = [], "", False
    for character in text:
        quoted ^= character == '"'
        if character == separator and not quoted:
            parts.append(current)
            current = ""
        else:
            current += character
    return [*parts, current]


def check_number(name: str, value: object, *, least: float, strict: bool = False, most: float = math.inf) -> None:
    """Raise unless the value is a finite number within its bounds."""
    good = False
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST:
        good = (value > least if strict else value >= least) and value <= most
    if not good:
        bound = f"more than {least:g}" if strict else f"at least {least:g}"
        limit = "" if most == math.inf else f" and at most {most:g}"
        raise BadInputError(f"{name} must be a number of {bound}{limit}, not {shortened(value)}")


def check_whole(name: str, value: object, *, least: int) -> None:
    """Raise unless the value is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
        raise BadInputError(f"{name} must be a whole number of at least {least}, not {shortened(value)}")


def shortened(value: object) -> str:
    """Show a value in a message, shortened."""
    try:
        text = repr(value)
    except ValueError:  # a whole number with thousands of digits
        return "a number with thousands of digits"
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise unless the value is one of the choices."""
    allowed = list(choices)
    if value not in allowed:
        raise BadInputError(f"{name} must be one of {', '.join(allowed)}, not {shortened(value)}")
