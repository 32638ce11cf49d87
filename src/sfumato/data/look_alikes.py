"""Texts that a reader takes for the same value: `HIV`, `hiv`, a full-width or Cyrillic `HIV`, `1` and `1.0`.

Counted as different values they would make a group look diverse. So a requirement about sensitive values is refused
where the table has such texts, and the audit counts them as one value.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,6})?", re.ASCII)
UNSEEN = {"Cc", "Cf", "Zs", "Zl", "Zp"}
"""Categories of characters that show nothing: controls, format characters, blanks."""

EMPTY_GLYPHS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters of other categories that show nothing."""

LATIN = str.maketrans("авеѕіјкмнорстухԍһԁԛԝαβεζηικμνορτυχ", "abesijkmhopctyxghdqwabezhikmnoptyx")
"""Cyrillic and Greek letters of which one case looks like a Latin letter; no two of one script look like the same."""


def comparable_text(text: str) -> str:
    """Return what texts that look alike have in common: one form, case and script, no blanks; numbers by value."""
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
    """Name every text by the first of those that it looks like."""
    first: dict[str, str] = {}
    return [first.setdefault(comparable_text(text), text) for text in texts]


def ascii_where_unclear(text: str) -> str:
    """Quote a text; where it holds characters that look like others or like nothing, show their codes."""
    return repr(text) if comparable_text(text) == text.casefold() else ascii(text)
