"""A first study of a table: guessed roles, declared hierarchies and usual candidates, written as a commented TOML file.

The file is for a person to correct, so every guess stands beside its reason. It is drawn up so that `sfumato explore`
runs on it as it is: bounds cover the whole table, and the scales suit the number of records and quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, ClassVar, cast

import tomlkit
from tomlkit.items import Array, Table

from sfumato.configuration import check_whole
from sfumato.engines import Engine, Frame
from sfumato.errors import BadInputError
from sfumato.measures import Queries
from sfumato.quiet import Quiet
from sfumato.release import check_targets, staged
from sfumato.table import Guess, TableDeclaration, bundled, guess
from sfumato.table.declaration import READING
from sfumato.table.guess.guess import SAMPLE, shown
from sfumato.table.guess.names import HOUSEHOLD, Role, meaning_of
from sfumato.table.hierarchies.automatic import STRUCTURES
from sfumato.table.structures.similar import similar_groups
from sfumato.tradeoff.study.explorable import Explorable
from sfumato.tradeoff.study.study import Study, read_study
from sfumato.tradeoff.study.texts import SCHEMA, seen_from

SIZES = (5, 10, 20, 50, 100)
"""The group sizes that are tried, as far as the table has several groups of them."""

DIVERSE = (2, 3, 5)
CLOSE = (0.5, 0.3, 0.2)
FEWEST_IN_A_POPULATION = 20
MANY_TRANSFORMATIONS = 200_000
"""Above so many transformations full-domain searches for a limited time instead of to the end."""

MEMORY_FOR_QUERIES = 200_000_000
"""Bytes that the selections of the random queries may take."""

ENOUGH_FOR_POPULATIONS = 200
"""With fewer records the loss of large populations (u_loss) says little."""

HEAD = (
    "A first draft by `sfumato init`: guesses, for somebody who knows the table to correct.",
    "It describes the table inside the house. It is not made to be published.",
)
MEANS = {
    "identifier": "Names a person by itself, or is text that could: never published.",
    "quasi": "What an outsider may know of a person: generalized until nobody stands out.",
    "sensitive": "What nobody should learn about a person: published, and protected by the requirements below.",
    "neutral": "Published exactly as it is. Nothing is put here by guessing: every name here is your decision.",
}
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

    def of_role(self, role: Role | None) -> list[Guess]:
        """List the guesses of one role; None: the undecided ones."""
        return [guess_ for guess_ in self.guesses if guess_.role == role]

    @property
    def household(self) -> str | None:
        """The identifier that says by its name which records belong to one household, if it is repeated."""
        for guess_ in self.of_role("identifier"):
            meaning = meaning_of(guess_.column)
            if meaning is not None and meaning.what == HOUSEHOLD and guess_.distinct < self.records:
                return guess_.column
        return None

    @property
    def sensitive(self) -> list[str]:
        """The names of the sensitive columns."""
        return [guess_.column for guess_ in self.of_role("sensitive")]

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
        return replace(study, table=replace(study.table, source=self.declaration.source))

    def write(self, path: Path, force: bool = False) -> Path:
        """Write the study to a file, whole or not at all."""
        check_targets([path], force, self.declaration.files)
        text = self.to_toml(path.parent)
        with staged([path]) as drafts:
            drafts[0].write_text(text, encoding="utf-8", newline="\n")
        return path

    # -- the parts of the file ---------------------------------------------------------------------------------

    def _axes(self) -> tuple[str, str]:
        if not self.sensitive:
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
            _comment(table, ["How it was read, where that is not plain:", *(f"    {said}" for said in self.notices)])
        for name in READING:
            value = getattr(declared, name)
            if value not in (None, ()):
                table.add(name, list(value) if isinstance(value, tuple) else value)
        if declared.na:
            if self.added_na:
                texts = ", ".join(map(shown, self.added_na))
                _comment(
                    table, [f"Texts that mean missing. Proposed, for they seem to: {texts}. Take out what is a value."]
                )
            table.add("na", list(declared.na))
        for role, means in MEANS.items():
            table.add(tomlkit.nl())
            _comment(table, [means])
            if role == "quasi" and not self.of_role("quasi"):
                _comment(table, NO_QUASI)
            table.add(role, _names(self.of_role(role)))  # type: ignore[arg-type]
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
        scales.add("min_support", self.min_support)
        _comment(
            scales, ["query_error: random questions of how many records have these values, answered from a release."]
        )
        scales.add("queries", str(self.queries))
        scales.add(tomlkit.nl())
        return scales

    @property
    def min_support(self) -> float:
        """A share of the records for which large populations are found quickly and are not of a few records."""
        width = len(self.of_role("quasi"))
        share = 0.05 if width <= 5 else 0.1 if width <= 7 else 0.2
        return min(1.0, max(share, round(FEWEST_IN_A_POPULATION / self.records, 3)))

    @property
    def queries(self) -> Queries:
        """As many random queries as usual, or fewer where a domain is so large that they would fill the memory."""
        widest = max((_leaves(guess_) for guess_ in self.of_role("quasi")), default=1)
        usual = Queries()
        affordable = MEMORY_FOR_QUERIES // (8 * usual.dimensions * widest)
        return replace(usual, number=max(100, min(usual.number, affordable // 100 * 100)))

    def _candidates(self) -> Iterable[Table]:
        wanted = tomlkit.table()
        _comment(wanted, ["Every combination is one candidate release."])
        _comment(
            wanted,
            ['forms: "bucketization" keeps the quasi-identifiers exact, so it does not hide who is in the table.'],
        )
        _comment(wanted, ["suppress: the largest share of records that may be left out."])
        wanted.add("anonymizers", _lines(["mondrian", self._full_domain()]))
        wanted.add("requirements", _lines(self.requirements()))
        wanted.add("forms", ["generalization"])
        wanted.add("suppress", [0.0, 0.05])
        wanted.add(tomlkit.nl())
        yield wanted
        ends = tomlkit.table()
        _comment(ends, ["The two ends of the map: nothing about persons, and the table as it is."])
        ends.add("anonymizers", ["without-quasi", "original"])
        yield ends

    def requirements(self) -> list[str]:
        """The usual requirements, as far as the table could satisfy them."""
        sizes = [k for k in SIZES if k <= self.records / 4] or [2]
        texts = [f"k-anonymity k={k}" for k in sizes]
        sensitive = self.of_role("sensitive")
        if sensitive:
            texts += [
                _joined(sizes[0], [_diverse(guess_, number) for guess_ in sensitive], sensitive) for number in DIVERSE
            ]
            texts += [_joined(sizes[0], [_close(guess_, t) for guess_ in sensitive], sensitive) for t in CLOSE]
        return list(dict.fromkeys(texts))

    def _full_domain(self) -> str:
        """Search the lattice to the end where it is small enough."""
        heights = [_height(guess_) for guess_ in self.of_role("quasi")]
        return "full-domain" if prod(heights) <= MANY_TRANSFORMATIONS else "full-domain search=best-first seconds=5"


def draft(declaration: TableDeclaration | Any, sample: int = SAMPLE) -> Draft:
    """Look at a table (a frame, the path of a file, the name of a bundled table, a declaration) and guess its roles."""
    declared = declaration if isinstance(declaration, TableDeclaration) else TableDeclaration(declaration)
    check_whole("sample", sample, least=1)
    rows = declared.open_rows()
    guesses = guess(rows, sample)
    missing = {text for guess_ in guesses for text in guess_.missing_texts} - set(declared.na)
    if missing:
        declared = replace(declared, na=(*declared.na, *sorted(missing)))
        rows = declared.open_rows()
        guesses = guess(rows, sample)
    if declared.is_bundled:
        known = bundled.hierarchies(str(declared.source))
        guesses = tuple(
            replace(guess_, advice="") if guess_.role and guess_.column in known else guess_ for guess_ in guesses
        )
    elif rows.row_count <= sample:
        guesses = _with_similar(declared, rows, guesses)
    number = rows.row_count
    return Draft(declared, number, number > sample, guesses, tuple(sorted(missing)), tuple(rows.notices))


def as_study(given: Any) -> Explorable:
    """Take what a study can be given as: itself, its file or bundled name, a draft, or a frame, which is drafted."""
    if isinstance(given, str | Path):
        return read_study(str(given))
    if hasattr(given, "opened"):
        return cast(Explorable, given)
    return (given if isinstance(given, Draft) else draft(given)).study


def _with_similar(declared: TableDeclaration, rows: Engine, guesses: tuple[Guess, ...]) -> tuple[Guess, ...]:
    """Group the categories of quasi-identifiers that would have none by how alike they are in the others."""
    quasi = {each.column: each.hierarchy for each in guesses if each.role == "quasi" and each.hierarchy is not None}
    plain = [name for name, entry in quasi.items() if entry["type"] == "flat"]
    if not plain or len(quasi) < 2:
        return guesses
    try:
        table = replace(declared, quasi=tuple(quasi), hierarchy=quasi).open(rows)
        cells = table.cells
    except BadInputError:  # `check` will say it of the study, where it can be corrected
        return guesses
    groups = {name: similar_groups(cells, name) for name in plain if table.hierarchies[name].scale == "category"}
    return tuple(
        replace(each, hierarchy={"type": "groups", "groups": groups[each.column]}, advice=SIMILAR)
        if each.role == "quasi" and groups.get(each.column)
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


def _height(guess_: Guess) -> int:
    """The number of levels that full-domain can choose from."""
    entry = guess_.hierarchy or {}
    listed = next((entry[key] for key in ("intervals", "levels", "keep") if key in entry), ())
    if entry.get("type") in STRUCTURES:
        return 4
    return 2 + (1 if "groups" in entry else len(listed))  # type: ignore[arg-type]


def _leaves(guess_: Guess) -> int:
    """The number of leaves of a hierarchy, about."""
    entry: Mapping[str, Any] = guess_.hierarchy or {}
    if entry.get("type") == "dates":
        return (entry["last"] - entry["first"]).days + 1  # type: ignore[no-any-return]
    if entry.get("type") == "numeric":
        return int((entry["upper"] - entry["lower"]) / entry.get("resolution", 1)) + 1
    return guess_.distinct


def _diverse(guess_: Guess, number: int) -> str:
    return f"l-diversity l={min(number, guess_.distinct)} variant=distinct"


def _close(guess_: Guess, t: float) -> str:
    ordered = guess_.hierarchy is not None and guess_.hierarchy["type"] == "numeric"
    return f"t-closeness t={t} distance={'ordered' if ordered else 'equal'}"


def _joined(size: int, parts: Sequence[str], sensitive: Sequence[Guess]) -> str:
    """Join what is required of every sensitive column, naming the columns where there are several."""
    named = [
        f'{part} on="{guess_.column.replace(chr(34), chr(34) * 2)}"'
        for part, guess_ in zip(parts, sensitive, strict=True)
    ]
    return " & ".join([f"k-anonymity k={size}", *(named if len(sensitive) > 1 else parts)])


def _study_name(source: str) -> str:
    return Path(source).name.partition(".")[0] or "study"
