"""Everybody who makes releases of baskets, by name."""

from __future__ import annotations

from sfumato.configuration import parse
from sfumato.transactions.aa import AA
from sfumato.transactions.anonymizer import BasketAnonymizer
from sfumato.transactions.coat import COAT
from sfumato.transactions.pcta import PCTA, UPCTA
from sfumato.transactions.trivial import OneItem, OriginalBaskets

BASKET_ANONYMIZERS: tuple[type[BasketAnonymizer], ...] = (AA, COAT, PCTA, UPCTA, OneItem, OriginalBaskets)


def basket_anonymizer(text: str) -> BasketAnonymizer:
    """Read an anonymizer of baskets from its text form, such as `coat order=ascending`."""
    return parse(text, BASKET_ANONYMIZERS, "anonymizer")
