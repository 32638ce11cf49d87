"""Where baskets are and how they are laid out: everything needed to open them, as a value that can be written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from sfumato.configuration import check_options
from sfumato.engines.places import beside, seen_from
from sfumato.errors import BadInputError
from sfumato.process.memory import read_size
from sfumato.table.bundled import check_named
from sfumato.tradeoff.study.texts import known_keys, option_words
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.files.bundled import BASKETS, load_baskets
from sfumato.transactions.files.reading import read_baskets, with_tree
from sfumato.transactions.files.trees import is_classification
from sfumato.vocabulary import BASKET_SOURCE, COLUMN, ENCODING, ID, ITEM, MEMORY, SEPARATOR, SPILL, TREE

FILES = ("source", "tree")


@dataclass(frozen=True)
class BasketsDeclaration:
    """A file of baskets, or bundled ones: lines of items, rows of (whose, item), or a column of lists."""

    source: Annotated[str, BASKET_SOURCE]
    id: Annotated[str | None, ID] = None
    item: Annotated[str | None, ITEM] = None
    column: Annotated[str | None, COLUMN] = None
    separator: Annotated[str | None, SEPARATOR] = None
    tree: Annotated[str | None, TREE] = None
    encoding: Annotated[str | None, ENCODING] = None
    memory: Annotated[str | None, MEMORY] = None
    spill: Annotated[str | None, SPILL] = None

    def __post_init__(self) -> None:
        check_options(self)
        if self.memory is not None:
            read_size("memory", self.memory)

    @property
    def is_bundled(self) -> bool:
        """Whether the source names baskets that come with sfumato."""
        return self.source in BASKETS and not Path(self.source).is_file()

    @property
    def files(self) -> list[Path]:
        """The files that opening the baskets reads."""
        return [Path(getattr(self, name)) for name in self._named() if getattr(self, name) is not None]

    def _named(self) -> list[str]:
        """Name the fields that hold files: not what is bundled."""
        bundled = {"source": self.is_bundled, "tree": self.tree is not None and is_classification(self.tree)}
        return [name for name in FILES if not bundled[name]]

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
            encoding=self.encoding,
            tree=self.tree,
            memory=self.memory,
            spill=self.spill,
        )

    def options(self) -> list[str]:
        """Write what the command line needs to open the same baskets."""
        return [*([] if self.is_bundled else ["--baskets"]), *option_words(self, ("source",))]

    def entries(self, folder: Path | None) -> dict[str, Any]:
        """Write the section of a study; files named as seen from a folder, if one is given."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        if folder is not None:
            seen = (*self._named(), "spill")
            given |= {key: seen_from(folder, given[key]) for key in seen if given[key] is not None}
        return {key: value for key, value in given.items() if value is not None}

    @staticmethod
    def of(entries: Mapping[str, Any], folder: Path) -> BasketsDeclaration:
        """Read the section of a study; a file is looked for beside the study, and so is the folder to work in."""
        known_keys("[baskets]", entries, [field.name for field in fields(BasketsDeclaration)])
        if "source" not in entries:
            raise BadInputError("[baskets] needs source: a file, or the name of bundled baskets")
        given = dict(entries)
        for key in FILES:
            if isinstance(given.get(key), str) and (folder / given[key]).is_file():
                given[key] = str(folder / given[key])
        if isinstance(given.get("spill"), str):
            given["spill"] = beside(folder, given["spill"])
        return BasketsDeclaration(**given)
