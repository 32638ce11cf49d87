"""Where a table and the items of its records are: everything needed to open both, as a value that can be written down.

The items stand in a column of the table (a list, or items with something between them), or in a second file with one
row per item and a column that says whose it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from sfumato.config.options import (
    ITEM_COLUMN,
    ITEM_OF,
    ITEM_OWNER,
    ITEM_SEPARATOR,
    ITEM_TREE,
    ITEMS_FILE,
    SENSITIVE_ITEMS,
    check_options,
    spelled,
)
from sfumato.data.basket_declaration import BasketsDeclaration, ItemFiles
from sfumato.data.dataset import MixedTable
from sfumato.data.declaration import TableDeclaration
from sfumato.data.item_reading import items_of_column, items_of_file, tied
from sfumato.engines.protocol import Engine
from sfumato.errors import BadInputError


@dataclass(frozen=True)
class ItemsDeclaration(ItemFiles):
    """Where the items of records are, what is known of them, and which are sensitive."""

    column: Annotated[str | None, ITEM_COLUMN] = None
    source: Annotated[str | None, ITEMS_FILE] = None
    id: Annotated[str | None, ITEM_OWNER] = None
    item: Annotated[str | None, ITEM_OF] = None
    separator: Annotated[str | None, ITEM_SEPARATOR] = None
    tree: Annotated[str | None, ITEM_TREE] = None
    sensitive: Annotated[tuple[str, ...], SENSITIVE_ITEMS] = ()

    section: ClassVar[str] = "items"

    def __post_init__(self) -> None:
        check_options(self)
        if (self.column is None) == (self.source is None):
            raise BadInputError(
                "the items of a record stand in a column of the table (--items COLUMN) or in a second file "
                "(--items-file FILE --id COLUMN --item COLUMN); name one of the two"
            )
        if self.source is not None and (self.id is None or self.item is None):
            raise BadInputError(
                f"{self.source}: a second file of items needs the column that both files name a person by (--id) and "
                "the column of items (--item)"
            )
        if self.source is None and (self.id is not None or self.item is not None):
            raise BadInputError("--id and --item are about a second file of items; name it (--items-file)")
        if self.source is not None and self.separator is not None:
            raise BadInputError("a second file has one item per row, so no separator (--separator); leave it out")
        twice = [label for n, label in enumerate(self.sensitive) if label in self.sensitive[:n]]
        if twice:
            raise BadInputError(f"the sensitive item {twice[0]!r} is named twice")

    @property
    def name(self) -> str:
        """What the column of items is called in the published file."""
        return self.column or self.item or "items"

    @property
    def named(self) -> str:
        """The column of the table that holds the items, or names whose they are."""
        return self.column or self.id or ""

    @property
    def option(self) -> str:
        """The option that names that column."""
        return "--items" if self.column else "--id"

    def options(self) -> list[str]:
        """Write what the command line needs to open the same items."""
        names = {"column": "items", "source": "items_file", "sensitive": "sensitive_items"}
        words = []
        for each in fields(self):
            given, typed = getattr(self, each.name), spelled(names.get(each.name, each.name)).replace(" ", "=")
            for text in given if isinstance(given, tuple) else (given,):
                words += [] if text is None else [f"{typed}={text}"]
        return words


Part = Literal["attributes", "items", "person"]
"""What a data set may have."""

ATTRIBUTES: frozenset[Part] = frozenset({"attributes"})
ITEMS: frozenset[Part] = frozenset({"items"})
BOTH = ATTRIBUTES | ITEMS


@dataclass(frozen=True)
class DataDeclaration:
    """Where a data set is: rows with attributes, or sets of items, or rows whose records have items."""

    table: TableDeclaration | None = None
    items: ItemsDeclaration | BasketsDeclaration | None = None

    def __post_init__(self) -> None:
        if self.table is None and not isinstance(self.items, BasketsDeclaration):
            raise BadInputError("a study with [items] needs [table], too: the rows whose items these are")
        if self.table is not None and isinstance(self.items, ItemsDeclaration):
            _check_beside_items(self.table, self.items)

    @staticmethod
    def of(content: Mapping[str, Any], folder: Path) -> DataDeclaration:
        """Read the sections of a study that say where its data are."""
        if "items" not in content and "baskets" in content:
            return DataDeclaration(items=BasketsDeclaration.of(content["baskets"], folder))
        table = TableDeclaration.of(content["table"], folder) if isinstance(content.get("table"), dict) else None
        items = ItemsDeclaration.of(content["items"], folder) if "items" in content else None
        return DataDeclaration(table, items)

    @property
    def declared(self) -> tuple[TableDeclaration | ItemsDeclaration | BasketsDeclaration, ...]:
        """What is declared, in order."""
        return tuple(each for each in (self.table, self.items) if each is not None)

    @property
    def sets(self) -> BasketsDeclaration:
        """The sets of items of which there is nothing else."""
        assert isinstance(self.items, BasketsDeclaration)
        return self.items

    @property
    def beside(self) -> ItemsDeclaration:
        """The items beside attributes."""
        assert isinstance(self.items, ItemsDeclaration)
        return self.items

    @property
    def has(self) -> frozenset[Part]:
        """What the data set has."""
        person: frozenset[Part] = frozenset({"person"}) if self.table is not None and self.table.person else frozenset()
        return person | (ATTRIBUTES if self.table is not None else set()) | (ITEMS if self.items is not None else set())

    @property
    def section(self) -> str:
        """The section of `study.toml` and of `points.json` that tells the data from those of other studies."""
        return self.declared[-1].section

    @property
    def source(self) -> str:
        """The file, or bundled data, that has the records."""
        return str(self.declared[0].source)

    @property
    def files(self) -> list[Path]:
        """The files that opening it reads."""
        return [file for each in self.declared for file in each.files]

    def entries(self, folder: Path | None) -> dict[str, Any]:
        """Write the sections of a study; files named as seen from a folder, if one is given."""
        return {each.section: each.entries(folder) for each in self.declared}

    @property
    def rows(self) -> TableDeclaration:
        """The table, where what names items or persons is read as it is written; raise where there are items alone."""
        if self.table is None:
            raise BadInputError(f"{self.source}: these are sets of items, and this is about the columns of a table")
        if not isinstance(self.items, ItemsDeclaration):
            return self.table
        return replace(self.table, as_written=tuple(dict.fromkeys((*self.table.as_written, self.items.named))))

    def open_rows(self) -> Engine:
        """Open the rows of the table; what names items or persons is read as it is written."""
        try:
            return self.rows.open_rows()
        except BadInputError as error:
            if not isinstance(self.items, ItemsDeclaration) or f"{self.items.named!r} (--as-written)" not in str(error):
                raise
            raise BadInputError(str(error).replace("--as-written", self.items.option)) from None

    def open(self, rows: Engine | None = None) -> Any:
        """Open the data: a table, sets of items, or a table with these."""
        if self.table is None or self.items is None:
            return self.declared[0].open() if rows is None else self.rows.open(rows)  # type: ignore[union-attr]
        rows, items = rows or self.open_rows(), self.items
        assert isinstance(items, ItemsDeclaration)
        if items.named not in rows.columns:
            raise BadInputError(
                f"{rows.origin}: there is no column {items.named!r} ({items.option}); the columns are "
                f"{', '.join(map(repr, rows.columns[:30]))}"
            )
        table = self.table.open(rows)
        if items.column is not None:
            held = items_of_column(table, items.column, items.separator)
        else:
            assert items.source is not None and items.id is not None and items.item is not None
            held = items_of_file(table, items.source, items.id, items.item)
        return tied(table, held, items.name, items.named, items.tree, items.sensitive)

    def with_table(self, **changes: Any) -> DataDeclaration:
        """Return the same with something else said of the table."""
        assert self.table is not None, "there is no table"
        return replace(self, table=replace(self.table, **changes))


def _check_beside_items(roles: TableDeclaration, items: ItemsDeclaration) -> None:
    """Refuse roles that are not known beside a column of items."""
    if roles.neutral:
        raise BadInputError(
            f"the column {roles.neutral[0]!r} is to be published as it is (--neutral); beside a column of items "
            "nothing is: it would tell records of a group apart. Make it quasi or sensitive, or leave it out"
        )
    if roles.household is not None:
        raise BadInputError("a household column (--household) is not known beside a column of items; leave it out")
    if roles.person is not None:
        raise BadInputError("persons (--person) are not counted beside a column of items; leave the option out")
    said = {"quasi": roles.quasi, "sensitive": roles.sensitive, "identifier": roles.identifier}
    for role, columns in said.items():
        if items.name in columns:
            raise BadInputError(
                f"the column {items.name!r} holds the items (--items), so it has no role of its own; do not name it as "
                f"--{role}. Sensitive items are named one by one (--sensitive-items)"
            )
        if items.id in columns and role != "identifier":
            raise BadInputError(f"the column {items.id!r} names persons (--id); do not name it as --{role}")


def read_mixed(
    source: Any,
    *,
    quasi: Iterable[str],
    items: str | None = None,
    items_file: str | Path | None = None,
    id: str | None = None,
    item: str | None = None,
    separator: str | None = None,
    tree: str | Path | None = None,
    sensitive_items: Iterable[str] = (),
    **columns: Any,
) -> MixedTable:
    """Read a table whose records have a set of items: in a column of it, or in a second file with one row per item.

    `columns` are what `read` takes beside the quasi-identifiers: `sensitive`, `identifier`, `missing`, `na`, ...

    >>> import pyarrow
    >>> frame = pyarrow.table({"age": ["34", "36", "51"], "codes": [["250"], ["250", "401"], []]})
    >>> read_mixed(frame, quasi=["age"], items="codes").baskets.items
    ('250', '401')
    """
    given: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in columns.items()}
    held = ItemsDeclaration(
        items,
        None if items_file is None else str(items_file),
        id,
        item,
        separator,
        None if tree is None else str(tree),
        tuple(sensitive_items),
    )
    return DataDeclaration(TableDeclaration(source, tuple(quasi), **given), held).open()  # type: ignore[no-any-return]
