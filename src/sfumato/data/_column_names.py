"""Recognition of columns by their values and names.

**Values**: e-mail addresses, telephone numbers, national numbers with their check digits, codes. A likeness is a test
of one text; check digits are those of python-stdnum. Tests of digits alone (`weak`) need many values, because one
number in ten passes a check digit by chance.

**Names**, in English, German, French, Spanish, Italian, Dutch and related languages. A name is split into words
(`dateOfBirth`, `date-of-birth` and `DATE_OF_BIRTH` are the same three), accents are removed, and the first meaning with
a matching word or phrase is used. The order in `data/column_names.toml` decides: names of persons come first, an age at
a diagnosis is an age, a degree of a charge is no education.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from ipaddress import ip_address
from typing import Literal

from stdnum import iban, luhn
from stdnum.ch import ssn
from stdnum.de import idnr
from stdnum.es import dni, nie
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.nl import bsn
from stdnum.pl import pesel

from sfumato.config.documents import bundled_facts

Role = Literal["identifier", "quasi", "sensitive", "neutral"]

HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class ColumnMeaning:
    """A meaning of columns: a description, the suggested role, and the words in their names."""

    what: str
    role: Role
    words: str
    """Words and phrases (`date_of_birth`). A star is any letters before or after a word; `^` and `$` are the beginning
    and the end of the name: `^first$` is the whole name."""

    nominal: bool = True
    """Whether its numbers are only labels, without an order."""

    weak: bool = False
    """Whether the name alone does not suffice: values must also differ in many records."""

    beside: str = ""
    """A list of words, one of which must also be in the name."""

    @cached_property
    def phrases(self) -> tuple[re.Pattern[str], ...]:
        """The patterns of words and phrases, for a name with `_` around every word."""
        return _patterns(self.words)

    @cached_property
    def companions(self) -> tuple[re.Pattern[str], ...]:
        """The patterns of the further words."""
        return _patterns(bundled_facts("column_names")[self.beside])

    @cached_property
    def joined(self) -> frozenset[str]:
        """The phrases written as one word."""
        return frozenset(phrase.strip("^$").replace("_", "") for phrase in self.words.split() if "*" not in phrase)

    def is_meant(self, words: tuple[str, ...]) -> bool:
        """Return whether a name of these words has this meaning."""
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
    """Return the meanings of columns, in order of priority."""
    return tuple(ColumnMeaning(**entry) for entry in bundled_facts("column_names")["meanings"])


@cache
def _words(key: str) -> frozenset[str]:
    """Return a list of words from the file: `persons`, `keys`, `counted`."""
    return frozenset(bundled_facts("column_names")[key].split())


def words_of(name: str) -> tuple[str, ...]:
    """Split a column's name into plain words in lower case."""
    plain = unicodedata.normalize("NFKD", HUMP.sub(" ", name).replace("ß", "ss"))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    letters = letters.replace("ø", "o").replace("Ø", "O").replace("ł", "l").replace("Ł", "L")
    return tuple(WORD.findall(letters.casefold()))


def meaning_of(name: str) -> ColumnMeaning | None:
    """Return the meaning of a column's name; None if it is unknown."""
    words = words_of(name)
    return next((meaning for meaning in _meanings() if meaning.is_meant(words)), None)


def may_number_persons(name: str) -> bool:
    """Return whether a name may be that of a person's number: `patient`, `nr`, `Patient ID`, but not `number`."""
    words = words_of(name)
    return bool(words) and set(words) <= _words("persons") | _words("keys") and not set(words) <= _words("counted")


def is_counted(name: str) -> bool:
    """Return whether a column is named like a count or a duration."""
    return not _words("counted").isdisjoint(words_of(name))


ENOUGH = 10
"""The least number of distinct values that must pass a check digit."""

NEARLY_ALL = 0.95
FRENCH = r"[1-478]\d{2}(0[1-9]|1[0-2]|[2-9]\d)(\d{2}|2[AB])\d{8}"
"""Sex, year, month, place and order of a French social security number, and its key."""


@dataclass(frozen=True)
class Likeness:
    """A recognizable kind of value, and the suggested role."""

    what: str
    role: Role
    test: Callable[[str], bool]
    weak: bool = False


def _match(pattern: str, flags: int = re.IGNORECASE) -> Callable[[str], bool]:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.fullmatch(text) is not None


