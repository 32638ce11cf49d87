"""How published values are written and read: a number, a day, a range `20-29`, a set `{a, b}`."""

import datetime
import re
from collections.abc import Sequence
from decimal import Decimal

DAY = re.compile(r"(\d{4}-\d{2}-\d{2})([ T]\d{2}:\d{2}.*)?")
DOTTED_DAY = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", re.ASCII)


def stretch_notations(first: str, last: str, whole_numbers: bool, half_open: bool) -> list[str]:
    """Write a stretch from first to last (excluded if half-open), the preferred notation first."""
    if half_open:
        return [f"{first}..<{last}"]
    return [f"{first}-{last}", f"{first}..{last}"] if whole_numbers else [f"{first}..{last}"]


def write_number(value: float) -> str:
    """Write a number in the shortest way that reads back as the same, never with an exponent."""
    if float(value).is_integer():
        return str(int(value))
    return format(Decimal(repr(float(value))), "f")


def read_number(text: str) -> float:
    """Read a number, NaN where the text is none."""
    try:
        return float(text) if "_" not in text else float("nan")
    except ValueError:
        return float("nan")


def write_date(ordinal: float) -> str:
    """Write a day, given as its ordinal, the ISO way."""
    return datetime.date.fromordinal(int(ordinal)).isoformat()


def read_date(text: str) -> float:
    """Read the day of an ISO date or timestamp, or of 31.12.1999, as its ordinal; NaN where the text is none."""
    match = DAY.fullmatch(text.strip())
    dotted = DOTTED_DAY.fullmatch(text.strip())
    try:
        if dotted:  # with dots the day comes first wherever dates are so written; with slashes nobody can tell
            return float(datetime.date(int(dotted[3]), int(dotted[2]), int(dotted[1])).toordinal())
        return float(datetime.date.fromisoformat(match[1]).toordinal()) if match else float("nan")
    except ValueError:
        return float("nan")


def set_text(members: Sequence[str], with_missing: bool, quote_all: bool = False) -> str:
    """Write a set of labels, each in quotes where it could be misread (or all of them)."""
    written = [_quoted(member, quote_all) for member in members]
    return "{" + ", ".join([*written, "?"] if with_missing else written) + "}"


def _quoted(member: str, always: bool) -> str:
    plain = member and member != "?" and member == member.strip() and not any(mark in member for mark in ',{}"')
    if plain and not always:
        return member
    return '"' + member.replace('"', '""') + '"'
