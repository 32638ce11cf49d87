"""Attribute inference: guessing a secret from what is known of a person (Giomi et al. 2023, section 4.3).

The attacker knows the quasi-identifiers. He looks for the released record that is nearest by them and guesses that the
person has its sensitive value. A number is guessed right within 5 % of the guess.

    success: the nearest released record has the person's value
    naive: the value of a random released record

The success against the control is what anybody learns of anybody from statistics; the advantage is what the release
tells of those who are in it beyond that.
"""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Codes, Flags, Numbers
from sfumato.measures.attacks.advantage import Advantage, Rate
from sfumato.release.records import leaf_numbers
from sfumato.table import Sensitive

TOLERANCE = 0.05
"""A guessed number may be wrong by this share of itself."""


def inference(attribute: Sensitive, guesses: Codes, secrets: Codes, members: int, naive: Codes) -> Advantage:
    """Compare guessed leaves with true ones: those of the first `members` are of the table, the others the control."""
    right = guessed_right(attribute, guesses, secrets)
    return Advantage(
        "inference",
        Rate(int(right[:members].sum()), members),
        Rate(int(right[members:].sum()), len(right) - members),
        Rate(int(guessed_right(attribute, naive, secrets[:members]).sum()), members),
        on=attribute.name,
    )


def guessed_right(attribute: Sensitive, guesses: Codes, secrets: Codes) -> Flags:
    """Say which guesses are right: the same value, or a number that is nearly the same."""
    same = np.asarray(guesses == secrets)
    if attribute.hierarchy.scale != "number":
        return same
    numbers = leaf_numbers(attribute.hierarchy)
    guessed, true = _numbers(numbers, guesses), _numbers(numbers, secrets)
    with np.errstate(invalid="ignore"):
        return np.asarray(same | (np.abs(guessed - true) <= TOLERANCE * np.abs(guessed)))


def _numbers(numbers: Numbers, codes: Codes) -> Numbers:
    known = (codes >= 0) & (codes < len(numbers))
    return np.where(known, numbers[np.where(known, codes, 0)], np.nan)