def _numbered(check: Callable[[str], bool], shape: str) -> Callable[[str], bool]:
    """Return a test of numbers that may contain blanks, points or dashes: their shape, and their check digits."""
    compiled = re.compile(shape, re.IGNORECASE | re.ASCII)

    def test(text: str) -> bool:
        plain = re.sub(r"[ .\-/]", "", text)
        return compiled.fullmatch(plain) is not None and check(plain)

    return test


def is_spanish(number: str) -> bool:
    """Return whether a number is a Spanish DNI, or the NIE of a foreigner."""
    return bool(dni.is_valid(number) or nie.is_valid(number))


def is_ip(text: str) -> bool:
    """Return whether a text is an IP address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return "." in text or ":" in text


def is_phone(text: str) -> bool:
    """Return whether a text is written like a telephone number: with a prefix or with marks between its parts."""
    written = re.fullmatch(r"(\+|00|\(?0|\(\d)?[\d ()./\-]{5,24}(\s*(x|ext\.?)\s*\d+)?", text) is not None
    marked = text.startswith(("+", "(", "00")) or bool(re.search(r"\d[ /\-]\(?\d{2,}", text))
    digits = sum(letter.isdigit() for letter in text)
    return written and marked and 7 <= digits <= 15 and re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", text) is None


LIKENESSES = (
    Likeness("e-mail addresses", "identifier", _match(r"[^@\s]+@[^@\s]+\.[a-z]{2,}")),
    Likeness("web addresses", "identifier", _match(r"(https?://|www\.)\S+")),
    Likeness("UUIDs", "identifier", _match(r"\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?")),
    Likeness("IP addresses", "identifier", is_ip),
    Likeness("US social security numbers", "identifier", _match(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}")),
    Likeness("bank accounts (IBAN)", "identifier", _numbered(iban.is_valid, r"[A-Z]{2}\d{2}[A-Z\d]{11,30}")),
    Likeness("German social insurance numbers", "identifier", _match(r"\d{2} ?[0-3]\d[01]\d{3} ?[A-Z] ?\d{3}")),
    Likeness("British national insurance numbers", "identifier", _match(r"[A-CEGHJ-PR-TW-Z]{2} ?(\d{2} ?){3}[A-D]")),
    Likeness("Italian fiscal codes", "identifier", _match(r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]")),
    Likeness("Spanish identity numbers", "identifier", _numbered(is_spanish, r"[XYZ\d]\d{7}[A-Z]")),
    Likeness("Swiss social insurance numbers", "identifier", _numbered(ssn.is_valid, r"756\d{10}")),
    Likeness("French social security numbers", "identifier", _numbered(nir.is_valid, FRENCH)),
    Likeness("payment cards (check digit right)", "identifier", _numbered(luhn.is_valid, r"[2-6]\d{12,18}"), weak=True),
    Likeness("German tax numbers (check digit right)", "identifier", _numbered(idnr.is_valid, r"\d{11}"), weak=True),
    Likeness("Polish PESEL numbers (check digit right)", "identifier", _numbered(pesel.is_valid, r"\d{11}"), weak=True),
    Likeness("British NHS numbers (check digit right)", "identifier", _numbered(nhs.is_valid, r"\d{10}"), weak=True),
    Likeness("Dutch citizen numbers (check digit right)", "identifier", _numbered(bsn.is_valid, r"\d{9}"), weak=True),
    Likeness("telephone numbers", "identifier", is_phone),
    Likeness("British postcodes", "quasi", _match(r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}")),
    Likeness("ICD-10 diagnoses", "sensitive", _match(r"[A-TV-Z]\d[0-9AB](\.[0-9A-Z]{1,4})?", 0), weak=True),
)
"""In the order of tests."""

VAGUE = {"other", "none", "unknown"}


def likeness_of(values: Sequence[str]) -> Likeness | None:
    """Return the kind of nearly all distinct values; None if it is unknown."""
    stripped = [value.strip() for value in values]
    for likeness in LIKENESSES:
        if len(stripped) >= (ENOUGH if likeness.weak else 1):
            passed = sum(map(likeness.test, stripped))
            if passed >= NEARLY_ALL * len(stripped):
                return likeness
    return None


def vocabulary_of(values: Sequence[str]) -> tuple[str, Role] | None:
    """Return the vocabulary of most of a few categories, at least two of them."""
    plain = {value.strip().casefold().replace(" ", "-") for value in values}
    for vocabulary in bundled_facts("column_names")["vocabularies"]:
        known = plain.intersection(vocabulary["words"].split())
        if len(known - VAGUE) >= 2 and len(known) >= 0.75 * len(plain):
            return vocabulary["what"], vocabulary["role"]
    return None
