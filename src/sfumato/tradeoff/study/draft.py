"""A first study of a table: guessed roles, declared hierarchies and usual candidates, written as a commented TOML file.

The file is for a person to correct, so every guess stands beside its reason. It is drawn up so that `sfumato explore`
runs on it as it is, in about a minute: bounds cover the whole table, and `first_map` chooses what it can bear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, cast

import tomlkit
from tomlkit.items import Array, Table

from sfumato.config.options import check_whole
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
from sfumato.runtime.arrays import Quiet
from sfumato.runtime.staging import check_targets, staged
from sfumato.texts.format import counted, listed
from sfumato.tradeoff.study.presets import (
    ALLOWED,
    LOUKIDES_2012,
    USUAL_KS,
    FirstMap,
    first_baskets,
    first_map,
    first_with_items,
)
from sfumato.tradeoff.study.study import Study, read_study

ENOUGH_FOR_POPULATIONS = 200
"""With fewer records the loss of large populations (u_loss) says little."""

HEAD = (
    "A first draft by `sfumato init`: guesses, for somebody who knows the table to correct.",
    "It describes the table inside the house. It is not made to be published.",
)
MEANS: dict[Role, str] = {
    "identifier": "Names a person by itself, or is text that could: never published.",
    "quasi": "What an outsider may know of a person: generalized until nobody stands out.",
    "sensitive": "What nobody should learn about a person: published, and protected by the requirements below.",
    "neutral": "Published exactly as it is. Nothing is put here by guessing: every name here is your decision.",
}
WHOSE = (
    "Says whose record it is, for its values repeat: never published. k-anonymity then counts different persons.",
    "If every record is another person, write one_record_per_person = true in place of it.",
)
TOGETHER = (
    "Says who lives together: never published. All members of a household then show the same value of the",
    "quasi-identifiers they share. Take this line out if it is something else.",
)
UNDECIDED = (
    "UNDECIDED: write each of these names into one of the lists above.",
    "As long as a column stands in no list it is not published.",
)
SIMILAR = "grouped by similarity, which the records suggest and nobody has looked at: give the groups a meaning"
NO_QUASI = (
    "No column looks like something an outsider may know. Write at least one name here,",
    "or `sfumato explore` will refuse this study: without quasi-identifiers there is nothing to generalize.",
)


@dataclass(frozen=True, repr=False)
class Draft(Quiet):
    """A table with the guesses about its columns: what a first study is written from."""

    spoken: ClassVar[tuple[str, ...]] = ("guesses",)

    declaration: TableDeclaration
    records: int
    sampled: bool
    """Whether values were looked at in a sample of the records only."""

    guesses: tuple[Guess, ...]
    added_na: tuple[str, ...] = ()
    """Texts that were found to mean missing."""

    notices: tuple[str, ...] = ()
    """What should be known of how the table was read."""

    cells: Cells | None = None
    """The table under these guesses; None where it could not be opened so."""

    def of_role(self, role: Role | None) -> list[Guess]:
        """List the guesses of one role; None: the undecided ones."""
        return [guess_ for guess_ in self.guesses if guess_.role == role]

    @property
    def household(self) -> str | None:
        """The identifier that says by its name which records belong to one household, if it is repeated."""
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
        """The candidates and scales that the table can bear."""
        persons = self.declaration.person is not None
        return first_map(self.records, self.of_role("quasi"), self.of_role("sensitive"), self.cells, persons)

    def to_toml(self, folder: Path | None = None) -> str:
        """Write the study; the table's file is named as seen from a folder, if one is given."""
        document = tomlkit.document()
        _comment(document, HEAD)
        document.add(tomlkit.nl())
        document.add("schema", tomlkit.item(SCHEMA))
        document.add("name", tomlkit.item(_study_name(self._source(None))))
        document.add("axes", tomlkit.item(list(self._axes())))
        document.add(tomlkit.nl())
        document.add("table", self._table(folder))
        document.add("scales", self._scales())
        blocks = tomlkit.aot()
        for block in self._candidates():
            blocks.append(block)
        document.add("candidates", blocks)
        text = tomlkit.dumps(document)
        Study.from_toml(text)
        return text

    @cached_property
    def study(self) -> Study:
        """The study as a value, to be explored in Python; that of a frame is about the frame itself."""
        study = Study.from_toml(self.to_toml())
        return study.with_table(source=self.declaration.source)

    def write(self, path: Path, force: bool = False) -> Path:
        """Write the study to a file, whole or not at all."""
        check_targets([path], force, self.declaration.files)
        text = self.to_toml(path.parent)
        with staged([path]) as drafts:
            drafts[0].write_text(text, encoding="utf-8", newline="\n")
        return path

    # -- the parts of the file ---------------------------------------------------------------------------------

    def _axes(self) -> tuple[str, str]:
        if not self.sensitive or self.declaration.person is not None:
            return "k", "loss"
        return "p_loss", "u_loss" if self.records >= ENOUGH_FOR_POPULATIONS else "loss"

    def _table(self, folder: Path | None) -> Table:
        declared = self.declaration
        table = tomlkit.table()
        looked = ", looked at in a sample" if self.sampled else ""
        _comment(table, [f"{self.records:,} records, {len(self.guesses):,} columns{looked}."])
        table.add("source", self._source(folder))
        if isinstance(declared.source, Frame):
            _comment(table, ["A frame in memory: write it to a file, and name that here, before this study is read."])
        if self.notices:
            _comment(
                table, ["How it was read, where that is not plain:", *(f"    {notice}" for notice in self.notices)]
            )
        for name in READING:
            value = getattr(declared, name)
            if value not in (None, ()):
                table.add(name, list(value) if isinstance(value, tuple) else value)
        if declared.na:
            if self.added_na:
                texts = ", ".join(map(shown, self.added_na))
                _comment(
                    table, [f"Texts that mean missing; take out what is a value. Proposed, for they seem to: {texts}"]
                )
            table.add("na", list(declared.na))
        for role, means in MEANS.items():
            table.add(tomlkit.nl())
            _comment(table, [means])
            if role == "quasi" and not self.of_role("quasi"):
                _comment(table, NO_QUASI)
            table.add(role, _names(self.of_role(role)))
            if role == "identifier" and declared.person is not None:
                table.add(tomlkit.nl())
                _comment(table, WHOSE)
                table.add("person", declared.person)
            if role == "identifier" and declared.one_record_per_person:
                table.add("one_record_per_person", True)
            if role == "identifier" and self.household is not None:
                table.add(tomlkit.nl())
                _comment(table, TOGETHER)
                table.add("household", self.household)
        table.add(tomlkit.nl())
        undecided = self.of_role(None)
        if undecided:
            _comment(table, [*UNDECIDED, *(f"    {_quoted(guess_.column)}  # {_why(guess_)}" for guess_ in undecided)])
            table.add(tomlkit.nl())
        self._add_hierarchies(table)
        return table

    def _source(self, folder: Path | None) -> str:
        """Name the table as seen from a folder, if one is given."""
        source = self.declaration.source
        if isinstance(source, Frame):
            return source.origin
        return source if folder is None or self.declaration.is_bundled else seen_from(folder, source)

    def _add_hierarchies(self, table: Table) -> None:
        given = bundled.hierarchies(str(self.declaration.source)) if self.declaration.is_bundled else {}
        entries = tomlkit.table(is_super_table=True)
        for guess_ in self.guesses:
            if guess_.hierarchy is None or guess_.column in given:
                continue
            entry = tomlkit.table()
            _comment(entry, _about_entry(guess_))
            for key, value in guess_.hierarchy.items():
                entry.add(key, value)
            entry.add(tomlkit.nl())
            entries.add(guess_.column, entry)
        if given:
            _comment(table, ["The hierarchies of this bundled table come with it."])
            table.add(tomlkit.nl())
        if len(entries):
            table.add("hierarchy", entries)

    def _scales(self) -> Table:
        scales = tomlkit.table()
        _comment(scales, ["How utility is measured. u_loss looks at all populations with at least this share of"])
        _comment(
            scales, ["the records; a smaller share takes longer, the more so the more quasi-identifiers there are."]
        )
        first = self.first.scales
        scales.add("min_support", first.min_support)
        _comment(
            scales, ["query_error: random questions of how many records have these values, answered from a release."]
        )
        scales.add("queries", str(first.queries))
        if isinstance(first.reader, UniformReader):
            scales.add("reader", str(first.reader))
        scales.add(tomlkit.nl())
        return scales

    def _candidates(self) -> Iterable[Table]:
        wanted = tomlkit.table()
        _comment(wanted, ["Every combination is one candidate release."])
        _comment(
            wanted,
            ['forms: "bucketization" keeps the quasi-identifiers exact, so it does not hide who is in the table.'],
        )
        _comment(wanted, ["suppress: the largest share of records that may be left out."])
        _comment(wanted, self.timing())
        wanted.add("anonymizers", _lines(self.first.anonymizers))
        wanted.add("requirements", _lines(self.first.requirements))
        wanted.add("forms", ["generalization"])
        wanted.add("suppress", list(self.first.suppress))
        wanted.add(tomlkit.nl())
        yield wanted
        ends, first = tomlkit.table(), self.first
        _comment(
            ends, [f"The ends of the map: nothing about persons{', and the table as it is' * (len(first.ends) > 1)}."]
        )
        ends.add("anonymizers", list(first.ends))
        yield ends

    def timing(self) -> list[str]:
        """Say what the first map takes, and what was left out of it."""
        effort, left_out = self.first.effort, self.first.left_out
        lines = []
        if effort is not None:
            many = counted(len(self.first.candidates), "release")
            lines = [f"Exploring this makes {many} and takes {effort.in_words}."]
        return [*lines, *(f"Left out: {what}." for what in left_out)]


