"""What single values look like: e-mail addresses, telephone numbers, national numbers with their check digits, codes.

A likeness is a test of one text; check digits are those of python-stdnum. Those made of digits alone (`weak`) need
many values before they say anything: one number in ten passes a check digit by chance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from stdnum import iban, luhn
from stdnum.ch import ssn
from stdnum.de import idnr
from stdnum.es import dni, nie
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.nl import bsn
from stdnum.pl import pesel

from sfumato.documents import bundled_facts
from sfumato.table.guess.names import Role

ENOUGH = 10
"""Distinct values that must pass before a check digit is believed."""

NEARLY_ALL = 0.95
FRENCH = r"[1-478]\d{2}(0[1-9]|1[0-2]|[2-9]\d)(\d{2}|2[AB])\d{8}"
"""Sex, year, month, place and order of a French social security number, and its key."""


@dataclass(frozen=True)
class Likeness:
    """Something a value can look like, and the role this suggests."""

    what: str
    role: Role
    test: Callable[[str], bool]
    weak: bool = False


def _match(pattern: str, flags: int = re.IGNORECASE) -> Callable[[str], bool]:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.fullmatch(text) is not None


def _numbered(check: Callable[[str], bool], shape: str) -> Callable[[str], bool]:
    """Test numbers that may be written with blanks, points or dashes: their shape, and their check digits."""
    compiled = re.compile(shape, re.IGNORECASE | re.ASCII)

    def test(text: str) -> bool:
        plain = re.sub(r"[ .\-/]", "", text)
        return compiled.fullmatch(plain) is not None and check(plain)

    return test


def is_spanish(number: str) -> bool:
    """Say whether a number is a Spanish DNI, or the NIE of a foreigner."""
    return bool(dni.is_valid(number) or nie.is_valid(number))


def is_ip(text: str) -> bool:
    """Say whether a text is an IP address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return "." in text or ":" in text


def is_phone(text: str) -> bool:
    """Say whether a text is a telephone number written as one: with a prefix or with marks between its parts."""
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
"""In the order in which they are tried."""

VAGUE = {"other", "none", "unknown"}


def likeness_of(values: Sequence[str]) -> Likeness | None:
    """Find what distinct values look like, nearly all of them; None if like nothing that is known."""
    stripped = [value.strip() for value in values]
    for likeness in LIKENESSES:
        if len(stripped) >= (ENOUGH if likeness.weak else 1):
            passed = sum(map(likeness.test, stripped))
            if passed >= NEARLY_ALL * len(stripped):
                return likeness
    return None


def vocabulary_of(values: Sequence[str]) -> tuple[str, Role] | None:
    """Find the vocabulary that most of a few categories are from: two of them at least."""
    plain = {value.strip().casefold().replace(" ", "-") for value in values}
    for vocabulary in bundled_facts("column_names")["vocabularies"]:
        known = plain.intersection(vocabulary["words"].split())
        if len(known - VAGUE) >= 2 and len(known) >= 0.75 * len(plain):
            return vocabulary["what"], vocabulary["role"]
    return None
