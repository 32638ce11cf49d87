"""Values as a stranger may see them over a shoulder: what they look like, not what they are."""

from __future__ import annotations

from sfumato.transactions.baskets import Baskets
from sfumato.transactions.files.reading import EXAMPLE

LONGEST = 24
"""Characters that are shown of a value."""

MISSING = "(missing)"


def masked(text: str | None) -> str:
    """Write a value by its shape: letters as x, digits as 9.

    >>> masked("Müller, Anna"), masked("1987-03-21"), masked(None)
    ('Xxxxxx, Xxxx', '9999-99-99', '(missing)')
    """
    return MISSING if text is None else "".join(map(_shape, text[:LONGEST])) + "…" * (len(text) > LONGEST)


def shown(text: str | None, plainly: bool) -> str:
    """Write a value masked, or plainly where somebody asked for it."""
    return masked(text) if not plainly else MISSING if text is None else text


def _shape(character: str) -> str:
    if character.isdigit():
        return "9"
    if character.isalpha():
        return "X" if character.isupper() else "x"
    return character


def notices_without_examples(baskets: Baskets) -> list[str]:
    """List what was noticed while reading baskets, without the notice that shows one of them."""
    return [notice for notice in baskets.notices if not notice.startswith(EXAMPLE)]
