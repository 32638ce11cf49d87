"""Objects that are their configuration: frozen dataclasses with a text form that parses and prints back.

`k-anonymity k=10`, `l-diversity l=3 variant=distinct on="marital status"`, `mondrian mode=relaxed`: a name, then
keys with values. A value with blanks or quotes stands in double quotes, inner quotes doubled. A list has commas between
its values (`columns=age,sex`), each in quotes of its own where it needs them.

A field declares its type and an `Option` with bounds and when it applies; the docstring below it says what it means:

    k: Annotated[int, Option(least=1)]
    '''How many records every group has at least.'''

From that follow reading and printing of texts, the checks with their messages, the words for people, the tables in the
docs, `sfumato options` and JSON Schema (`sfumato.options`).

The options that studies and the command line share, each said once: where data are and what their columns are.

A field of a declaration carries one of these (`table.TableDeclaration`, `transactions.BasketsDeclaration`), and the
command line's option of the same name shows the same sentence. Nothing heavy is imported here, since `--help` reads it.
"""

import ast
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from dataclasses import field as dataclass_field
from functools import cache
from importlib import import_module
from itertools import pairwise
from types import NoneType
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from sfumato.errors import BadInputError

TOKEN = re.compile(
    r"""\s*(?:(?P<key>[A-Za-z_][\w-]*)\s*=\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^\s"]+)))(?=\s|$)"""
)
LARGEST = 1e300
"""No parameter is larger: kernels read parameters as floating-point numbers."""

PLAIN = re.compile(r"""[^\s"=&]+""")


@dataclass(frozen=True)
class Option:
    """What one field of a configuration is, said once."""

    meaning: str = ""
    """In one sentence, or two: what it does. Empty where the docstring below the field has it."""

    least: float | None = None
    more_than: float | None = None
    most: float | None = None
    when: tuple[str, ...] = ()
    """A field and the values of it with which this one applies; elsewhere it must be left at its default."""

    needed: str = ""
    """What to write where it applies and is not given: it has no default then."""

    takes: str = ""
    """What a text stands for: a column (quasi, sensitive, column, columns), a requirement, an anonymizer, a file.

    `values`, `hierarchies` and `weights` are no texts but objects.
    """

    rare: bool = False
    """Whether a file that is written says it only where it is not as usual."""

    words: Mapping[str, str] = dataclass_field(default_factory=dict)
    """How single values are put to people; `""` has the way of all others, with `{}` for the value."""

    def __hash__(self) -> int:
        return hash((self.meaning, self.when))


Kinds = tuple["type[Configured]", ...]


