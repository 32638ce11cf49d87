"""Configurations: frozen dataclasses with a text form that can be parsed and printed.

`k-anonymity k=10`, `l-diversity l=3 variant=distinct on="marital status"`, `mondrian mode=relaxed`: a name, then
keys with values. A value with blanks or quotes is in double quotes, with inner quotes doubled. A list has commas
between its values (`columns=age,sex`), each quoted separately if needed.

A field declares its type and an `Option` with bounds and conditions; the docstring below it is its meaning:

    k: Annotated[int, Option(least=1)]
    '''The least number of records in every group.'''

Parsing and printing of texts, checks with their messages, texts for people, tables in the docs, `sfumato options` and
JSON Schema (`sfumato.options`) follow from these.

Also the options that studies and the command line share: the source of data and the roles of columns. A field of a
declaration has one of these (`TableDeclaration`, `BasketsDeclaration`), and the command-line option
of the same name shows the same sentence. Nothing heavy is imported here, because `--help` reads it.
"""

import ast
import inspect
import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from dataclasses import field as dataclass_field
from functools import cache
from importlib import import_module
from importlib.resources import files
from itertools import pairwise
from types import NoneType
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from sfumato.errors import BadInputError

TOKEN = re.compile(
    r"""\s*(?:(?P<key>[A-Za-z_][\w-]*)\s*=\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^\s"]+)))(?=\s|$)"""
)
LARGEST = 1e300
"""The largest parameter, because kernels use floating-point numbers."""

PLAIN = re.compile(r"""[^\s"=&]+""")


@dataclass(frozen=True)
class Option:
    """The declaration of one field of a configuration."""

    meaning: str = ""
    """Its meaning, in one or two sentences. Empty if the docstring below the field has it."""

    least: float | None = None
    more_than: float | None = None
    most: float | None = None
    when: tuple[str, ...] = ()
    """Another field and the values of it with which this one applies; otherwise it must have its default."""

    needed: str = ""
    """An example value, if the field is required where it applies and has no default."""

    takes: str = ""
    """The kind of thing that a text names: a column (quasi, sensitive, column, columns), a requirement, a file, ...

    With `values`, `hierarchies` and `weights` the value is an object.
    """

    rare: bool = False
    """Whether a written file contains it only if it differs from the default."""

    words: Mapping[str, str] = dataclass_field(default_factory=dict)
    """Texts for single values; `""` has the text for all others, with `{}` for the value."""

    def __hash__(self) -> int:
        return hash((self.meaning, self.when))


Kinds = tuple["type[Configured]", ...]


@dataclass(frozen=True)
class Described:
    """A field with its option, from which forms, docs and checks are made."""

    name: str
    key: str
    """Its key in texts and files."""

    type: type
    """int, float, bool or str; object for a value with its own options."""

    several: bool
    """Whether it is a list of such values."""

    choices: tuple[str, ...]
    """All allowed values, if they are listed."""

    optional: bool
    """Whether it may be omitted (None)."""

    default: Any
    """`MISSING` if it is required."""

    option: Option
    owner: Any
    """The class of the field."""

    kinds: Kinds = ()
    """The possible configurations of its text, if it is one."""

    of_text: Callable[[str], Any] | None = None
    """The parser of one of its values, if the field declares one."""

    @property
    def meaning(self) -> str:
        """Its meaning, in one or two sentences."""
        return self.option.meaning or _docstrings_of_fields(self.owner).get(self.name, "")

    def check(self, value: Any) -> None:
        """Raise unless the field accepts the value."""
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
        """Parse a value by the type of the field; for a list, all values between commas."""
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
    """Declare the seed of a random maker; `decides` describes its effect."""
    secret = (
        "None draws it from the system, so nobody can repeat it; a number makes the release repeatable, and must then "
        "be kept as secret as the table."
    )
    return Option(f"{decides} {secret}", least=0, when=when)


def _whole(least: float | None) -> int:
    return -int(LARGEST) if least is None else int(least)


def described(kind: Any) -> Mapping[str, Described]:
    """Return the fields of a configuration that have an option, by name."""
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
    """Return the docstrings below the fields of a class and its bases."""
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
    except (OSError, TypeError):  # a class from an interactive session
        return {}
    return {each.name: each.body for each in tree.body if isinstance(each, ast.ClassDef)}


def _shape(hint: Any) -> tuple[type, bool, tuple[str, ...], bool]:
    """Return from a type hint the plain type, whether it is a list, the choices, and whether it may be None."""
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
    """Return the configurations among the alternatives of a hint."""
    return tuple(kind for kind in get_args(hint) or (hint,) if isinstance(kind, type) and issubclass(kind, Configured))


