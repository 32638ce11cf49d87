"""What single values look like: e-mail addresses, telephone numbers, national numbers with their check digits, codes.

A likeness is a test of one text. Those made of digits alone (`weak`) need many values before they say anything: one
number in ten passes a check digit by chance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from sfumato.table.guess.names import Role

ENOUGH = 10
"""Distinct values that must pass before a check digit is believed."""

NEARLY_ALL = 0.95


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


def digits_of(text: str, *lengths: int) -> list[int]:
    """Read the digits of a number that may be written with blanks, points or dashes; empty if it is none."""
    plain = re.sub(r"[ .\-/]", "", text)
    return [int(digit) for digit in plain] if len(plain) in lengths and plain.isascii() and plain.isdigit() else []


def luhn(digits: Sequence[int]) -> bool:
    """Check the last digit by Luhn's rule, as on payment cards."""
    doubled = [2 * digit if i % 2 else digit for i, digit in enumerate(reversed(digits))]
    return bool(digits) and sum(digit // 10 + digit % 10 for digit in doubled) % 10 == 0


def is_card(text: str) -> bool:
    """Say whether a text is the number of a payment card."""
    digits = digits_of(text, *range(13, 20))
    return bool(digits) and digits[0] in (2, 3, 4, 5, 6) and luhn(digits)


def is_iban(text: str) -> bool:
    """Say whether a text is an international bank account number (ISO 13616: 97 divides it but for 1)."""
    plain = text.replace(" ", "").upper()
    if re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", plain) is None:
        return False
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1


def is_german_tax_id(text: str) -> bool:
    """Say whether a text is a German tax number (ISO 7064, MOD 11,10; one digit two or three times in ten)."""
    digits = digits_of(text, 11)
    if not digits or digits[0] == 0 or max(digits[:10].count(digit) for digit in range(10)) not in (2, 3):
        return False
    product = 10
    for digit in digits[:10]:
        product = ((digit + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == digits[10]


def is_french_nir(text: str) -> bool:
    """Say whether a text is a French social security number: sex, year, month, place, order, key modulo 97."""
    plain = text.replace(" ", "").upper()
    if re.fullmatch(r"[1-478]\d{2}(0[1-9]|1[0-2]|[2-9]\d)(\d{2}|2[AB])\d{8}", plain) is None:
        return False
    number = int(plain[:13].replace("2A", "19").replace("2B", "18"))
    return 97 - number % 97 == int(plain[13:])


def is_nhs_number(text: str) -> bool:
    """Say whether a text is a British NHS number (modulus 11)."""
    digits = digits_of(text, 10)
    check = 11 - sum(digit * (10 - i) for i, digit in enumerate(digits[:9])) % 11
    return bool(digits) and check != 10 and check % 11 == digits[9]


def is_dutch_bsn(text: str) -> bool:
    """Say whether a text is a Dutch citizen service number (the eleven test)."""
    digits = digits_of(text, 9)
    return bool(digits) and (sum(digit * (9 - i) for i, digit in enumerate(digits[:8])) - digits[8]) % 11 == 0


def is_pesel(text: str) -> bool:
    """Say whether a text is a Polish PESEL number."""
    digits = digits_of(text, 11)
    weights = (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)
    month = digits[2] * 10 + digits[3] if digits else 0
    good_month = 1 <= month % 20 <= 12
    return bool(digits) and good_month and sum(w * digit for w, digit in zip(weights, digits, strict=True)) % 10 == 0


def is_swiss_ahv(text: str) -> bool:
    """Say whether a text is a Swiss social insurance number (756, EAN-13 check digit)."""
    digits = digits_of(text, 13)
    return digits[:3] == [7, 5, 6] and sum(digit * (3 if i % 2 else 1) for i, digit in enumerate(digits)) % 10 == 0


def is_spanish_dni(text: str) -> bool:
    """Say whether a text is a Spanish DNI or NIE: the letter is the number modulo 23."""
    plain = re.sub(r"[ .\-]", "", text).upper()
    if re.fullmatch(r"[XYZ\d]\d{7}[A-Z]", plain) is None:
        return False
    number = int(plain[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2"))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == plain[-1]


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
    Likeness("bank accounts (IBAN)", "identifier", is_iban),
    Likeness("German social insurance numbers", "identifier", _match(r"\d{2} ?[0-3]\d[01]\d{3} ?[A-Z] ?\d{3}")),
    Likeness("British national insurance numbers", "identifier", _match(r"[A-CEGHJ-PR-TW-Z]{2} ?(\d{2} ?){3}[A-D]")),
    Likeness("Italian fiscal codes", "identifier", _match(r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]")),
    Likeness("Spanish identity numbers", "identifier", is_spanish_dni),
    Likeness("Swiss social insurance numbers", "identifier", is_swiss_ahv),
    Likeness("French social security numbers", "identifier", is_french_nir),
    Likeness("payment cards (check digit right)", "identifier", is_card, weak=True),
    Likeness("German tax numbers (check digit right)", "identifier", is_german_tax_id, weak=True),
    Likeness("Polish PESEL numbers (check digit right)", "identifier", is_pesel, weak=True),
    Likeness("British NHS numbers (check digit right)", "identifier", is_nhs_number, weak=True),
    Likeness("Dutch citizen numbers (check digit right)", "identifier", is_dutch_bsn, weak=True),
    Likeness("telephone numbers", "identifier", is_phone),
    Likeness("British postcodes", "quasi", _match(r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}")),
    Likeness("ICD-10 diagnoses", "sensitive", _match(r"[A-TV-Z]\d[0-9AB](\.[0-9A-Z]{1,4})?", 0), weak=True),
)
"""In the order in which they are tried."""

VOCABULARIES: tuple[tuple[str, Role, frozenset[str]], ...] = tuple(
    (what, role, frozenset(words.split()))  # type: ignore[misc]
    for what, role, words in (
        (
            "a sex or gender",
            "quasi",
            "m f w d x male female man woman men women diverse divers other unknown nonbinary non-binary maennlich "
            "männlich weiblich homme femme hombre mujer uomo donna maschio femmina vrouw kvinne kvinde kvinna mann",
        ),
        (
            "a marital status",
            "quasi",
            "married single divorced widowed separated never-married unmarried cohabiting verheiratet ledig geschieden "
            "verwitwet célibataire marié mariée divorcé divorcée veuf veuve soltero casado divorciado viudo "
            "partnered partnership married-civ-spouse married-spouse-absent married-af-spouse widow widower",
        ),
        (
            "a race or ethnicity",
            "quasi",
            "white black asian hispanic latino caucasian african-american mixed other non-white asian-pac-islander "
            "amer-indian-eskimo native-american pacific-islander",
        ),
        (
            "a religion",
            "sensitive",
            "christian catholic protestant orthodox muslim islam jewish hindu buddhist sikh atheist agnostic none "
            "evangelisch katholisch muslimisch jüdisch catholique musulman cattolico católico other lutheran baptist",
        ),
        (
            "a place",
            "quasi",
            "germany france italy spain austria switzerland netherlands belgium poland denmark sweden norway finland "
            "ireland portugal greece england scotland wales usa canada mexico brazil china india japan "
            "united-states united-kingdom turkey russia ukraine romania hungary deutschland frankreich italien "
            "spanien österreich schweiz",
        ),
    )
)
"""Small vocabularies: a column whose values are mostly from one of them is about that."""


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
    for what, role, words in VOCABULARIES:
        known = plain & words
        if len(known - VAGUE) >= 2 and len(known) >= 0.75 * len(plain):
            return what, role
    return None
