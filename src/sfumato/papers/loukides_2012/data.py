"""Which baskets the maps of Loukides et al. 2012 are drawn of: files that are given, else the bundled Online Retail.

Figures 6 and 7 take the first kind of file, figure 5 (diagnoses) a file whose items are ICD-9 codes. The tree of items
is a level table beside the file, named after it: `bms_webview_2_hierarchy.txt.gz` beside `bms_webview_2.dat.gz`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sfumato.errors import BadInputError
from sfumato.transactions import Baskets, load_baskets, read_baskets

BUNDLED = "online-retail"
ICD_9 = re.compile(r"(\d{1,3}|V\d{2}|E\d{3})(\.\d{1,2})?")
MOSTLY, SOME = 0.95, 0.05
"""ICD-9 baskets: this share of the items looks like a code, and this share like nothing but a code (V58, 250.83)."""


def opened(files: Sequence[Path]) -> tuple[Baskets, Baskets | None]:
    """Open the baskets of figures 6 and 7, and those of figure 5 where there are some."""
    by_kind: dict[bool, Baskets] = {}
    for file in files:
        baskets = read_file(file)
        diagnoses = has_diagnoses(baskets)
        if diagnoses in by_kind:
            kind = "ICD-9 diagnoses, for figure 5" if diagnoses else "baskets for figures 6 and 7"
            raise BadInputError(
                f"--data {file}: {by_kind[diagnoses].origin} was given already, and both hold {kind}; give one of them"
            )
        by_kind[diagnoses] = baskets
    return by_kind.get(False) or load_baskets(BUNDLED), by_kind.get(True)


def read_file(file: Path) -> Baskets:
    """Read the baskets of a file, with the tree of items beside it."""
    if file.is_dir():
        raise BadInputError(f"--data {file}: this is a folder; name a file in it, with one basket per line")
    return read_baskets(file, tree=tree_beside(file))


def tree_beside(file: Path) -> Path | None:
    """Find the level table whose name, before `_hierarchy`, is how the file's name begins; the longest such name."""
    named = {
        path: path.name.partition("_hierarchy.")[0]
        for path in sorted(file.resolve().parent.glob("*_hierarchy.*"))
        if path.name != file.name
    }
    fitting = [path for path, name in named.items() if name and file.name.startswith(name)]
    return max(fitting, key=lambda path: len(named[path]), default=None)


def has_diagnoses(baskets: Baskets) -> bool:
    """Say whether the items are ICD-9 codes."""
    codes = [item for item in baskets.items if ICD_9.fullmatch(item)]
    certain = [item for item in codes if not item.isdigit()]
    items = len(baskets.items)
    return len(codes) >= MOSTLY * items and len(certain) >= SOME * items