@dataclass(frozen=True)
class Described:
    """A field with its option: what forms, docs and checks are made of."""

    name: str
    key: str
    """How it is written in texts and files."""

    type: type
    """int, float, bool or str; object for a value that has options of its own."""

    several: bool
    """Whether it is a list of such values."""

    choices: tuple[str, ...]
    """All that it may be, where that is a list."""

    optional: bool
    """Whether it may be left unsaid (None)."""

    default: Any
    """`MISSING` where it must be given."""

    option: Option
    owner: Any
    """The class that has the field."""

    kinds: Kinds = ()
    """What its text can be, where it is a configuration of its own."""

    of_text: Callable[[str], Any] | None = None
    """Who reads one of its values from a text, where the field says so beside its option."""

    @property
    def meaning(self) -> str:
        """What it does, in one sentence or two."""
        return self.option.meaning or _docstrings_of_fields(self.owner).get(self.name, "")

    def check(self, value: Any) -> None:
        """Raise unless the value is one that this field takes."""
        if value is None and self.optional:
            return
        if not self.several:
            self._check_one(value)
        elif isinstance(value, tuple) and (self.type is not str or all(isinstance(each, str) for each in value)):
            for each in value:
                self._check_one(each)
        else:
            kind = {str: "texts", int: "whole numbers", float: "numbers"}.get(self.type, "values")
            raise BadInputError(f"{self.key} must be a list of {kind}, not {shortened(value)}")

    def _check_one(self, value: Any) -> None:
        option = self.option
        if option.takes == "values" and not isinstance(value, Mapping):
            raise BadInputError(f"{self.key} must be an object of names and values, not {shortened(value)}")
        if self.choices:
            check_choice(self.key, value, self.choices)
        elif self.type is int:
            check_whole(self.key, value, least=_whole(option.least), most=option.most)
        elif self.type is float:
            strict = option.more_than is not None
            least = option.more_than if option.more_than is not None else option.least
            most = math.inf if option.most is None else option.most
            check_number(self.key, value, least=-LARGEST if least is None else least, strict=strict, most=most)
        elif not isinstance(value, self.type):
            wanted = "true or false" if self.type is bool else "a text"
            raise BadInputError(f"{self.key} must be {wanted}, not {shortened(value)}")

    def read(self, text: str, value: str) -> Any:
        """Read a value from its text by the type of the field; of a list, all that stand between commas."""
        if not self.several:
            return self._read_one(text, value)
        return tuple(self._read_one(text, unquoted(part.strip())) for part in split_outside_quotes(value, ","))

    def _read_one(self, text: str, value: str) -> Any:
        try:
            if self.type is int:
                return int(value)
            if self.type is float:
                return float(value)
        except ValueError:
            wanted = "a whole number" if self.type is int else "a number"
            raise BadInputError(f"{text!r}: {self.key} must be {wanted}, not {shortened(value)}") from None
        return value


def seed_option(decides: str, when: tuple[str, ...] = ()) -> Option:
    """Declare the seed of a maker that draws at random; `decides` says what it decides."""
    secret = (
        "None draws it from the system, and nobody can repeat it; a number makes the release repeatable, and must then "
        "be kept as secret as the table."
    )
    return Option(f"{decides} {secret}", least=0, when=when)


def _whole(least: float | None) -> int:
    return -int(LARGEST) if least is None else int(least)


def described(kind: Any) -> Mapping[str, Described]:
    """List the fields of a configuration by name, each with its type and its option; fields without one are not."""
    return _described(kind)


@cache
def _described(kind: Any) -> Mapping[str, Described]:
    hints = get_type_hints(kind, include_extras=True)
    known = {}
    for each in fields(kind):
        if get_origin(hints[each.name]) is not Annotated:
            continue
        inner, *notes = get_args(hints[each.name])
        option = next((note for note in notes if isinstance(note, Option)), None)
        if option is not None:
            key = each.name.replace("_", "-") if issubclass(kind, Configured) else each.name
            default = each.default if each.default_factory is MISSING else each.default_factory()
            reads = next((note for note in notes if callable(note)), None)
            known[each.name] = Described(each.name, key, *_shape(inner), default, option, kind, _kinds(inner), reads)
    return known


@cache
def _docstrings_of_fields(kind: type) -> Mapping[str, str]:
    """Read the docstrings below the fields of a class and its bases."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        for field, below in pairwise(_classes_of(each.__module__).get(each.__name__, ())):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                found[ast.unparse(field.target)] = " ".join(str(below.value.value).split())
    return found


@cache
def _classes_of(module: str) -> Mapping[str, list[ast.stmt]]:
    """Parse a module of the package or of a plugin: the bodies of its classes."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):  # a class that was made in a session
        return {}
    return {each.name: each.body for each in tree.body if isinstance(each, ast.ClassDef)}


def _shape(hint: Any) -> tuple[type, bool, tuple[str, ...], bool]:
    """Read off a hint the plain type, whether there are several, the choices, and whether it may be None."""
    optional = NoneType in get_args(hint)
    if optional and (lists := [each for each in get_args(hint) if get_origin(each) is tuple]):
        hint = lists[0]
    several = get_origin(hint) is tuple
    if several:
        hint = get_args(hint)[0]
    kinds = [each for each in get_args(hint) if each is not NoneType]
    one = kinds[0] if NoneType in get_args(hint) else hint
    choices = get_args(one) if get_origin(one) is Literal else ()
    return str if choices else one if one in (int, float, bool, str) else object, several, choices, optional


