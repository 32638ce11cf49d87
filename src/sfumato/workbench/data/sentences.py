"""Sentences that were written for the command line, as they are read beside a form."""

from __future__ import annotations

import re

from sfumato.configuration import described
from sfumato.table import TableDeclaration
from sfumato.transactions.files.declaration import BasketsDeclaration

FIELDS = {name.replace("_", "-") for kind in (TableDeclaration, BasketsDeclaration) for name in described(kind)}
"""Options of the command line that forms have a field for."""


def in_forms(sentence: str) -> str:
    """Name the fields of forms in place of options.

    >>> in_forms("--as-written leaves them; start it with --allow-programs")
    '“as_written” leaves them; start it with --allow-programs'
    """
    return re.sub(r"--([a-z]+(?:-[a-z]+)*)", _named, sentence)


def _named(found: re.Match[str]) -> str:
    return f"“{found[1].replace('-', '_')}”" if found[1] in FIELDS else found[0]
