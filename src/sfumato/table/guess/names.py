"""What the name of a column says of its content, in English, German, French, Spanish, Italian, Dutch and neighbours.

A name is cut into words (`dateOfBirth`, `date-of-birth` and `DATE_OF_BIRTH` are the same three), accents are dropped,
and the first meaning of which a word or phrase stands in the name is taken. The order of the list in
`data/column_names.toml` decides: what names a person comes before everything, an age at a diagnosis is an
age, a degree of a charge is no education.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

from sfumato.documents import bundled_facts

Role = Literal["identifier", "quasi", "sensitive", "neutral"]

HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class ColumnMeaning:
    """Something columns are about: what it is, the role it suggests, and the words by which it is named."""

    what: str
    role: Role
    words: str
    """Words and phrases (`date_of_birth`). A star stands for any letters before or after a word; `^` and `$` say that
    the name begins or ends there: `^first$` is the whole name."""

    nominal: bool = True
    """Whether numbers are only names here, without an order."""

    weak: bool = False
    """Whether the name alone is no reason: values must be different in many records as well."""

    beside: str = ""
    """The list of words one of which must stand in the name too."""

    @cached_property
    def phrases(self) -> tuple[re.Pattern[str], ...]:
        """The words and phrases, one by one, as they stand in a name with `_` around every word."""
        return _patterns(self.words)

    @cached_property
    def companions(self) -> tuple[re.Pattern[str], ...]:
        """The words beside, likewise."""
        return _patterns(bundled_facts("column_names")[self.beside])

    @cached_property
    def joined(self) -> frozenset[str]:
        """The phrases written as one word."""
        return frozenset(phrase.strip("^$").replace("_", "") for phrase in self.words.split() if "*" not in phrase)

    def is_meant(self, words: tuple[str, ...]) -> bool:
        """Say whether a name of these words is about this."""
        spaced = f"_{'_'.join(words)}_"
        if self.beside and not any(pattern.search(spaced) for pattern in self.companions):
            return False
        written = not self.beside and "".join(words) in self.joined
        return written or any(pattern.search(spaced) for pattern in self.phrases)


def _patterns(texts: str) -> tuple[re.Pattern[str], ...]:
    def pattern(text: str) -> str:
        core = text.strip("^$").replace("*", "[^_]*")
        return f"{'^' if text.startswith('^') else ''}_{core}_{'$' if text.endswith('$') else ''}"

    return tuple(re.compile(pattern(text)) for text in texts.split())


HOUSEHOLD = "the number of a household"
NAME = "a name"
REACH = "a way to reach a person"


@cache
def _meanings() -> tuple[ColumnMeaning, ...]:
    """Return what columns can be about, in the order in which it is looked for."""
    return tuple(ColumnMeaning(**entry) for entry in bundled_facts("column_names")["meanings"])


@cache
def _words(key: str) -> frozenset[str]:
    """Return a list of words of the file: `persons`, `keys`, `counted`."""
    return frozenset(bundled_facts("column_names")[key].split())


def words_of(name: str) -> tuple[str, ...]:
    """Cut a column's name into plain words in lower case."""
    plain = unicodedata.normalize("NFKD", HUMP.sub(" ", name).replace("ß", "ss"))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    letters = letters.replace("ø", "o").replace("Ø", "O").replace("ł", "l").replace("Ł", "L")
    return tuple(WORD.findall(letters.casefold()))


def meaning_of(name: str) -> ColumnMeaning | None:
    """Find what a column's name says it is about; None where it says nothing that is known."""
    words = words_of(name)
    return next((meaning for meaning in _meanings() if meaning.is_meant(words)), None)


def may_number_persons(name: str) -> bool:
    """Say whether a name may be that of a person's number: `patient`, `nr`, `Patient ID`, but no `number`."""
    words = words_of(name)
    return bool(words) and set(words) <= _words("persons") | _words("keys") and not set(words) <= _words("counted")


def is_counted(name: str) -> bool:
    """Say whether a column is named like a count or a duration."""
    return not _words("counted").isdisjoint(words_of(name))