def check_options(value: Any) -> None:
    """Raise unless every applicable field of a configuration has a value that its option allows."""
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
    """Base of requirements, anonymizers and the like: a frozen dataclass that prints as its text form."""

    name: ClassVar[str]
    title: ClassVar[str] = ""
    """Its name in sentences, if different."""

    example: ClassVar[str | None] = None
    """An example of its text form, if its keys do not suffice."""

    unwritten: ClassVar[tuple[str, ...]] = ()
    """Fields that have no text form."""

    def __post_init__(self) -> None:
        check_options(self)

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{key}={text}" for key, text in self._unusual())])

    def _unusual(self) -> list[tuple[str, str]]:
        """List the fields that differ from their defaults, as keys and texts."""
        values = [(field, getattr(self, field.name)) for field in fields(self)]  # type: ignore[arg-type]
        return [
            (field.name.replace("_", "-"), value_text(value))
            for field, value in values
            if field.name not in self.unwritten and (field.default is MISSING or value != field.default)
        ]

    def in_words(self) -> str:
        """Return its name for people, with differences from the defaults in brackets."""
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
    """An ordered set of kinds, each imported at its first use.

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
    """Parse a configuration; unknown names and keys are errors that list the known ones."""
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
            raise BadInputError(f"{what} {text.strip()!r}: the key {key!r} appears twice")
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
    """Return a value as it is written after its key, quoted if needed."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = ",".join(quoted_name(str(each)) for each in value) if isinstance(value, tuple) else str(value)
    return text if PLAIN.fullmatch(text) else '"' + text.replace('"', '""') + '"'


def without_seed(maker: Maker) -> Maker:
    """Return a maker with the default seed: its own would reproduce the release."""
    usual = {field.name: field.default for field in fields(maker) if field.name == "seed"}  # type: ignore[arg-type]
    return replace(maker, **usual)  # type: ignore[type-var]


def split_outside_quotes(text: str, separator: str) -> list[str]:
    """Split a text at a one-character separator outside of double quotes."""
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
    """Parse `name=value, "other, name"=value`; messages name `field`."""
    entries: dict[str, str] = {}
    for part in split_outside_quotes(text, ",") if text.strip() else []:
        name, equals, value = part.strip().rpartition("=")
        name = unquoted(name.strip())
        if not equals or not name:
            raise BadInputError(f"{field}: cannot read {part.strip()!r}; write for example {field}={example!r}")
        if name in entries:
            raise BadInputError(f"{field}: {name!r} appears twice")
        entries[name] = value.strip()
    return list(entries.items())


def unquoted(name: str) -> str:
    """Remove the quotes of a name, if any."""
    return name[1:-1].replace('""', '"') if len(name) > 1 and name[0] == name[-1] == '"' else name


def quoted_name(name: str) -> str:
    """Quote a name if `named_entries` needs it."""
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
    """Return a value for a message, shortened."""
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
"""Rare options of commands, by the keys of `--set KEY=VALUE`."""


def spelled(name: str) -> str:
    """Return the command-line spelling of an option without its value.

    >>> spelled("quasi"), spelled("header_row")
    ('--quasi', '--set header-row')
    """
    return f"--{'set ' if name in SETTINGS else ''}{name.replace('_', '-')}"


_NAMED = re.compile(
    rf"(?<![\w-])--({'|'.join(sorted((name.replace('_', '-') for name in SETTINGS), key=len, reverse=True))})(?![\w-])"
    r"(?:[ =]([A-Z]{2,}\b|'[^']*'|\"[^\"]*\"|any\b|drop\b|value\b|spark\b|day-first|common\b|[^\s(),;]+(?=[),])))?"
)
"""An option that is a setting, with its placeholder or value."""


def as_typed(sentence: str) -> str:
    """Replace the options in a sentence by their command-line spelling: sentences name settings as options.

    >>> as_typed("correct it, or declare it missing (--na ?); --sheet names another, --as-written COLUMN none")
    'correct it, or declare it missing (--set na=?); --set sheet names another, --set as-written=COLUMN none'
    """
    return _NAMED.sub(lambda found: f"--set {found[1]}" + (f"={found[2]}" if found[2] else ""), sentence)


TAKES = {
    "file": "SOURCE HIERARCHIES SPILL BASKET_SOURCE TREE ITEMS_FILE ITEM_TREE",
    "columns": "QUASI SENSITIVE NEUTRAL IDENTIFIER DECIMAL_COMMA DECIMAL_POINT AS_WRITTEN",
    "column": "HOUSEHOLD PERSON ID ITEM COLUMN ITEM_COLUMN ITEM_OWNER ITEM_OF",
    "hierarchies": "HIERARCHY",
    "weights": "WEIGHTS",
    "anonymizer": "ANONYMIZERS ITEM_ANONYMIZERS",
    "requirement": "REQUIREMENTS",
    "utility": "UTILITY",
    "limit": "LIMIT",
    "merging": "MERGING",
}
"""The options that name a thing of each kind; further bounds; rare options."""

BOUNDS: Mapping[str, Any] = {"MOST_CELLS": {"least": 1}, "KNOWN": {"least": 1}, "SUPPRESS": {"least": 0, "most": 1}}
RARE = "LATTICE UTILITY LIMIT SETS FOUND"


def __getattr__(name: str) -> Option:
    """Return a shared option; its text is in the catalogue (`options.toml`)."""
    if name not in shared_meanings():
        raise AttributeError(name)
    takes = next((kind for kind, names in TAKES.items() if name in names.split()), "")
    return Option(shared_meanings()[name], takes=takes, rare=name in RARE.split(), **BOUNDS.get(name, {}))


@cache
def shared_meanings() -> Mapping[str, str]:
    """Read the texts of shared options."""
    content = tomllib.loads((files("sfumato") / "texts/en/options.toml").read_text(encoding="utf-8"))
    return cast(Mapping[str, str], content["option"])
