"""The baskets that come with sfumato: Online Retail, what each customer of a British gift shop bought."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from sfumato.errors import BadInputError

if TYPE_CHECKING:
    from sfumato.transactions.baskets import Baskets


@dataclass(frozen=True)
class BundledBaskets:
    """Bundled baskets, and how many there are."""

    name: str
    records: int
    items: int
    description: str
    file: str


BASKETS = {
    bundled.name: bundled
    for bundled in (
        BundledBaskets(
            "online-retail",
            4_372,
            3_885,
            "UCI Online Retail (2010-2011), all that each customer bought",
            "online_retail.parquet",
        ),
    )
}


@cache
def load_baskets(name: str) -> Baskets:
    """Load bundled baskets by name."""
    from sfumato.transactions.files.reading import read_baskets

    if name not in BASKETS:
        raise BadInputError(f"there are no bundled baskets {name!r}; there are {', '.join(BASKETS)}")
    with as_file(files("sfumato.transactions") / "data" / BASKETS[name].file) as path:
        return replace(read_baskets(path), origin=name)
