"""Options that several commands share, as groups: a command takes a group as one value, its user types single options.

The help of an option comes from its declaration (`vocabulary`), so the two are always equal.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache, partial, wraps
from importlib.resources import files
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from sfumato.config import options as shared
from sfumato.config.options import SETTINGS, Option, spelled
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import refusal, t

if TYPE_CHECKING:
    from sfumato.data.declaration import BasketsDeclaration, DataDeclaration, TableDeclaration
    from sfumato.engines.protocol import Engine
    from sfumato.tradeoff.study.study import Study

OUTPUT = "Output and settings"
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable output.", rich_help_panel=OUTPUT)]
Details = Annotated[
    bool, typer.Option("--details", help="Print all results, not only the first lines.", rich_help_panel=OUTPUT)
]
LISTED = "; repeat, or separate by commas"
SEVERAL_FILES = "; of several, the last that contains a column decides"
ABOUT_TABLES = (
    "is about tables, and these are baskets; leave it out, or read a table whose records have items (--items COLUMN)"
)


def option(declared: Option, more: str = "") -> Any:
    """Make a command-line option from the declaration of a study's option."""
    return typer.Option(help=f"{declared.meaning[:-1]}{more}.")


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with groups as single options for Typer, and rare options as keys of --set."""
    groups: dict[str, type] = {}
    single: list[Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for parameter in signature(command).parameters.values():
        hint = hints[parameter.name]
        if isinstance(hint, type) and is_dataclass(hint):
            groups[parameter.name] = hint
            single += _parameters(hint)
        else:
            single.append(_parameter((command.__name__,), parameter.name, hint, parameter.default))
    rare = {each.name: each for each in single if each.name in SETTINGS and each.default is not Parameter.empty}
    parameters = [each for each in single if each.name not in rare] + ([_set_option(rare)] if rare else [])

    @wraps(command)
    def called(**values: Any) -> None:
        values |= read_settings(values.pop("settings", []), rare)
        for name, kind in groups.items():
            values[name] = kind(**{each.name: values.pop(each.name) for each in fields(kind)})
        command(**values)

    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    called.rare = rare  # type: ignore[attr-defined]
    del called.__wrapped__
    return called


class CommandWithSettings(TyperCommand):
    """A command that refuses the former spelling of a rare option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Explain the spelling of a rare option."""
        for word in args[: args.index("--")] if "--" in args else args:
            name = word.removeprefix("--").partition("=")[0]
            key = name.removeprefix("no-").replace("-", "_")
            if word.startswith("--") and key in getattr(self.callback, "rare", ()):
                value = "no" if name.startswith("no-") else "VALUE"
                raise refusal("setting_now", name=name, spelled=spelled(key), value=value)
        return super().parse_args(ctx, args)


def _set_option(rare: Mapping[str, Parameter]) -> Parameter:
    keys = ", ".join(sorted(name.replace("_", "-") for name in rare))
    told = typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help=f"A rare setting; repeat. Keys: {keys}. KEY alone explains it.",
        rich_help_panel=OUTPUT,
    )
    return Parameter("settings", Parameter.KEYWORD_ONLY, default=[], annotation=Annotated[list[str], told])


def read_settings(given: list[str], rare: Mapping[str, Parameter]) -> dict[str, Any]:
    """Parse `KEY=VALUE` texts; a key of a list may be given several times."""
    values = {name: each.default for name, each in rare.items()}
    seen: set[str] = set()
    for text in given:
        written, sign, value = text.partition("=")
        name = written.strip().replace("-", "_")
        if name not in rare:
            known = ", ".join(sorted(key.replace("_", "-") for key in rare))
            raise refusal("set_setting_not_known", text=text, written=written.strip(), known=known)
        plain, info = get_args(rare[name].annotation)
        if not sign:
            raise BadInputError(f"--set {written}=VALUE: {info.help}")
        read = partial(_setting_value, text, value)
        if get_origin(plain) is list:
            values[name] = [*(values[name] if name in seen else []), read(*get_args(plain))]
        else:
            if name in seen:
                raise refusal("set_given_twice", text=text, written=written.strip())
            values[name] = read(next((kind for kind in get_args(plain) if kind is not NoneType), plain))
        seen.add(name)
    return values


def _setting_value(text: str, value: str, kind: type) -> Any:
    """Parse one value into the type of its option."""
    if kind is bool:
        if value not in ("yes", "no"):
            raise refusal("set_yes_no_expected", text=text)
        return value == "yes"
    try:
        return kind(value)
    except ValueError:
        raise refusal("set_expected", text=text, kind="whole number" if kind is int else "number") from None


@cache
def _parameters(group: Any) -> tuple[Parameter, ...]:
    """Return the single options of a group; cached, because reading type hints is slow."""
    hints = get_type_hints(group, include_extras=True)
    owners = [each.__name__ for each in group.__mro__]
    made = []
    for each in fields(group):
        default = each.default if each.default_factory is MISSING else each.default_factory()
        made.append(_parameter(owners, each.name, hints[each.name], default, group.panel))
    return tuple(made)


def _parameter(owners: Iterable[str], name: str, hint: Any, default: Any, panel: str | None = None) -> Parameter:
    """Make one option, or argument, for Typer, with its help from `help.toml`; switches have no opposite."""
    given = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    usual = typer.Argument() if default is Parameter.empty else typer.Option()
    plain, info = given[0], copy(given[1]) if len(given) > 1 else usual
    if info.help is None:
        info.help = next(told[name] for owner in (*owners, "shared") if name in (told := help_texts().get(owner, {})))
    info.rich_help_panel = panel or info.rich_help_panel
    if plain is bool and info.default is ... and not info.param_decls:  # Typer stores its first name as default
        info.param_decls = (f"--{name.replace('_', '-')}",)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[plain, info])


@cache
def help_texts() -> Mapping[str, Mapping[str, str]]:
    """Read the help of options, by command or group."""
    return tomllib.loads((files("sfumato.commands") / "help.toml").read_text(encoding="utf-8"))


class OptionGroup:
    """Base of groups: the given options, and the heading in `--help`."""

    panel: ClassVar[str | None] = None

    def values(self) -> dict[str, Any]:
        """Return all options by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def _typed(self, name: str) -> str:
        """Return the spelling of one of its options."""
        info = next(get_args(each.annotation)[1] for each in _parameters(type(self)) if each.name == name)  # type: ignore[arg-type]
        return spelled(name) if name in SETTINGS or not info.param_decls else str(info.param_decls[0]).partition("/")[0]

    def given(self) -> Mapping[str, Any]:
        """Return the options that differ from their defaults, by spelling."""
        usual = {each.name: each.default for each in fields(self)}  # type: ignore[arg-type]
        return {
            self._typed(name): value
            for name, value in self.values().items()
            if value not in ([], None) and value != usual[name]
        }


