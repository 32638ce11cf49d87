"""Declarations of data: the location of a data set and the roles of its columns, as a value that can be written.

A table has columns with roles. Sets of items are lines, rows of (owner, item), or a column of lists. The items of a
table's records are in one of its columns (a list, or items with a separator). Or they are in a second file with one
row per item and an owner column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from sfumato.config import options as option
from sfumato.config.sections import known_keys, option_words
from sfumato.data import bundled
from sfumato.data.coarsening import usual_most_cells
from sfumato.data.dataset import MixedTable
from sfumato.data.hierarchies import declared
from sfumato.data.hierarchies.classifications import CLASSIFICATIONS
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.item_reading import is_text_of_items, items_of_column, items_of_file, read_baskets, tied, with_tree
from sfumato.data.items import Baskets
from sfumato.data.reading import AllowedRanges, Missing, Roles, Table, with_roles
from sfumato.engines.frames import Frame, frame_kind
from sfumato.engines.item_files import find_rows
from sfumato.engines.locations import beside, check_secrets, input_files, seen_from
from sfumato.engines.notations import DayOrder
from sfumato.engines.protocol import Engine, Reading
from sfumato.errors import BadInputError
from sfumato.runtime.memory import read_size
from sfumato.texts.catalogue import refusal, t

IN_STUDY = "[table.hierarchy] of the study"
"""The place of hierarchies of single columns, for messages."""


PLACES = ("source", "tree", "hierarchies", "spill")
"""The fields that may name files and folders, relative to the study's folder."""