def _kinds(hint: Any) -> Kinds:
    """List the configurations among the alternatives of a hint."""
    return tuple(kind for kind in get_args(hint) or (hint,) if isinstance(kind, type) and issubclass(kind, Configured))


def check_options(value: Any) -> None:
    """Raise unless every field of a configuration has a value that its option allows, where it applies."""
    known = described(type(value))
    for each in known.values():
        each.check(getattr(value, each.name))
    for each in known.values():
        given, (on, *values) = getattr(value, each.name), each.option.when or ("", "")
        if not on:
            continue
        other = getattr(value, on)
        if other in values and given is None and each.option.needed:
            raise BadInputError(f"{on}={other} needs {each.key} as well, for example {each.key}={each.option.needed}")
        if other not in values and given != each.default:
            allowed = " or ".join(f"{on}={choice}" for choice in values)
            raise BadInputError(f"{each.key} belongs to {allowed}, not to {on}={other}")


class Configured:
    """Base of requirements, anonymizers and the like: a frozen dataclass that prints as what a person would type."""

    name: ClassVar[str]
    title: ClassVar[str] = ""
    """How it is called in a sentence, where that is not its name."""

    example: ClassVar[str | None] = None
    """What to type, where that is not plain from the keys."""

    unwritten: ClassVar[tuple[str, ...]] = ()
    """Fields that no text can hold."""

    def __post_init__(self) -> None:
        check_options(self)

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{key}={text}" for key, text in self._unusual())])

    def _unusual(self) -> list[tuple[str, str]]:
        """List what differs from the defaults, as keys and texts."""
        values = [(field, getattr(self, field.name)) for field in fields(self)]  # type: ignore[arg-type]
        return [
            (field.name.replace("_", "-"), value_text(value))
            for field, value in values
            if field.name not in self.unwritten and (field.default is MISSING or value != field.default)
        ]

    def in_words(self) -> str:
        """Name it to people, with what is not usual about it in brackets."""
        known = described(type(self))
        phrases = ""
        for key, text in self._unusual():
            option = known.get(key.replace("-", "_"))
            words = {} if option is None else option.option.words
            phrase = words.get(text, words.get("", f"{key}={{}}")).format(text.strip('"'))
            phrases += phrase if phrase.startswith(" ") or not phrases else f", {phrase}"
        title = self.title or self.name
        return f"{title} ({phrases})" if phrases else title


Kind = TypeVar("Kind", bound=Configured)
Maker = TypeVar("Maker")


class Registry(Generic[Kind]):
    """Kinds in an order, each imported when it is first used.

    `Registry("sfumato.anonymizers", "mondrian mondrian.mondrian.Mondrian")` has one kind, called `mondrian`. Iterating
    imports all; `append` adds a class.
    """

    def __init__(self, package: str, *homes: str) -> None:
        self._kinds: dict[str, type[Kind] | str] = {}
        for name, home in (entry.split() for entry in homes):
            self._kinds[name] = f"{package}.{home}"

    def __iter__(self) -> Iterator[type[Kind]]:
        return (self[name] for name in self.names)

    def __len__(self) -> int:
        return len(self._kinds)

    def __getitem__(self, name: str) -> type[Kind]:
        kind = self._kinds[name]
        if isinstance(kind, str):
            module, _, class_name = kind.rpartition(".")
            kind = self._kinds[name] = getattr(import_module(module), class_name)
        return cast(type[Kind], kind)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._kinds)

    def append(self, kind: type[Kind]) -> None:
        """Add a kind under its own name."""
        self._kinds[kind.name] = kind