def draft(declaration: TableDeclaration | Any, sample: int = SAMPLE) -> Draft:
    """Look at a table (a frame, the path of a file, the name of a bundled table, a declaration) and guess its roles."""
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
    """Take what a study can be given as: itself, its file or bundled name, a draft, or a frame, which is drafted."""
    if isinstance(given, str | Path):
        return read_study(str(given))
    if hasattr(given, "opened"):
        return cast(Study, given)
    return (given if isinstance(given, Draft) else draft(given)).study


def _decided(declared: TableDeclaration, rows: Engine) -> dict[str, Role]:
    """Return the roles that the declaration gives already, by column; raise where it cannot give them."""
    given: dict[Role, tuple[str, ...]] = {role: getattr(declared, role) for role in MEANS}
    named = {name for names in given.values() for name in names} | {declared.household, declared.person}
    others = [name for name in rows.columns if name not in named and name not in rows.nested]
    quasi = given["quasi"] or tuple(others[:1])  # one of those that are guessed may become one
    check_columns(rows, replace(declared, quasi=quasi).roles)
    hidden = [name for name in (declared.household, declared.person) if name is not None]
    given["identifier"] = tuple(dict.fromkeys([*given["identifier"], *hidden]))
    return {name: role for role, names in given.items() for name in names}


