"""Where baskets are and how they are laid out: everything needed to open them, as a value that can be written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sfumato.configuration import check_choice
from sfumato.errors import BadInputError
from sfumato.tradeoff.study_texts import known_keys, seen_from
from sfumato.transactions.baskets import Baskets, baskets_of
from sfumato.transactions.lines import numbered_lines, separator_of, split_line

LAYOUTS = ("lines", "long", "list")
FILES = ("source", "tree")


def bundled_baskets() -> tuple[str, ...]:
    """Name the baskets that come with sfumato."""
    return ()


@dataclass(frozen=True)
class BasketsDeclaration:
    """A file of baskets or bundled ones."""

    source: str
    layout: str = "lines"
    """One record a line, or `long`: a record and an item a row, or `list`: a column of lists."""

    record: str | None = None
    """Of long: the column that tells records apart."""

    item: str | None = None
    """Of long and list: the column of items."""

    tree: str | None = None
    """A level table of the items: every item with what it is generalized to, step by step."""

    delimiter: str | None = None
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        check_choice("layout", self.layout, LAYOUTS)
        for own in fields(self):
            value = getattr(self, own.name)
            if not isinstance(value, str) and (value is not None or own.name in ("source", "layout", "encoding")):
                raise BadInputError(f"{own.name} must be a text, not {value!r}")

    @property
    def is_bundled(self) -> bool:
        """Whether the source names baskets that come with sfumato."""
        return self.source in bundled_baskets() and not Path(self.source).is_file()

    def open(self) -> Baskets:
        """Open the baskets."""
        lines = [text for _, text in numbered_lines(Path(self.source), self.encoding)]
        mark = separator_of(lines)
        return baskets_of([split_line(line, mark) for line in lines], origin=self.source)

    def options(self) -> list[str]:
        """Write what the command line needs to open the same baskets."""
        words = [] if self.is_bundled else ["--baskets", self.layout]
        for own in fields(self):
            value = getattr(self, own.name)
            if own.name not in ("source", "layout") and value != own.default:
                words += [f"--{own.name}", value]
        return words

    def entries(self, folder: Path | None) -> dict[str, Any]:
        """Write the section of a study; files named as seen from a folder, if one is given."""
        given = {own.name: getattr(self, own.name) for own in fields(self)}
        if self.is_bundled:
            given |= {"layout": None, "encoding": None}
        elif folder is not None:
            given |= {key: seen_from(folder, given[key]) for key in FILES if given[key] is not None}
        return {key: value for key, value in given.items() if value is not None}

    @staticmethod
    def of(entries: Mapping[str, Any], folder: Path) -> BasketsDeclaration:
        """Read the section of a study; a file is looked for beside the study."""
        known_keys("[baskets]", entries, [own.name for own in fields(BasketsDeclaration)])
        if "source" not in entries:
            raise BadInputError("[baskets] needs source: a file, or the name of bundled baskets")
        given = dict(entries)
        for key in FILES:
            if isinstance(given.get(key), str) and (folder / given[key]).is_file():
                given[key] = str(folder / given[key])
        return BasketsDeclaration(**given)