def parse(text: str, kinds: Iterable[type[Kind]], what: str) -> Kind:
    """Make the configured object that a text describes; unknown names and keys are errors that list the known."""
    name, rest = [*text.split(None, 1), "", ""][:2]
    known = kinds if isinstance(kinds, Registry) else {kind.name: kind for kind in kinds}
    names = known.names if isinstance(known, Registry) else tuple(known)
    if name not in names:
        raise BadInputError(f"unknown {what} {name!r}; known are {', '.join(names)}")
    kind: type[Kind] = known[name]
    allowed = {each.key: each for each in described(kind).values()}
    values: dict[str, Any] = {}
    for key, value in _tokens(text, rest):
        if key not in allowed:
            listed = ", ".join(allowed) or "none"
            raise BadInputError(f"{what} {text.strip()!r}: unknown key {key!r}; the keys of {name} are: {listed}")
        if allowed[key].name in values:
            raise BadInputError(f"{what} {text.strip()!r}: the key {key!r} stands twice")
        values[allowed[key].name] = allowed[key].read(text.strip(), value)
    lacking = [key for key, field in allowed.items() if field.default is MISSING and field.name not in values]
    if lacking:
        example = kind.example or f"{name} " + " ".join(f"{key}=..." for key in lacking)
        raise BadInputError(f"{what} {text.strip()!r}: {lacking[0]} is not given; write {example}")
    return kind(**values)


def _tokens(text: str, rest: str) -> list[tuple[str, str]]:
    tokens, position = [], 0
    while rest[position:].strip():
        match = TOKEN.match(rest, position)
        if match is None:
            raise BadInputError(f"{text.strip()!r}: cannot read {rest[position:].strip()!r}; write key=value")
        quoted = match["quoted"]
        tokens.append((match["key"], match["plain"] if quoted is None else quoted.replace('""', '"')))
        position = match.end()
    return tokens


def value_text(value: object) -> str:
    """Write a value as it stands behind its key, in quotes where it needs them."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = ",".join(quoted_name(str(each)) for each in value) if isinstance(value, tuple) else str(value)
    return text if PLAIN.fullmatch(text) else '"' + text.replace('"', '""') + '"'


def without_seed(maker: Maker) -> Maker:
    """Return a maker with the usual seed: with its own a release could be made again."""
    usual = {field.name: field.default for field in fields(maker) if field.name == "seed"}  # type: ignore[arg-type]
    return replace(maker, **usual)  # type: ignore[type-var]


def split_outside_quotes(text: str, separator: str) -> list[str]:
    """Split a text at a one-character separator that does not stand between double quotes."""
    parts, current, quoted = [], "", False
    for character in text:
        quoted ^= character == '"'
        if character == separator and not quoted:
            parts.append(current)
            current = ""
        else:
            current += character
    return [*parts, current]


def named_entries(field: str, text: str, example: str) -> list[tuple[str, str]]:
    """Read `name=value, "other, name"=value`; `field` is what the text says of the names, in messages."""
    entries: dict[str, str] = {}
    for part in split_outside_quotes(text, ",") if text.strip() else []:
        name, equals, value = part.strip().rpartition("=")
        name = unquoted(name.strip())
        if not equals or not name:
            raise BadInputError(f"{field}: cannot read {part.strip()!r}; write for example {field}={example!r}")
        if name in entries:
            raise BadInputError(f"{field}: {name!r} stands twice")
        entries[name] = value.strip()
    return list(entries.items())


def unquoted(name: str) -> str:
    """Take a name out of its quotes, if it stands in any."""
    return name[1:-1].replace('""', '"') if len(name) > 1 and name[0] == name[-1] == '"' else name


def quoted_name(name: str) -> str:
    """Put a name into quotes where `named_entries` needs them."""
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in ',="') or name != name.strip() else name


def check_number(name: str, value: object, *, least: float, strict: bool = False, most: float = math.inf) -> None:
    """Raise unless the value is a finite number within its bounds."""
    good = False
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST:
        good = (value > least if strict else value >= least) and value <= most
    if not good:
        bound = f"more than {least:g}" if strict else f"at least {least:g}"
        limit = "" if most == math.inf else f" and at most {most:g}"
        raise BadInputError(f"{name} must be a number of {bound}{limit}, not {shortened(value)}")


def check_whole(name: str, value: object, *, least: int, most: float | None = None) -> None:
    """Raise unless the value is a whole number within its bounds."""
    largest = LARGEST if most is None else most
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= largest:
        limit = "" if most is None else f" and at most {most:g}"
        raise BadInputError(f"{name} must be a whole number of at least {least}{limit}, not {shortened(value)}")


def shortened(value: object) -> str:
    """Show a value in a message, shortened."""
    try:
        text = repr(value)
    except ValueError:  # a whole number with thousands of digits
        return "a number with thousands of digits"
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise unless the value is one of the choices."""
    allowed = list(choices)
    if value not in allowed:
        raise BadInputError(f"{name} must be one of {', '.join(allowed)}, not {shortened(value)}")