def _person(declared: TableDeclaration, rows: Engine, guesses: Sequence[Guess]) -> str | None:
    """Propose the column that says whose record it is: a key-like identifier that repeats, those named so first."""
    if declared.person is not None or declared.one_record_per_person or declared.household is not None:
        return declared.person
    given = [each.column for each in guesses if each.role == "identifier" and not each.missing]
    repeated = [name for name in given if is_repeated_key(rows, name)]
    return min(repeated, key=lambda name: not may_number_persons(name), default=None)


def _cells(declared: TableDeclaration, rows: Engine, guesses: tuple[Guess, ...]) -> Cells | None:
    """Open the table as the draft will say; None where it cannot be opened so."""
    coded = {each.column: each.hierarchy for each in guesses if each.hierarchy is not None}
    names = {role: tuple(each.column for each in guesses if each.role == role) for role in ("quasi", "sensitive")}
    if not names["quasi"]:
        return None
    try:
        return replace(declared, **names, hierarchy=coded).open(rows).cells  # type: ignore[arg-type]
    except BadInputError:  # `check` will say it of the study, where it can be corrected
        return None


def _with_similar(cells: Cells, guesses: tuple[Guess, ...]) -> tuple[Guess, ...]:
    """Group the categories of quasi-identifiers that would have none by how alike they are in the others."""
    if len(cells.quasi) < 2:
        return guesses
    flat = {each.column for each in guesses if each.role == "quasi" and (each.hierarchy or {}).get("type") == "flat"}
    names = [quasi.name for quasi in cells.quasi if quasi.name in flat and quasi.hierarchy.scale == "category"]
    groups = {name: similar_groups(cells, name) for name in names}
    return tuple(
        replace(each, hierarchy={"type": "groups", "groups": groups[each.column]}, advice=SIMILAR)
        if groups.get(each.column)
        else each
        for each in guesses
    )