def refuse(given: Mapping[str, object], why: str) -> None:
    """Raise if an inapplicable option was given."""
    for name, value in given.items():
        if value:
            raise BadInputError(f"{name} {why}")


@dataclass(frozen=True)
class TextFile(OptionGroup):
    """The format of a text file."""

    panel: ClassVar[str | None] = "Reading a file"
    delimiter: Annotated[str | None, option(shared.DELIMITER)] = None
    encoding: Annotated[str | None, option(shared.ENCODING)] = None
    sheet: Annotated[str | None, option(shared.SHEET)] = None
    header: Annotated[bool | None, typer.Option("--header/--no-header", help=shared.HEADER.meaning)] = None
    header_row: Annotated[int | None, option(shared.HEADER_ROW)] = None
    columns: Annotated[list[str], option(shared.COLUMNS, ": a,b,c, or repeat")] = field(default_factory=list)
    engine: Annotated[str | None, option(shared.ENGINE)] = None
    memory: Annotated[str | None, option(shared.MEMORY)] = None
    spill: Annotated[str | None, option(shared.SPILL)] = None

    def refuse_for_baskets(self) -> None:
        """Raise if an option for tables was given."""
        shared = set(map(spelled, ("delimiter", "encoding", "memory", "spill")))
        refuse(dict.fromkeys((name for name in self.given() if name not in shared), True), ABOUT_TABLES)

    def declared(self) -> dict[str, Any]:
        """Return the reading options of a table's declaration."""
        names = self.columns[0].split(",") if len(self.columns) == 1 else self.columns
        values = self.values() | {"columns": [name.strip() for name in names]}
        return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


