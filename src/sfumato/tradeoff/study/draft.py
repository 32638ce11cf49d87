"""A first study of a table: guessed roles, declared hierarchies and usual candidates, as a commented TOML file.

The file is for editing, so each guess has its reason. `sfumato explore` can run it unchanged in about a minute: its
bounds cover the whole table, and `first_map` chooses feasible candidates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, cast

import tomlkit
from tomlkit.items import Item

from sfumato.config.options import as_typed, check_whole
from sfumato.config.sections import SCHEMA
from sfumato.data import bundled
from sfumato.data._column_names import HOUSEHOLD, Role, may_number_persons, meaning_of
from sfumato.data.cells import Cells
from sfumato.data.declaration import ITEMS, READING, BasketsDeclaration, DataDeclaration, TableDeclaration
from sfumato.data.guessing import SAMPLE, Guess, guess, shown
from sfumato.data.hierarchies.categorical import similar_groups
from sfumato.data.items import Baskets
from sfumato.data.persons import is_repeated_key
from sfumato.data.reading import check_columns
from sfumato.engines.frames import Frame
from sfumato.engines.locations import seen_from, split_table
from sfumato.engines.protocol import Engine
from sfumato.errors import BadInputError
from sfumato.measures.reconstruction import UniformReader
from sfumato.runtime.arrays import RedactedRepr
from sfumato.runtime.staging import check_targets, staged
from sfumato.texts.catalogue import t
from sfumato.texts.html import render
from sfumato.tradeoff.study import presets
from sfumato.tradeoff.study.first_map import FirstMap, first_map
from sfumato.tradeoff.study.study import Study, read_study

ENOUGH_FOR_POPULATIONS = 200
"""The fewest records for which the loss of large populations (u_loss) is meaningful."""

ROLES: tuple[Role, ...] = ("identifier", "quasi", "sensitive", "neutral")


@dataclass(frozen=True, repr=False)
class Draft(RedactedRepr):
    """A table with the guesses about its columns, from which a first study is written."""

    public_fields: ClassVar[tuple[str, ...]] = ("guesses",)

    declaration: TableDeclaration
    records: int
    sampled: bool
    """Whether only a sample of the records was read."""

    guesses: tuple[Guess, ...]
    added_na: tuple[str, ...] = ()
    """Texts that were recognized as missing values."""

    notices: tuple[str, ...] = ()
    """Notices about reading the table."""

    cells: Cells | None = None
    """The table under these guesses; None if it cannot be opened so."""

    def of_role(self, role: Role | None) -> list[Guess]:
        """List the guesses of one role; None: the undecided ones."""
        return [guess_ for guess_ in self.guesses if guess_.role == role]

    @property
    def household(self) -> str | None:
        """The repeated identifier that is named like a household's key, if there is one."""
        if self.declaration.household is not None or self.declaration.person is not None:
            return self.declaration.household
        for guess_ in self.of_role("identifier"):
            meaning = meaning_of(guess_.column)
            if meaning is not None and meaning.what == HOUSEHOLD and guess_.distinct < self.records:
                return guess_.column
        return None

    @property
    def sensitive(self) -> list[str]:
        """The names of the sensitive columns."""
        return [guess_.column for guess_ in self.of_role("sensitive")]

    @cached_property
    def first(self) -> FirstMap:
        """The candidates and scales for the table."""
        return first_map(self.records, self.of_role("quasi"), self.of_role("sensitive"), self.cells)

    def to_toml(self, folder: Path | None = None) -> str:
        """Return the study as TOML; the table's file is relative to a folder, if one is given."""
        declared, first = self.declaration, self.first
        read = {name: getattr(declared, name) for name in READING}
        text = render(
            "study.toml",
            draft=self,
            declared=declared,
            first=first,
            schema=SCHEMA,
            name=_study_name(self._source(None)),
            axes=self._axes(),
            source=self._source(folder),
            in_memory=isinstance(declared.source, Frame),
            reading={name: value for name, value in read.items() if value not in (None, ())},
            added_na=", ".join(map(shown, self.added_na)),
            bundled=bundled.hierarchies(str(declared.source)) if declared.is_bundled else {},
            about=_about_entry,
            uniform=isinstance(first.scales.reader, UniformReader),
            toml=_toml,
            toml_key=lambda name: tomlkit.key(name).as_string(),
            one_line=_one_line,
            with_reasons=_with_reasons,
            lines=lambda texts: tomlkit.item(list(texts)).multiline(True).as_string(),
        )
        Study.from_toml(text)
        return text

    @cached_property
    def study(self) -> Study:
        """The study as a value, for Python; the study of a frame contains the frame."""
        study = Study.from_toml(self.to_toml())
        return study.with_table(source=self.declaration.source)

    def write(self, path: Path, force: bool = False) -> Path:
        """Write the whole study to a file or nothing."""
        check_targets([path], force, self.declaration.files)
        text = self.to_toml(path.parent)
        with staged([path]) as drafts:
            drafts[0].write_text(text, encoding="utf-8", newline="\n")
        return path

    def _axes(self) -> tuple[str, str]:
        if not self.sensitive:
            return "k", "loss"
        persons = None if self.cells is None else self.cells.persons
        people = self.records if persons is None else persons.number
        return "p_loss", "u_loss" if people >= ENOUGH_FOR_POPULATIONS else "loss"

    def _source(self, folder: Path | None) -> str:
        """Return the name of the table, relative to a folder, if one is given."""
        source = self.declaration.source
        if isinstance(source, Frame):
            return source.origin
        return source if folder is None or self.declaration.is_bundled else seen_from(folder, source)

    def timing(self) -> list[str]:
        """Return sentences about the size of the first map and its omissions."""
        return [
            t("draft.timing", releases=len(self.first.candidates)),
            *(t("draft.left_out", what=what) for what in self.first.left_out),
        ]