SETTINGS = frozenset(
    re.findall(
        r"\w+",
        "as_written column columns dates decimal_comma decimal_point encoding engine escape_formulas header header_row "
        "include_neutral items_file layout legend limit lines memory merging missing most_cells na "
        "original_encoding original_separator ranges sensitive_items separator sets sheet spill utility weight",
    )
)
"""Rare options of commands, by the names of the keys that `--set KEY=VALUE` takes."""


def spelled(name: str) -> str:
    """Write an option as one types it on the command line, up to its value.

    >>> spelled("quasi"), spelled("header_row")
    ('--quasi', '--set header-row')
    """
    return f"--{'set ' if name in SETTINGS else ''}{name.replace('_', '-')}"


_NAMED = re.compile(
    rf"(?<![\w-])--({'|'.join(sorted((name.replace('_', '-') for name in SETTINGS), key=len, reverse=True))})(?![\w-])"
    r"(?:[ =]([A-Z]{2,}\b|'[^']*'|\"[^\"]*\"|any\b|drop\b|value\b|spark\b|day-first|common\b|[^\s(),;]+(?=[),])))?"
)
"""An option that is a setting, with what stands for its value."""


def as_typed(sentence: str) -> str:
    """Write the options that a sentence names as the command line takes them: sentences name settings as options.

    >>> as_typed("correct it, or declare it missing (--na ?); --sheet names another, --as-written COLUMN none")
    'correct it, or declare it missing (--set na=?); --set sheet names another, --set as-written=COLUMN none'
    """
    return _NAMED.sub(lambda found: f"--set {found[1]}" + (f"={found[2]}" if found[2] else ""), sentence)


SOURCE = Option(
    "A file (CSV, Excel, SPSS, Parquet, ...), a folder or pattern of many, a database's table, or a bundled table.",
    takes="file",
)
QUASI = Option("Columns an outsider may know.", takes="columns")
SENSITIVE = Option("Columns nobody should learn about a person.", takes="columns")
NEUTRAL = Option("Columns to publish as they are.", takes="columns")
IDENTIFIER = Option("Columns that name a person: never published.", takes="columns")
HOUSEHOLD = Option("The column that says who lives together: never published.", takes="column")
PERSON = Option(
    "The column that says whose record it is, where a person may have several: never published; groups are then "
    "counted in different persons.",
    takes="column",
)
ONE_RECORD_PER_PERSON = Option("Declares that every record is another person, although an identifier repeats.")
HIERARCHIES = Option("A TOML file, or a folder of level tables <table>_hierarchy_<column>.csv.", takes="file")
HIERARCHY = Option("Hierarchies of single columns, which come before those of the file or folder.", takes="hierarchies")
WEIGHTS = Option(
    "How much a loss in a quasi-identifier counts beside the others, such as age=2: 1 where nothing is said; with 0 it "
    "does not count.",
    takes="weights",
)
MISSING_VALUES = Option("A missing value is a value of its own (value), or its record is dropped (drop).")
NA = Option("Texts that mean missing, beside the empty one.")
DELIMITER = Option("The delimiter of a text file, if it is guessed wrongly.")
ENCODING = Option("The encoding of a text file, if it is guessed wrongly.")
SHEET = Option("The sheet of a workbook, if it is not the first.")
HEADER = Option("Whether the first record is the names of the columns, if it is guessed wrongly.")
HEADER_ROW = Option("The row of a sheet (or line of a text file) with the names of the columns, below a title.")
COLUMNS = Option("The names of the columns, where the file has none or others.")
DECIMAL_COMMA = Option("Columns whose numbers have a decimal comma (1.234,5), if guessed wrongly.", takes="columns")
DECIMAL_POINT = Option("Columns whose numbers have a decimal point (1,234.5), if guessed wrongly.", takes="columns")
DATES = Option("The order in dates such as 05/06/1999 where no value tells it: day-first or month-first.")
AS_WRITTEN = Option("Columns whose texts are left as they are: no blank, number or date is read.", takes="columns")
ENGINE = Option("Who reads the rows, where the source does not say it: duckdb or spark.")
MEMORY = Option("How much memory the engine takes before it works on disk, such as 4GB.")
SPILL = Option("A folder for what does not fit into memory; by default the system's temporary one.", takes="file")
MOST_CELLS = Option(
    "Columns are coarsened until there are at most so many distinct combinations; by default what fits into memory.",
    least=1,
)
RANGES = Option(
    "The finest ranges that a release may publish: rounded ends, or whole nodes of hierarchies (node); without it, "
    "anonymizers choose.",
)

