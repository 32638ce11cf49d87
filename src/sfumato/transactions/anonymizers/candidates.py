"""Who can be a candidate of a study: everybody who makes releases, and the two ends of a map."""

from __future__ import annotations

from sfumato.configuration import parse
from sfumato.transactions.anonymizers.anonymizer import BasketAnonymizer
from sfumato.transactions.anonymizers.registry import BASKET_ANONYMIZERS
from sfumato.transactions.anonymizers.trivial import OneItem, OriginalBaskets

CANDIDATES: tuple[type[BasketAnonymizer], ...] = (*BASKET_ANONYMIZERS, OneItem, OriginalBaskets)


def candidate_maker(text: str) -> BasketAnonymizer:
    """Read who makes a candidate from its text form, such as `coat order=ascending` or `one-item`."""
    return parse(text, CANDIDATES, "anonymizer of baskets")
