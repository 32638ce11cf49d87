"""The kinds of study: what a `study.toml` can be about.

Every kind is known by the section of the file that says what is studied, and is looked up only when it is needed: so a
room reads a study of a later room's kind without importing that room.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

KINDS = {
    "items": "sfumato.mixed.study",
    "table": "sfumato.tradeoff.study.study",
    "baskets": "sfumato.transactions.study",
}
"""By section, the module with its `study_of(content, origin)`, and by name who makes a study of its `BUNDLED` data.

A study is of the first kind whose section it has: one of a table with items has `[table]`, too.
"""


def kind(section: str) -> Any:
    """Return the module that knows a kind of study."""
    return import_module(KINDS[section])