def draft(declaration: TableDeclaration | Any, sample: int = SAMPLE) -> Draft:
    """Read a table (a frame, a path, the name of a bundled table, a declaration) and guess its roles."""
    declared = declaration if isinstance(declaration, TableDeclaration) else TableDeclaration(declaration)
    check_whole("sample", sample, least=1)
    rows = declared.open_rows()
    roles = _decided(declared, rows)
    guesses = guess(rows, sample, roles)
    missing = {text for guess_ in guesses for text in guess_.missing_texts} - set(declared.na)
    if missing:
        declared = replace(declared, na=(*declared.na, *sorted(missing)))
        rows = declared.open_rows()
        guesses = guess(rows, sample, roles)
    if declared.is_bundled:
        known = bundled.hierarchies(str(declared.source))
        guesses = tuple(
            replace(guess_, advice="") if guess_.role and guess_.column in known else guess_ for guess_ in guesses
        )
    declared = replace(declared, person=_person(declared, rows, guesses))
    cells = _cells(declared, rows, guesses)
    if cells is not None and not declared.is_bundled and rows.row_count <= sample:
        grouped = _with_similar(cells, guesses)
        if grouped != guesses:
            guesses, cells = grouped, _cells(declared, rows, grouped)
    number = rows.row_count
    return Draft(declared, number, number > sample, guesses, tuple(sorted(missing)), tuple(rows.notices), cells)


def as_study(given: Any) -> Study:
    """Return a study from a study, its file or bundled name, a draft, or a frame, which is drafted."""
    if isinstance(given, str | Path):
        return read_study(str(given))
    if hasattr(given, "opened"):
        return cast(Study, given)
    return (given if isinstance(given, Draft) else draft(given)).study


def _decided(declared: TableDeclaration, rows: Engine) -> dict[str, Role]:
    """Return the declared roles by column; raise if a declaration is invalid."""
    given: dict[Role, tuple[str, ...]] = {role: getattr(declared, role) for role in ROLES}
    named = {name for names in given.values() for name in names} | {declared.household, declared.person}
    others = [name for name in rows.columns if name not in named and name not in rows.nested]
    quasi = given["quasi"] or tuple(others[:1])  # one of the guessed columns may become one
    check_columns(rows, replace(declared, quasi=quasi).roles)
    hidden = [name for name in (declared.household, declared.person) if name is not None]
    given["identifier"] = tuple(dict.fromkeys([*given["identifier"], *hidden]))
    return {name: role for role, names in given.items() for name in names}


def _person(declared: TableDeclaration, rows: Engine, guesses: Sequence[Guess]) -> str | None:
    """Propose the person column: a repeated key-like identifier, first those with such a name."""
    if declared.person is not None or declared.one_record_per_person or declared.household is not None:
        return declared.person
    given = [each.column for each in guesses if each.role == "identifier" and not each.missing]
    repeated = [name for name in given if is_repeated_key(rows, name)]
    return min(repeated, key=lambda name: not may_number_persons(name), default=None)


def _cells(declared: TableDeclaration, rows: Engine, guesses: tuple[Guess, ...]) -> Cells | None:
    """Open the table with the drafted declarations; None if that fails."""
    coded = {each.column: each.hierarchy for each in guesses if each.hierarchy is not None}
    names = {role: tuple(each.column for each in guesses if each.role == role) for role in ("quasi", "sensitive")}
    if not names["quasi"]:
        return None
    try:
        return replace(declared, **names, hierarchy=coded).open(rows).cells  # type: ignore[arg-type]
    except BadInputError:  # `check` reports it for the study, where it can be corrected
        return None


