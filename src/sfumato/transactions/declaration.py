"""Where baskets are and how they are laid out: everything needed to open them, as a value that can be written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sfumato.errors import BadInputError
from sfumato.tradeoff.study_texts import known_keys
from sfumato.transactions.baskets import Baskets


def bundled_baskets() -> tuple[str, ...]:
    """Name the baskets that come with sfumato."""
    return ()


@dataclass(frozen=True)
class BasketsDeclaration:
    """A file or bundled baskets; what is not given is seen from the file."""

    source: str
    record: str | None = None
    item: str | None = None
    tree: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"

    @property
    def is_bundled(self) -> bool:
        return self.source in bundled_baskets() and not Path(self.source).is_file()

    def open(self) -> Baskets:
        raise BadInputError("not yet")

    def options(self) -> list[str]:
        return []

    def entries(self, folder: Path | None) -> dict[str, Any]:
        return {"source": self.source}

    @staticmethod
    def of(entries: Mapping[str, Any], folder: Path) -> BasketsDeclaration:
        known_keys("[baskets]", entries, [own.name for own in fields(BasketsDeclaration)])
        return BasketsDeclaration(**entries)
