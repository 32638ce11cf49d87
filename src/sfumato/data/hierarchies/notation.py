"""The notation of published values: a number, a day, a range `20-29`, a set `{a, b}`."""

import datetime
import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal

DAY = re.compile(r"(\d{4}-\d{2}-\d{2})([ T]\d{2}:\d{2}.*)?")
DOTTED_DAY = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", re.ASCII)


def stretch_notations(first: str, last: str, whole_numbers: bool, half_open: bool) -> list[str]:
    """Return the notations of an interval from first to last (excluded if half-open), the preferred one first."""
    if half_open:
        return [f"{first}..<{last}"]
    return [f"{first}-{last}", f"{first}..{last}"] if whole_numbers else [f"{first}..{last}"]


def write_number(value: float) -> str:
    """Return the shortest text of a number that is parsed to the same value, never with an exponent."""
    if float(value).is_integer():
        return str(int(value))
    return format(Decimal(repr(float(value))), "f")


def read_number(text: str) -> float:
    """Parse a number; NaN for other texts."""
    try:
        return float(text) if "_" not in text else float("nan")
    except ValueError:
        return float("nan")


def write_date(ordinal: float) -> str:
    """Return a day, given as its ordinal, in ISO format."""
    return datetime.date.fromordinal(int(ordinal)).isoformat()


def read_date(text: str) -> float:
    """Parse the day of an ISO date or timestamp, or of 31.12.1999, as its ordinal; NaN for other texts."""
    match = DAY.fullmatch(text.strip())
    dotted = DOTTED_DAY.fullmatch(text.strip())
    try:
        if dotted:  # with dots the day always comes first; with slashes the order is ambiguous
            return float(datetime.date(int(dotted[3]), int(dotted[2]), int(dotted[1])).toordinal())
        return float(datetime.date.fromisoformat(match[1]).toordinal()) if match else float("nan")
    except ValueError:
        return float("nan")


def set_text(members: Sequence[str], with_missing: bool, quote_all: bool = False) -> str:
    """Return a set of labels, each quoted if it could be misread (or all of them)."""
    written = [_quoted(member, quote_all) for member in members]
    return "{" + ", ".join([*written, "?"] if with_missing else written) + "}"


def _quoted(member: str, always: bool) -> str:
    plain = member and member != "?" and member == member.strip() and not any(mark in member for mark in ',{}"')
    if plain and not always:
        return member
    return '"' + member.replace('"', '""') + '"'


# -- values that look alike --------------------------------------------------------------------------------------------


NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,6})?", re.ASCII)
UNSEEN = {"Cc", "Cf", "Zs", "Zl", "Zp"}
"""Categories of invisible characters: controls, format characters, blanks."""

EMPTY_GLYPHS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Invisible characters of other categories."""

LATIN = str.maketrans("авеѕіјкмнорстухԍһԁԛԝαβεζηικμνορτυχ", "abesijkmhopctyxghdqwabezhikmnoptyx")
"""Cyrillic and Greek letters that look like a Latin letter in one case; no two of one script look like the same."""


def comparable_text(text: str) -> str:
    """Return a common form of texts that look alike: one form, case and script, no blanks; numbers by value."""
    shown = EMPTY_GLYPHS.sub("", unicodedata.normalize("NFKC", text))
    shown = "".join(char for char in shown if unicodedata.category(char) not in UNSEEN)
    plain = unicodedata.normalize("NFKC", shown.casefold()).translate(LATIN)
    if NUMBER.fullmatch(plain):
        number = Decimal(plain).normalize()
        return str(number + 0 if number == 0 else number)
    return plain


def find_look_alikes(texts: Iterable[str]) -> list[list[str]]:
    """List the sets of texts that look alike, in the order of their first members."""
    kinds: dict[str, list[str]] = {}
    for text in texts:
        kinds.setdefault(comparable_text(text), []).append(text)
    return [alike for alike in kinds.values() if len(alike) > 1]


def name_alike(texts: Sequence[str]) -> list[str]:
    """Return for each text the first one that looks like it."""
    first: dict[str, str] = {}
    return [first.setdefault(comparable_text(text), text) for text in texts]


def ascii_where_unclear(text: str) -> str:
    """Quote a text; if it has characters that look like others or are invisible, show their codes."""
    return repr(text) if comparable_text(text) == text.casefold() else ascii(text)