# -- words ----------------------------------------------------------------------------------------------------------


def _comment(place: Any, lines: Iterable[str]) -> None:
    for line in lines:
        place.add(tomlkit.comment(_one_line(line)))


def _one_line(text: str) -> str:
    return shown(text, most=10_000)


def _quoted(name: str) -> str:
    """Write a name as it would stand in a list of the file."""
    return tomlkit.item(name).as_string()


def _why(guess_: Guess) -> str:
    return f"{guess_.reason}. {guess_.advice}" if guess_.advice else guess_.reason


def _names(guesses: Sequence[Guess]) -> Array:
    array = tomlkit.array()
    for guess_ in guesses:
        array.add_line(guess_.column, comment=_one_line(guess_.reason))
    if guesses:
        array.add_line(indent="")
    return array


def _lines(texts: Sequence[str]) -> Array:
    array = tomlkit.array()
    array.extend(texts)
    return array.multiline(True)


def _about_entry(guess_: Guess) -> list[str]:
    known = {
        "numeric": "bounds are rounded; intervals are the widths of its levels",
        "dates": "days, with these levels above them",
        "prefixes": "levels that keep so many leading characters",
        "flat": "every value by itself, and `*`",
        "icd": "codes by category, block and chapter of the ICD",
        "countries": "countries by the regions of the United Nations",
        "education": "by level of education, told by keywords",
        "groups": "frequent values whose records are alike in the other quasi-identifiers; all others by themselves",
    }
    assert guess_.hierarchy is not None
    says = known[str(guess_.hierarchy["type"])]
    if "open_above" in guess_.hierarchy:
        says += "; from open_above on everything is one value"
    if "resolution" in guess_.hierarchy:
        says += "; the resolution is the finest that is published"
    if "observed" in guess_.hierarchy:
        says += ".\nBounds come from the records: for differential privacy set those that are possible, and take "
        says += "`observed` out"
    return [*f"{says}.".splitlines(), *([f"LOOK: {guess_.advice}."] if guess_.advice else [])]


def _study_name(source: str) -> str:
    file, table = split_table(source)
    name = Path(file).name.partition(".")[0] if table is None else table.rpartition(".")[2].strip('"')
    return name or "study"


# -- items -----------------------------------------------------------------------------------------------------------