def _with_similar(cells: Cells, guesses: tuple[Guess, ...]) -> tuple[Guess, ...]:
    """Group the categories of quasi-identifiers without hierarchy by their similarity in the others."""
    if len(cells.quasi) < 2:
        return guesses
    flat = {each.column for each in guesses if each.role == "quasi" and (each.hierarchy or {}).get("type") == "flat"}
    names = [quasi.name for quasi in cells.quasi if quasi.name in flat and quasi.hierarchy.scale == "category"]
    groups = {name: similar_groups(cells, name) for name in names}
    return tuple(
        replace(each, hierarchy={"type": "groups", "groups": groups[each.column]}, advice=t("draft.similar"))
        if groups.get(each.column)
        else each
        for each in guesses
    )


# -- texts -------------------------------------------------------------------------------------------------------------


def _toml(value: Any) -> str:
    """Return a value in TOML syntax."""
    item: Item = tomlkit.item(list(value) if isinstance(value, tuple) else value)
    return item.as_string()


def _one_line(text: str) -> str:
    return shown(as_typed(text), most=10_000)


def _with_reasons(guesses: Sequence[Guess]) -> str:
    """Return the names of columns as a list, each with the reason of its guess."""
    array = tomlkit.array()
    for guess_ in guesses:
        array.add_line(guess_.column, comment=_one_line(guess_.reason))
    if guesses:
        array.add_line(indent="")
    return array.as_string()


def _about_entry(guess_: Guess) -> list[str]:
    """Return comments that describe a declared hierarchy and advise on it."""
    assert guess_.hierarchy is not None
    more = (key for key in ("open_above", "resolution", "observed") if key in guess_.hierarchy)
    says = t(f"draft.about_{guess_.hierarchy['type']}") + "".join(t(f"draft.{key}") for key in more)
    return [*f"{says}.".splitlines(), *([t("draft.look", advice=guess_.advice)] if guess_.advice else [])]


def _study_name(source: str) -> str:
    file, table = split_table(source)
    name = Path(file).name.partition(".")[0] if table is None else table.rpartition(".")[2].strip('"')
    return name or "study"


# -- items -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class ItemsDraft(RedactedRepr):
    """A first study of records with items, for editing, with notices."""

    study: Study
    data: Any
    ks: Sequence[int]

    @property
    def notices(self) -> Sequence[str]:
        """Notices about reading the data."""
        return self.data.notices  # type: ignore[no-any-return]

    @property
    def _items(self) -> int:
        return len(self._baskets.items)

    @property
    def _baskets(self) -> Baskets:
        return self.data if self._alone else self.data.baskets  # type: ignore[no-any-return]

    @property
    def _alone(self) -> bool:
        return self.study.parts == ITEMS

    def write(self, to: Path, force: bool = False) -> None:
        """Write the study with comments."""
        check_targets([to], force, self.study.data.files)
        hints = t("draft.hints_baskets" if self._alone else "draft.hints_items", to=to)
        with staged([to]) as [file]:
            file.write_text(hints + self.study.to_toml(to.parent), encoding="utf-8")

    def values(self, to: Path) -> dict[str, Any]:
        """Return the values of the JSON output."""
        quasi = {} if self._alone else {"quasi": [quasi.name for quasi in self.data.cells.quasi]}
        named = {"study": str(to), "baskets" if self._alone else "table": self.data.origin}
        return {**named, "records": self._baskets.size, **quasi, "items": self._items}

    def lines(self, to: Path) -> list[str]:
        """Return a summary and the next steps."""
        kind = "baskets" if self._alone else "items"
        places: dict[str, Any] = {"origin": self.data.origin, "records": self._baskets.size, "items": self._items}
        places |= {
            "least": self.ks[0],
            "most": self.ks[-1],
            "share": 100 * presets.ALLOWED.share,
            "of": presets.ALLOWED.of,
        }
        if self._alone:
            within = next((each for grid in self.study.grids for each in grid.utility if each is not None), None)
            once_more = "" if within is None else t("draft.once_more", within=within.in_words())
            unit = t(f"draft.counted_{self.study.unit}", persons=self._baskets.people.total)
            places |= {"once_more": once_more, "counted": unit}
        else:
            places |= {"quasi": [quasi.name for quasi in self.data.cells.quasi], "column": self.data.column}
        return [t(f"draft.seen_{kind}", **places), t(f"draft.tries_{kind}", **places), "", t("draft.next", to=to)]


def draft_items(declared: DataDeclaration, data: Any) -> ItemsDraft:
    """Draft a first study of records with items, with or without attributes."""
    bundled = isinstance(declared.items, BasketsDeclaration) and declared.items.is_bundled
    name = declared.source if bundled else Path(declared.source).name.partition(".")[0]
    if isinstance(declared.items, BasketsDeclaration):
        ks = [k for k in presets.LOUKIDES_2012 if k <= data.filled] or [1]
        return ItemsDraft(presets.first_baskets(name, declared.items.with_columns(), data, ks), data, ks)
    ks = [k for k in presets.USUAL_KS if k <= data.records] or [1]
    return ItemsDraft(presets.first_with_items(name, declared, ks), data, ks)