@dataclass(frozen=True)
class Notations(TextFile):
    """The format of a text file and of its values."""

    decimal_comma: Annotated[list[str], option(shared.DECIMAL_COMMA, "; repeat")] = field(default_factory=list)
    decimal_point: Annotated[list[str], option(shared.DECIMAL_POINT, "; repeat")] = field(default_factory=list)
    dates: Annotated[str | None, option(shared.DATES)] = None
    as_written: Annotated[list[str], option(shared.AS_WRITTEN, "; repeat")] = field(default_factory=list)


@dataclass(frozen=True)
class TextReading(Notations):
    """The options for reading a file."""

    na: Annotated[list[str], option(shared.NA, "; repeat")] = field(default_factory=list)


@dataclass(frozen=True)
class TableReading(TextReading):
    """The options for reading a table from which releases are made."""

    most_cells: Annotated[int | None, option(shared.MOST_CELLS)] = None
    ranges: Annotated[str | None, option(shared.RANGES)] = None


@dataclass(frozen=True)
class Others(OptionGroup):
    """The quasi-identifiers."""

    panel: ClassVar[str | None] = "Columns"
    quasi: Annotated[list[str], option(shared.QUASI, LISTED)] = field(default_factory=list)


@dataclass(frozen=True)
class Known(Others):
    """The quasi-identifiers and the sensitive attributes."""

    sensitive: Annotated[list[str], option(shared.SENSITIVE)] = field(default_factory=list)


@dataclass(frozen=True)
class Named(Known):
    """The roles of columns for a check."""

    identifier: Annotated[list[str], option(shared.IDENTIFIER)] = field(default_factory=list)
    person: Annotated[str | None, option(shared.PERSON)] = None
    one_record_per_person: Annotated[bool, option(shared.ONE_RECORD_PER_PERSON)] = False

    def refuse_for_baskets(self, more: Mapping[str, object] | None = None) -> None:
        """Raise where something was given that is about tables only: baskets have a person and no other column."""
        refuse({**self.given(), "--person": None, **(more or {})}, ABOUT_TABLES)

    def of_rows(self, rows: Engine) -> dict[str, tuple[str, ...]]:
        """Return the roles with comma lists split, unless a column has the whole name."""
        lists = {name: given for name, given in self.values().items() if isinstance(given, list)}
        return {name: columns(given, rows.columns) for name, given in lists.items() if given}


@dataclass(frozen=True)
class RoleOptions(Named):
    """The roles of all published columns."""

    neutral: Annotated[list[str], option(shared.NEUTRAL)] = field(default_factory=list)
    household: Annotated[str | None, option(shared.HOUSEHOLD)] = None

    def single_columns(self) -> dict[str, Any]:
        """Return the person and household options, which do not depend on the columns."""
        return {name: getattr(self, name) for name in ("household", "person", "one_record_per_person")}


@dataclass(frozen=True)
class OfBaskets(OptionGroup):
    """The place of items in a file of sets of items."""

    panel: ClassVar[str | None] = "Sets of items"
    baskets: bool = False
    id: Annotated[str | None, option(shared.ID)] = None
    item: Annotated[str | None, option(shared.ITEM)] = None
    column: Annotated[str | None, option(shared.COLUMN)] = None
    separator: Annotated[str | None, option(shared.SEPARATOR)] = None
    lines: Annotated[bool, option(shared.LINES)] = False
    tree: Annotated[str | None, option(shared.TREE)] = None

    def are_meant(self, source: str) -> bool:
        """Return whether a source is baskets: by the option, or by the name of bundled ones."""
        from sfumato.data.bundled import BASKETS

        return self.baskets or (source in BASKETS and not Path(source).is_file())

    def declaration(self, source: str, reading: TextFile, person: str | None = None) -> BasketsDeclaration:
        """Return the declaration of the baskets, and of their persons."""
        from sfumato.data.declaration import BasketsDeclaration

        reading.refuse_for_baskets()
        separator = self.separator or reading.delimiter
        at = self.id, self.item, self.column, separator, self.lines or None, self.tree
        return BasketsDeclaration(source, *at, reading.encoding, reading.memory, reading.spill, person)

    def declared_in(
        self,
        name: str,
        reading: TextFile,
        separator: str | None = None,
        encoding: str | None = None,
        person: str | None = None,
    ) -> BasketsDeclaration:
        """Return the declaration of baskets in a study, bundled, or in a file with these options."""
        from sfumato.auditing.question import study_file
        from sfumato.data.declaration import BasketsDeclaration
        from sfumato.tradeoff.study.study import read_study

        path = study_file(name)
        if path is None:
            at = self.id, self.item, self.column, separator, self.lines or None, self.tree
            return BasketsDeclaration(name, *at, encoding, reading.memory, reading.spill, person)
        if separator is not None:
            raise refusal("set_original_separator", path=path)
        study = read_study(str(path))
        declared = study.data.items
        if not isinstance(declared, BasketsDeclaration):
            raise refusal("study_about_table", name=name)
        return declared if self.tree is None else replace(declared, tree=self.tree)

    def refuse_for_table(self, more: Mapping[str, object] | None = None) -> None:
        """Raise if an option for sets of items was given."""
        refuse({**self.given(), **(more or {})}, t("notice.about_sets_items"))