BASKET_SOURCE = Option("A file of sets of items (lines, rows or lists), or the name of bundled baskets.", takes="file")
ID = Option("Of baskets in rows: the column that says whose an item is.", takes="column")
ITEM = Option("Of baskets in rows: the column of items.", takes="column")
LINES = Option("Of baskets in lines: every line is a basket, although the file looks like a table or has a header.")
COLUMN = Option("Of baskets in lists: the column that holds them, if there are several.", takes="column")
SEPARATOR = Option("Of baskets in lines: what separates items, if it is guessed wrongly.")
TREE = Option(
    "Of baskets: the tree of items, as a level table (each with what it is generalized to), or icd-9-cm or icd-10.",
    takes="file",
)
KNOWN = Option("Of baskets: how many items of a person an attacker may know.", least=1)

ITEM_COLUMN = Option("The column that holds a set of items: a list, or items with a separator.", takes="column")
ITEMS_FILE = Option("A second file with the items of the records, one per row (--id, --item).", takes="file")
ITEM_OWNER = Option("Of a second file of items: the column that says whose an item is, in both files.", takes="column")
ITEM_OF = Option("Of a second file of items: its column of items.", takes="column")
ITEM_SEPARATOR = Option("What separates the items of a field, if it is guessed wrongly.")
ITEM_TREE = Option(
    "The tree of items: a level table (each with what it is generalized to), or icd-9-cm or icd-10.", takes="file"
)
SENSITIVE_ITEMS = Option(
    "Items, or nodes of their tree, that nobody should learn about a person: what a requirement on the column of items "
    "is about."
)

ANONYMIZERS = Option("Who makes the release: names with their options.", takes="anonymizer")
REQUIREMENTS = Option("What every group must satisfy, parts joined by &.", takes="requirement")
IN_FORMS = Option("Generalization (boxes), or bucketization (exact quasi-identifiers, dealt-out values).")
SUPPRESS = Option("The largest share of records that may be left out.", least=0, most=1)
LATTICE = Option(
    "Of full-domain alone: whether every feasible transformation is a candidate, not the optimum alone.", rare=True
)
UTILITY = Option("Of baskets: which items may go together.", takes="utility", rare=True)
LIMIT = Option("Of baskets: what may be left out.", takes="limit", rare=True)
ITEM_ANONYMIZERS = Option("Of a table with items: who makes the items of every group anonymous.", takes="anonymizer")
MERGING = Option("Of a table with items: how groups are merged so that their items lose less.", takes="merging")
SETS = Option(
    "Of a table with items: whether a published set lists items of its group (group: a reader learns that somebody in "
    "the group has each) or is a node of one tree over all items (common: it says nothing more of the group).",
    rare=True,
)
