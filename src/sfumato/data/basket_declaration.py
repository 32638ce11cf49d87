"""Where baskets are and how they are laid out: everything needed to open them, as a value that can be written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from sfumato.config.options import (
    BASKET_SOURCE,
    COLUMN,
    ENCODING,
    ID,
    ITEM,
    LINES,
    MEMORY,
    SEPARATOR,
    SPILL,
    TREE,
    check_options,
    described,
)
from sfumato.config.sections import known_keys, option_words, section_entries
from sfumato.data.bundled import BASKETS, check_named, load_baskets
from sfumato.data.hierarchies.declared import is_classification
from sfumato.data.item_reading import is_text_of_items, read_baskets, with_tree
from sfumato.data.items import Baskets
from sfumato.engines.item_files import find_rows
from sfumato.engines.locations import beside, seen_from
from sfumato.errors import BadInputError
from sfumato.runtime.memory import read_size

FILES = ("source", "tree")


class ItemFiles:
    """What says where items are. Declarations of items are frozen dataclasses of this kind."""

    section: ClassVar[str]

    @property
    def is_bundled(self) -> bool:
        """Whether the source names data that come with sfumato."""
        return False

    @property
    def files(self) -> list[Path]:
        """The files that opening the items reads."""
        return [Path(getattr(self, name)) for name in self._named()]

    def _named(self) -> list[str]:
        """Name the fields that hold files: not what comes with sfumato."""
        given = {name: getattr(self, name) for name in FILES}
        bundled = {"source": self.is_bundled, "tree": given["tree"] is not None and is_classification(given["tree"])}
        return [name for name in FILES if given[name] is not None and not bundled[name]]

    def entries(self, folder: Path | None) -> dict[str, Any]:
        """Write the section of a study; files named as seen from a folder, if one is given."""
        named = [*self._named(), *(["spill"] if getattr(self, "spill", None) is not None else [])]
        seen = {} if folder is None else {key: seen_from(folder, getattr(self, key)) for key in named}
        return section_entries(self) | seen

    @classmethod
    def of(cls, entries: Mapping[str, Any], folder: Path) -> Self:
        """Read the section of a study; a file is looked for beside the study, and so is the folder to work in."""
        known = described(cls)
        known_keys(f"[{cls.section}]", entries, known)
        given = dict(entries)
        for key, value in entries.items():
            if isinstance(value, list) and known[key].several:
                given[key] = tuple(value)
            elif isinstance(value, str) and key == "spill":
                given[key] = beside(folder, value)
            elif isinstance(value, str) and key in FILES and (folder / value).is_file():
                given[key] = str(folder / value)
        return cls(**given)


@dataclass(frozen=True)
class BasketsDeclaration(ItemFiles):
    """A file of baskets, or bundled ones: lines of items, rows of (whose, item), or a column of lists."""

    source: Annotated[str, BASKET_SOURCE]
    id: Annotated[str | None, ID] = None
    item: Annotated[str | None, ITEM] = None
    column: Annotated[str | None, COLUMN] = None
    separator: Annotated[str | None, SEPARATOR] = None
    lines: Annotated[bool | None, LINES] = None
    tree: Annotated[str | None, TREE] = None
    encoding: Annotated[str | None, ENCODING] = None
    memory: Annotated[str | None, MEMORY] = None
    spill: Annotated[str | None, SPILL] = None

    section: ClassVar[str] = "baskets"

    def __post_init__(self) -> None:
        check_options(self)
        if self.memory is not None:
            read_size("memory", self.memory)

    @property
    def is_bundled(self) -> bool:
        """Whether the source names baskets that come with sfumato."""
        return self.source in BASKETS and not Path(self.source).is_file()

    def open(self) -> Baskets:
        """Open the baskets."""
        if self.is_bundled:
            return with_tree(load_baskets(self.source), self.tree)
        check_named(self.source, "baskets", BASKETS)
        return read_baskets(
            Path(self.source),
            who=self.id,
            item=self.item,
            column=self.column,
            separator=self.separator,
            lines=bool(self.lines),
            encoding=self.encoding,
            tree=self.tree,
            memory=self.memory,
            spill=self.spill,
        )

    def with_columns(self) -> Self:
        """Return the same declaration with the columns by which a text file of one item per row is recognised."""
        if self.is_bundled or self.lines or not is_text_of_items(self.source, self.id, self.column):
            return self
        rows = find_rows(Path(self.source), self.encoding, self.separator)
        if rows is None:
            return self
        separator = rows.separator if rows.separator == " " else self.separator
        return replace(self, id=rows.who, item=rows.item, separator=separator)

    def options(self) -> list[str]:
        """Write what the command line needs to open the same baskets."""
        return [*([] if self.is_bundled else ["--baskets"]), *option_words(self, ("source",))]

    @classmethod
    def of(cls, entries: Mapping[str, Any], folder: Path) -> Self:
        """Read the section of a study."""
        if "source" not in entries:
            raise BadInputError("[baskets] needs source: a file, or the name of bundled baskets")
        return super().of(entries, folder)