@dataclass(frozen=True)
class OfTable(OptionGroup):
    """The declarations of a table besides its roles."""

    hierarchies: Annotated[
        list[Path], option(shared.HIERARCHIES, "; of several, the last that contains a column decides")
    ] = field(default_factory=list)
    weight: Annotated[list[str], option(shared.WEIGHTS, "; repeat, or separate by commas")] = field(
        default_factory=list
    )
    missing: Annotated[str, option(shared.MISSING_VALUES)] = "value"

    def declaration(self, source: str, roles: RoleOptions, reading: TableReading) -> TableDeclaration:
        """Return the declaration of the table, with the roles that do not depend on its columns."""
        from sfumato.data.declaration import TableDeclaration

        first = str(self.hierarchies[0]) if self.hierarchies else None
        declared = TableDeclaration(source, **roles.single_columns(), hierarchies=first, **reading.declared())
        return self._said_of(declared, self.hierarchies[1:])

    def declared(self, source: str, study: Study | None, roles: RoleOptions, reading: TableReading) -> DataDeclaration:
        """Return the declaration of the table or the study, with given options replacing the study's."""
        from sfumato.data.declaration import DataDeclaration

        if study is None:
            return DataDeclaration(self.declaration(source, roles, reading))
        read = {name: value for name, value in reading.declared().items() if value not in ((), None)}
        table = replace(study.table, household=roles.household or study.table.household, **read)
        return replace(study.data, table=self._said_of(table, self.hierarchies))

    def _said_of(self, declared: TableDeclaration, hierarchies: list[Path]) -> TableDeclaration:
        from sfumato.data.cells import read_weights
        from sfumato.data.hierarchies.declared import read_hierarchies

        return replace(
            declared,
            hierarchy={
                **declared.hierarchy,
                **{k: v for path in hierarchies for k, v in read_hierarchies(path).items()},
            },
            weights={**declared.weights, **read_weights(self.weight)},
            missing=self.missing if self.missing != "value" else declared.missing,  # type: ignore[arg-type]
        )


@dataclass(frozen=True)
class Writing(OptionGroup):
    """The options for writing a file."""

    escape_formulas: bool = False
    force: bool = False


def columns(given: list[str], known: Any) -> tuple[str, ...]:
    """Split comma lists, unless a column has the whole name."""
    names: list[str] = []
    for text in given:
        names.extend([text] if text in known else [part.strip() for part in text.split(",") if part.strip()])
    return tuple(names)


@dataclass(frozen=True)
class OfItems(OptionGroup):
    """A set of items of each record, in addition to the columns of a table."""

    panel: ClassVar[str | None] = OfBaskets.panel
    items: Annotated[str | None, option(shared.ITEM_COLUMN)] = None
    items_file: Annotated[str | None, option(shared.ITEMS_FILE)] = None
    sensitive_items: Annotated[list[str], option(shared.SENSITIVE_ITEMS, LISTED)] = field(default_factory=list)

    @property
    def are_meant(self) -> bool:
        """Whether the table has a set of items for every record."""
        return self.items is not None or self.items_file is not None

    def declaration(self, table: TableDeclaration, sets: OfBaskets) -> DataDeclaration:
        """Return the declaration of the table and its items."""
        from sfumato.data.declaration import DataDeclaration, ItemsDeclaration

        refuse({"--baskets": sets.baskets, "--set column": sets.column}, t("notice.about_sets_without_table"))
        named = columns(self.sensitive_items, ())
        at = self.items, self.items_file, sets.id, sets.item, sets.separator, sets.tree
        return DataDeclaration(table, ItemsDeclaration(*at, named))

    def refuse_alone(self) -> None:
        """Raise if an option for items was given without their place."""
        refuse(self.given(), t("notice.about_items_records"))