class SectionDeclaration:
    """A section of a study that declares data. Declarations are frozen dataclasses of this kind."""

    section: ClassVar[str]
    bundled_as: ClassVar[str] = ""
    """The description of bundled data as a source, besides a file, if a source is required."""

    bundled_names: ClassVar[Mapping[str, Collection[str]]]
    """The names of bundled data, by field."""

    unsaid: ClassVar[tuple[Any, ...]] = (None, ())
    """Values that are not written."""

    def __post_init__(self) -> None:
        option.check_options(self)
        memory = getattr(self, "memory", None)
        if memory is not None:
            read_size("memory", memory)

    def _is_bundled(self, name: str) -> bool:
        given = getattr(self, name)
        return isinstance(given, str) and given in self.bundled_names.get(name, ()) and not Path(given).is_file()

    @property
    def is_bundled(self) -> bool:
        """Whether the source is the name of bundled data."""
        return self._is_bundled("source")

    @property
    def files(self) -> list[Path]:
        """The files that opening the data reads."""
        given = {name: getattr(self, name) for name in ("source", "tree") if not self._is_bundled(name)}
        return [Path(file) for file in given.values() if file is not None]

    def entries(self, folder: Path | None) -> dict[str, Any]:
        """Return the section of the study; file names relative to a folder, if one is given."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        said = {name: value for name, value in given.items() if value not in self.unsaid}
        entries = {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}
        named = [key for key in PLACES if folder is not None and key in entries and not self._is_bundled(key)]
        return entries | {key: seen_from(folder, entries[key]) for key in named}  # type: ignore[arg-type]

    @classmethod
    def of(cls, entries: Mapping[str, Any], folder: Path) -> Self:
        """Read the section of a study; files are relative to the study, and so is the spill folder."""
        known = option.described(cls)
        known_keys(f"[{cls.section}]", entries, known)
        if cls.bundled_as and "source" not in entries:
            raise refusal("needs_source", section=cls.section, bundled_as=cls.bundled_as)
        if cls.bundled_as and not isinstance(entries["source"], str):
            raise refusal("source_must_text", shortened=option.shortened(entries["source"]))
        several = {key for key, value in entries.items() if isinstance(value, list) and known[key].several}
        values = {key: tuple(value) if key in several else value for key, value in entries.items()}
        for key in PLACES:
            given = values.get(key)
            if isinstance(given, str) and (given not in cls.bundled_names.get(key, ()) or (folder / given).is_file()):
                values[key] = beside(folder, given)
        return cls(**values)


@dataclass(frozen=True)
class TableDeclaration(SectionDeclaration):
    """A file, frame or bundled table with the roles of its columns; a bundled one has default roles and hierarchies."""

    source: Annotated[str | Frame, option.SOURCE]
    """In Python also a path or a frame."""

    quasi: Annotated[tuple[str, ...], option.QUASI] = ()
    sensitive: Annotated[tuple[str, ...], option.SENSITIVE] = ()
    neutral: Annotated[tuple[str, ...], option.NEUTRAL] = ()
    identifier: Annotated[tuple[str, ...], option.IDENTIFIER] = ()
    person: Annotated[str | None, option.PERSON] = None
    one_record_per_person: Annotated[bool, option.ONE_RECORD_PER_PERSON] = False
    household: Annotated[str | None, option.HOUSEHOLD] = None
    hierarchies: Annotated[str | None, option.HIERARCHIES] = None
    hierarchy: Annotated[Mapping[str, declared.Declared], option.HIERARCHY] = field(default_factory=dict, repr=False)
    """Not printed, because a draft lists values of records."""

    weights: Annotated[Mapping[str, float], option.WEIGHTS] = field(default_factory=dict)
    missing: Annotated[Missing, option.MISSING_VALUES] = "value"
    na: Annotated[tuple[str, ...], option.NA] = ()
    delimiter: Annotated[str | None, option.DELIMITER] = None
    encoding: Annotated[str | None, option.ENCODING] = None
    sheet: Annotated[str | None, option.SHEET] = None
    header: Annotated[bool | None, option.HEADER] = None
    header_row: Annotated[int | None, option.HEADER_ROW] = None
    columns: Annotated[tuple[str, ...], option.COLUMNS] = ()
    decimal_comma: Annotated[tuple[str, ...], option.DECIMAL_COMMA] = ()
    decimal_point: Annotated[tuple[str, ...], option.DECIMAL_POINT] = ()
    dates: Annotated[DayOrder | None, option.DATES] = None
    as_written: Annotated[tuple[str, ...], option.AS_WRITTEN] = ()
    engine: Annotated[str | None, option.ENGINE] = None
    memory: Annotated[str | None, option.MEMORY] = None
    spill: Annotated[str | None, option.SPILL] = None
    most_cells: Annotated[int | None, option.MOST_CELLS] = None
    ranges: Annotated[AllowedRanges | None, option.RANGES] = None

    section: ClassVar[str] = "table"
    bundled_as: ClassVar[str] = "a bundled table"
    bundled_names: ClassVar[Mapping[str, Collection[str]]] = {"source": bundled.DATASETS}
    unsaid: ClassVar[tuple[Any, ...]] = (None, {})

    def __post_init__(self) -> None:
        if not isinstance(self.source, str | Frame):
            source = str(self.source) if isinstance(self.source, Path) else Frame.of(self.source)
            object.__setattr__(self, "source", source)
        for name, each in option.described(type(self)).items():
            if each.several and isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        super().__post_init__()
        check_secrets(self.source)
        for name, what in (("hierarchy", "hierarchies"), ("weights", "numbers")):
            if not isinstance(getattr(self, name), Mapping):
                raise refusal("must_map_columns", name=name, what=what, getattr=getattr(self, name))

    @property
    def files(self) -> list[Path]:
        """The files that opening the table reads."""
        files = [] if self.is_bundled else input_files(self.source)
        if self.hierarchies is not None:
            files += declared.level_tables(Path(self.hierarchies)) or [Path(self.hierarchies)]
        named = map(declared.level_table_of, self.hierarchy.values())
        return files + [path for path in named if path is not None]

    @property
    def reading(self) -> Reading:
        """How the source is read."""
        return Reading(na=self.na, **{name: getattr(self, name) for name in READING})

    def open_rows(self) -> Engine:
        """Open the rows, independent of roles."""
        return bundled.open_source(self.source, self.reading)

    def open(self, rows: Engine | None = None) -> Table:
        """Open the table."""
        given: dict[str, declared.Declared] = bundled.hierarchies(str(self.source)) if self.is_bundled else {}
        if self.hierarchies is not None:
            given |= declared.read_hierarchies(Path(self.hierarchies))
        for column, entry in self.hierarchy.items():
            given[column] = entry if isinstance(entry, declared.Filed | Hierarchy) else declared.Filed(entry, IN_STUDY)
        most = usual_most_cells(self.memory) if self.most_cells is None else self.most_cells
        table = with_roles(rows or self.open_rows(), self.roles, given, self.missing, most_cells=most)
        kind = frame_kind(self.source.content) if isinstance(self.source, Frame) else table.kind
        return replace(table, kind=kind, ranges=self.ranges, memory=self.memory)

    @property
    def roles(self) -> Roles:
        """The roles of the columns, with the defaults of a bundled table."""
        quasi, sensitive = self.quasi, self.sensitive
        if self.is_bundled:
            usual = bundled.find(str(self.source))
            quasi, sensitive = quasi or usual.quasi, sensitive or usual.sensitive
        return Roles(
            quasi,
            sensitive,
            self.neutral,
            self.identifier,
            self.household,
            tuple(self.weights.items()),
            self.person,
            self.one_record_per_person,
        )

    @classmethod
    def of(cls, entries: Mapping[str, Any], folder: Path) -> Self:
        """Read the section of a study; file names are relative to its folder."""
        hierarchies = entries.get("hierarchy")
        if isinstance(hierarchies, dict):
            entries = {**entries, "hierarchy": _with_files(hierarchies, lambda file: beside(folder, file))}
        return super().of(entries, folder)

    def entries(self, folder: Path | None) -> dict[str, Any]:
        """Return the section of the study; file names relative to a folder, if one is given."""
        if isinstance(self.source, Frame):
            raise refusal("study_of_a_frame", table_declaration=self)
        entries = super().entries(folder)
        if self.hierarchy:
            hierarchies = {name: _hierarchy_entry(name, one) for name, one in self.hierarchy.items()}
            seen = hierarchies if folder is None else _with_files(hierarchies, lambda file: seen_from(folder, file))
            entries["hierarchy"] = seen
        return entries


READING = tuple(
    each.name for each in fields(Reading) if each.name != "na" and each.name in option.described(TableDeclaration)
)
"""The fields of reading options."""


def _with_files(hierarchies: Mapping[str, Any], place: Callable[[str], str]) -> dict[str, Any]:
    """Return hierarchies with changed file names."""
    return {column: place(one) if isinstance(one, str) else one for column, one in hierarchies.items()}


def _hierarchy_entry(column: str, given: Any) -> Any:
    if isinstance(given, Hierarchy):
        raise refusal("hierarchy_made_in_python", column=column)
    if isinstance(given, declared.Filed):
        return given.content
    return str(given) if isinstance(given, Path) else given


@dataclass(frozen=True)
class BasketsDeclaration(SectionDeclaration):
    """A file of baskets, or bundled ones: lines of items, rows of (owner, item), or a column of lists."""

    source: Annotated[str, option.BASKET_SOURCE]
    id: Annotated[str | None, option.ID] = None
    item: Annotated[str | None, option.ITEM] = None
    column: Annotated[str | None, option.COLUMN] = None
    separator: Annotated[str | None, option.SEPARATOR] = None
    lines: Annotated[bool | None, option.LINES] = None
    tree: Annotated[str | None, option.TREE] = None
    encoding: Annotated[str | None, option.ENCODING] = None
    memory: Annotated[str | None, option.MEMORY] = None
    spill: Annotated[str | None, option.SPILL] = None
    person: Annotated[str | None, option.PERSON] = None

    section: ClassVar[str] = "baskets"
    bundled_as: ClassVar[str] = "bundled baskets"
    bundled_names: ClassVar[Mapping[str, Collection[str]]] = {"source": bundled.BASKETS, "tree": CLASSIFICATIONS}

    def open(self) -> Baskets:
        """Open the baskets."""
        if self.is_bundled:
            if self.person is not None:
                raise refusal("person_of_bundled_baskets", baskets=self)
            return with_tree(bundled.load_baskets(self.source), self.tree)
        bundled.check_named(self.source, "baskets", bundled.BASKETS)
        said = {
            each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("source", "id", "lines")
        }
        return read_baskets(Path(self.source), who=self.id, lines=bool(self.lines), **said)

    def with_columns(self) -> Self:
        """Return the declaration with the detected columns of a text file with one item per row."""
        if self.is_bundled or self.lines or not is_text_of_items(self.source, self.id, self.column):
            return self
        rows = find_rows(Path(self.source), self.encoding, self.separator, self.person)
        if rows is None:
            return self
        separator = rows.separator if rows.separator == " " else self.separator
        return replace(self, id=rows.who, item=rows.item, separator=separator)

    def options(self) -> list[str]:
        """Return the command-line options that open the same baskets."""
        return [*([] if self.is_bundled else ["--baskets"]), *option_words(self, ("source",))]


@dataclass(frozen=True)
class ItemsDeclaration(SectionDeclaration):
    """The place of the items of records, their tree, and the sensitive ones."""

    column: Annotated[str | None, option.ITEM_COLUMN] = None
    source: Annotated[str | None, option.ITEMS_FILE] = None
    id: Annotated[str | None, option.ITEM_OWNER] = None
    item: Annotated[str | None, option.ITEM_OF] = None
    separator: Annotated[str | None, option.ITEM_SEPARATOR] = None
    tree: Annotated[str | None, option.ITEM_TREE] = None
    sensitive: Annotated[tuple[str, ...], option.SENSITIVE_ITEMS] = ()

    section: ClassVar[str] = "items"
    bundled_names: ClassVar[Mapping[str, Collection[str]]] = {"tree": CLASSIFICATIONS}

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.column is None) == (self.source is None):
            raise refusal("items_in_two_places")
        if self.source is not None and (self.id is None or self.item is None):
            raise refusal("second_file_without_columns", items_declaration=self)
        if self.source is None and (self.id is not None or self.item is not None):
            raise refusal("id_item_about_second")
        if self.source is not None and self.separator is not None:
            raise refusal("second_file_item_per")
        twice = [label for n, label in enumerate(self.sensitive) if label in self.sensitive[:n]]
        if twice:
            raise refusal("sensitive_item_named_twice", twice=twice[0])

    @property
    def name(self) -> str:
        """The name of the column of items in the published file."""
        return self.column or self.item or "items"

    @property
    def named(self) -> str:
        """The column of the table with the items, or with their owner."""
        return self.column or self.id or ""

    @property
    def option(self) -> str:
        """The option of that column."""
        return "--items" if self.column else "--id"

    def options(self) -> list[str]:
        """Return the command-line options that open the same items."""
        names = {"column": "items", "source": "items_file", "sensitive": "sensitive_items"}
        words = []
        for each in fields(self):
            given, typed = getattr(self, each.name), option.spelled(names.get(each.name, each.name)).replace(" ", "=")
            for text in given if isinstance(given, tuple) else (given,):
                words += [] if text is None else [f"{typed}={text}"]
        return words


Part = Literal["attributes", "items", "person"]
"""The possible parts of a data set."""

ATTRIBUTES: frozenset[Part] = frozenset({"attributes"})
ITEMS: frozenset[Part] = frozenset({"items"})
BOTH = ATTRIBUTES | ITEMS


@dataclass(frozen=True)
class DataDeclaration:
    """The declaration of a data set: rows with attributes, sets of items, or rows whose records have items."""

    table: TableDeclaration | None = None
    items: ItemsDeclaration | BasketsDeclaration | None = None

    def __post_init__(self) -> None:
        if self.table is None and not isinstance(self.items, BasketsDeclaration):
            raise refusal("study_items_needs_table")
        if self.table is not None and isinstance(self.items, ItemsDeclaration):
            _check_beside_items(self.table, self.items)

    @staticmethod
    def of(content: Mapping[str, Any], folder: Path) -> DataDeclaration:
        """Read the sections of a study that declare its data."""
        if "items" not in content and "baskets" in content:
            return DataDeclaration(items=BasketsDeclaration.of(content["baskets"], folder))
        table = TableDeclaration.of(content["table"], folder) if isinstance(content.get("table"), dict) else None
        items = ItemsDeclaration.of(content["items"], folder) if "items" in content else None
        return DataDeclaration(table, items)

    @property
    def declared(self) -> tuple[TableDeclaration | ItemsDeclaration | BasketsDeclaration, ...]:
        """The declarations, in order."""
        return tuple(each for each in (self.table, self.items) if each is not None)

    @property
    def sets(self) -> BasketsDeclaration:
        """The sets of items of a data set without attributes."""
        assert isinstance(self.items, BasketsDeclaration)
        return self.items

    @property
    def beside(self) -> ItemsDeclaration:
        """The items of a data set with attributes."""
        assert isinstance(self.items, ItemsDeclaration)
        return self.items

    @property
    def has(self) -> frozenset[Part]:
        """The parts of the data set."""
        named = any(getattr(each, "person", None) is not None for each in self.declared)
        person: frozenset[Part] = frozenset({"person"}) if named else frozenset()
        return person | (ATTRIBUTES if self.table is not None else set()) | (ITEMS if self.items is not None else set())

    @property
    def section(self) -> str:
        """The section of `study.toml` and of `points.json` that identifies the kind of data."""
        return self.declared[-1].section

    @property
    def source(self) -> str:
        """The file, or bundled data, of the records."""
        return str(self.declared[0].source)

    @property
    def files(self) -> list[Path]:
        """The files that opening it reads."""
        return [file for each in self.declared for file in each.files]

    def entries(self, folder: Path | None) -> dict[str, Any]:
        """Return the sections of the study; file names relative to a folder, if one is given."""
        return {each.section: each.entries(folder) for each in self.declared}

    @property
    def rows(self) -> TableDeclaration:
        """The table, with item and owner columns read unchanged; raise if there are only items."""
        if self.table is None:
            raise refusal("these_sets_items", source=self.source)
        if not isinstance(self.items, ItemsDeclaration):
            return self.table
        return replace(self.table, as_written=tuple(dict.fromkeys((*self.table.as_written, self.items.named))))

    def open_rows(self) -> Engine:
        """Open the rows of the table; item and owner columns are read unchanged."""
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
            raise refusal("no_column_of_items", rows=rows, items=items, columns=", ".join(map(repr, rows.columns[:30])))
        table = self.table.open(rows)
        if items.column is not None:
            held = items_of_column(table, items.column, items.separator)
        else:
            assert items.source is not None and items.id is not None and items.item is not None
            held = items_of_file(table, items.source, items.id, items.item)
        return tied(table, held, items.name, items.named, items.tree, items.sensitive)

    def with_table(self, **changes: Any) -> DataDeclaration:
        """Return the declaration with changes of the table."""
        assert self.table is not None, t("notice.no_table")
        return replace(self, table=replace(self.table, **changes))


def _check_beside_items(roles: TableDeclaration, items: ItemsDeclaration) -> None:
    """Refuse roles that are not supported with a column of items."""
    if roles.neutral:
        raise refusal("neutral_beside_items", roles=roles)
    if roles.household is not None:
        raise refusal("household_column")
    if roles.person is not None:
        raise refusal("person_beside_items", roles=roles)
    said = {"quasi": roles.quasi, "sensitive": roles.sensitive, "identifier": roles.identifier}
    for role, columns in said.items():
        if items.name in columns:
            raise refusal("items_with_a_role", items=items, role=role)
        if items.id in columns and role != "identifier":
            raise refusal("column_names_persons", id=items.id, role=role)


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
    """Read a table whose records have a set of items: in one of its columns, or in a second file with one row per item.

    `columns` are the further arguments of `read`: `sensitive`, `identifier`, `missing`, `na`, ...

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
