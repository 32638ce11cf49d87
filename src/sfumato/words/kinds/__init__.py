"""What is said of each kind of data: tables, baskets, tables with items, and what is public of any of them.

A kind has one module, called like the section of its study, with what differs between kinds: `meanings(map_)`,
`subject(map_)`, `data_words(study, point)` and `declares_hierarchies(study)`. It is looked up when a study of that kind
is spoken of, so that nobody who explores a table waits for the rooms of baskets and patients.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sfumato.tradeoff.study.study import Study


def words_of(study: Study) -> Any:
    """Return the module that speaks of a kind of data."""
    return import_module(f"{__name__}.{study.section}")