HINTS_OF_BASKETS = """\
# A first study of baskets, written by `sfumato init`; correct it, then: sfumato check {to}, sfumato explore {to}
# What to look at:
# - [baskets] tree = "items.csv": a level table of the items lets AA generalize to groups that mean something, and
#   utility = "utility-constraints level=1" under [[candidates]] keeps items together that belong together;
# - [scales] known: how many items of a person an attacker may know; sensitive = ["..."]: items nobody should learn;
# - [[candidates]] requirements: k is how many records must fit, m how many known items are protected against.
"""
HINTS_BESIDE_ITEMS = """\
# A first study of a table with items, written by `sfumato init`; correct it, then:
#   sfumato check {to}, sfumato explore {to}
# What to look at:
# - [table] quasi: what others may know of a person; sensitive: what nobody should learn, published as it is;
# - [items] tree = "codes.csv": a level table of the items lets AA generalize to groups that mean something;
#   sensitive = ["..."]: items, or nodes of the tree, that a requirement on this column is about;
# - [[candidates]] sets: with "group" a published set tells which items somebody in its group has, with "common" not;
# - [scales] known: how many items of a person an attacker may know beside the quasi-identifiers;
# - [[candidates]] merging: groups are merged as long as the table loses at most `bound`, so that items lose less.
"""


@dataclass(frozen=True, repr=False)
class ItemsDraft(Quiet):
    """A first study of records with items, for a person to correct, and what was seen."""

    study: Study
    data: Any
    ks: Sequence[int]

    @property
    def notices(self) -> Sequence[str]:
        """What was noticed in reading."""
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
        hints = HINTS_OF_BASKETS if self._alone else HINTS_BESIDE_ITEMS
        with staged([to]) as [file]:
            file.write_text(hints.format(to=to) + self.study.to_toml(to.parent), encoding="utf-8")

    def values(self, to: Path) -> dict[str, Any]:
        """Return what a program reads of it."""
        quasi = {} if self._alone else {"quasi": [quasi.name for quasi in self.data.cells.quasi]}
        named = {"study": str(to), "baskets" if self._alone else "table": self.data.origin}
        return {**named, "records": self._baskets.size, **quasi, "items": self._items}

    def lines(self, to: Path) -> list[str]:
        """Say what was seen, and what comes next."""
        seen = self._seen_alone() if self._alone else self._seen_beside()
        return [*seen, "", f"Next: correct {to}, then\n  sfumato check {to}\n  sfumato explore {to}"]

    def _seen_alone(self) -> list[str]:
        rows, items = counted(self._baskets.size, "record"), counted(self._items, "item")
        within = next((each for grid in self.study.grids for each in grid.utility if each is not None), None)
        once_more = "" if within is None else f", and generalizes once more with {within.in_words()}"
        return [
            f"{self.data.origin}: {rows}, each a set of some of {items}. One record is taken for one person.",
            f"The study tries COAT (as its paper has it, and rarest first), AA and PCTA for k from {self.ks[0]} to "
            f"{self.ks[-1]} against an attacker who knows any two items. It may suppress up to "
            f"{100 * ALLOWED.share:g} % of the {ALLOWED.of}{once_more}.",
        ]

    def _seen_beside(self) -> list[str]:
        rows, items = counted(self._baskets.size, "record"), counted(self._items, "item")
        return [
            f"{self.data.origin}: {rows}, each with {listed([quasi.name for quasi in self.data.cells.quasi])} and a "
            f"set of some of {items} ({self.data.column}). One record is taken for one person.",
            f"The study makes groups by Mondrian and items by COAT and AA, with and without merging, and items without "
            f"quasi-identifiers by COAT, for k from {self.ks[0]} to {self.ks[-1]} against an attacker who knows the "
            "quasi-identifiers and any two items.",
        ]


def draft_items(declared: DataDeclaration, data: Any) -> ItemsDraft:
    """Draft a first study of records with items, of which others may also know attributes."""
    bundled = isinstance(declared.items, BasketsDeclaration) and declared.items.is_bundled
    name = declared.source if bundled else Path(declared.source).name.partition(".")[0]
    if isinstance(declared.items, BasketsDeclaration):
        ks = [k for k in LOUKIDES_2012 if k <= data.filled] or [1]
        return ItemsDraft(first_baskets(name, declared.items.with_columns(), data, ks), data, ks)
    ks = [k for k in USUAL_KS if k <= data.records] or [1]
    return ItemsDraft(first_with_items(name, declared, ks), data, ks)
