"""A study: a table, the candidate releases to make of it, and the scales to measure them on.

The value is what stands in `study.toml`, so it can be read, written, compared and used as a key.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from sfumato.anonymizers import Anonymizer, Brought, Maker, anonymizer
from sfumato.configuration import described, parse, shortened
from sfumato.documents import named, parse_toml, read_text
from sfumato.engines import Frame
from sfumato.engines.places import beside, seen_from
from sfumato.errors import BadInputError
from sfumato.measures import MEASURES, READ_NOISY, READERS, Classification, Reader, Scales
from sfumato.release import FORMS, Form
from sfumato.requirements import Requirement, requirement
from sfumato.table import DATASETS, Hierarchy, Table, TableDeclaration
from sfumato.table.hierarchies.declared import Filed
from sfumato.table.table import Unit, unit_of
from sfumato.tradeoff.study.brought import beside_study, brought_block, brought_of, found_again
from sfumato.tradeoff.study.explorable import Explorable, Settings
from sfumato.tradeoff.study.grids import CandidateGrid, GridStudy
from sfumato.tradeoff.study.kinds import KINDS, kind
from sfumato.tradeoff.study.plan import SearchPlan
from sfumato.tradeoff.study.texts import known_keys, section_values
from sfumato.vocabulary import ANONYMIZERS, IN_FORMS, LATTICE, REQUIREMENTS, SUPPRESS

if TYPE_CHECKING:
    from sfumato.tradeoff.exploration.exploration import TableWork


NOTHING = requirement("k-anonymity k=1")
TABLE_FACTS = ("digest", "records", "cells", "dropped", "quasi", "sensitive")
"""What `points.json` keeps of a table, whatever stands beside it."""


@dataclass(frozen=True)
class Candidate(Settings):
    """One release that could be made: who makes it, what it must satisfy, in which form."""

    anonymizer: Maker
    requirement: Requirement
    form: Form = "generalization"
    suppress: float = 0.0

    def __str__(self) -> str:
        extra = f", suppress {self.suppress!r}" if self.suppress else ""
        return f"{self.anonymizer}, {self.requirement}, {self.form}{extra}"

    @property
    def identity(self) -> str:
        """What tells it from others: of what was made elsewhere not where it is."""
        maker = self.anonymizer
        return str(replace(self, anonymizer=maker.identity) if isinstance(maker, Brought) else self)

    @property
    def pinned(self) -> Candidate:
        """The same with the digest of what was made elsewhere, which its point depends on."""
        maker = self.anonymizer
        return replace(self, anonymizer=maker.pinned) if isinstance(maker, Brought) else self


@dataclass(frozen=True)
class Grid(CandidateGrid[Candidate]):
    """Candidates as all combinations of some anonymizers, requirements, forms and suppression limits."""

    anonymizers: Annotated[tuple[Maker, ...], ANONYMIZERS, anonymizer] = (anonymizer("mondrian"),)
    requirements: Annotated[tuple[Requirement, ...], REQUIREMENTS, requirement] = (NOTHING,)
    forms: Annotated[tuple[Form, ...], IN_FORMS] = ("generalization",)
    suppress: Annotated[tuple[float, ...], SUPPRESS] = (0.0,)
    lattice: Annotated[bool, LATTICE] = False

    candidate: ClassVar[type[Candidate]] = Candidate

    def __post_init__(self) -> None:
        super().__post_init__()
        other = [maker for maker in self.anonymizers if not maker.has_lattice]
        if self.lattice and other:
            raise BadInputError(f"lattice = true shows the lattice of full-domain; {other[0].name} has none")

    @property
    def by_persons(self) -> Grid:
        """The same with everything said that its requirements mean where persons are counted."""
        return replace(self, requirements=tuple(each.by_persons for each in self.requirements))

    @classmethod
    def read(cls, block: Mapping[str, Any], folder: Path, others: Iterable[str] = ("file",)) -> Self:
        """Read `[[candidates]]`, of releases that are made here or of one that was made elsewhere."""
        if (maker := brought_of(block, folder)) is not None:
            return cls((maker,), forms=(maker.form,))
        grid = super().read(block, folder, others)
        return replace(grid, anonymizers=tuple(beside_study(maker, folder) for maker in grid.anonymizers))

    def blocks(self, folder: Path | None) -> list[dict[str, Any]]:
        """Write it as blocks of a study: one of all that is made here, and one for everything made elsewhere."""
        makers = tuple(maker for maker in self.anonymizers if not isinstance(maker, Brought))
        made_here = replace(self, anonymizers=makers)
        brought = [brought_block(maker, folder) for maker in self.anonymizers if isinstance(maker, Brought)]
        return [*(super(Grid, made_here).blocks(folder) if makers else []), *brought]

    def candidates_of(self, table: Table) -> list[Candidate]:
        """All combinations for a table, with every feasible transformation of its lattice where that is asked for."""
        return [
            one
            for each in self.candidates
            for one in (_transformations(each, table) if self.lattice else [each.pinned])
        ]


def _transformations(candidate: Candidate, table: Table) -> list[Candidate]:
    """List what a full-domain search decides between; the candidate itself where nothing is feasible, to say why."""
    maker = candidate.anonymizer
    assert isinstance(maker, Anonymizer)
    decided = maker.lattice(table, candidate.requirement, candidate.suppress)
    makers = [decided.anonymizer(int(row)) for row in decided.feasible.nonzero()[0]]
    return [replace(candidate, anonymizer=transformation) for transformation in makers] or [candidate]


@dataclass(frozen=True)
class Study(GridStudy[Candidate]):
    """What to explore: a table, candidates, scales, and the measures that count: the map is drawn on the first two."""

    name: str
    table: TableDeclaration
    grids: tuple[Grid, ...]
    scales: Scales = field(default_factory=Scales)
    axes: tuple[str, ...] = ("p_loss", "u_loss")
    search: SearchPlan | None = None
    """How time is spent on candidates beside these; None: as `SearchPlan()` says, where a budget is given."""

    section: ClassVar[str] = "table"
    instead: ClassVar[tuple[str, ...]] = ("search",)
    grid: ClassVar[type[Grid]] = Grid
    scales_kind: ClassVar[type[Scales]] = Scales
    forms: ClassVar[tuple[str, ...]] = FORMS
    facts: ClassVar[tuple[str, ...]] = (*TABLE_FACTS, "weights", "coarsened")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.table.person is not None:
            object.__setattr__(self, "grids", tuple(grid.by_persons for grid in self.grids))
            vars(self).pop("candidates", None)  # they were listed with what was written
        bounded = () if self.search is None else tuple(bound.measure for bound in self.search.bounds)
        object.__setattr__(self, "scales", self.scales.having((*self.axes, *bounded)))  # what counts is measured
        if self.table.person is not None:
            self._check_persons((*self.axes, *bounded))
        nobody = [str(candidate.anonymizer) for candidate in self.candidates if not candidate.anonymizer.people]
        lacking = [axis for axis in self.axes if axis not in READ_NOISY]
        if nobody and lacking:
            raise BadInputError(
                f"axes: {lacking[0]} is counted on the records of groups, and {nobody[0]} publishes noisy counts or "
                f"records of nobody instead, so its releases would not be on the map; write into the study "
                'axes = ["attack_accuracy", "query_error"], or others of what can be said of all: '
                f"{', '.join(READ_NOISY)}"
            )

    @property
    def unit(self) -> Unit:
        """What is counted in groups."""
        return unit_of(self.table.person, self.table.one_record_per_person)

    def _check_persons(self, measures: Sequence[str]) -> None:
        """Raise where something is asked for that counts records, while persons are counted."""
        what = f"persons are counted (person = {self.table.person!r})"
        lacking = [name for name in measures if not MEASURES[name].holds_of_persons]
        if lacking:
            known = ", ".join(name for name, measure in MEASURES.items() if measure.by_persons)
            raise BadInputError(
                f"{lacking[0]} is not defined where {what}; of the risks take {known}, such as "
                'axes = ["k", "loss"] in the study'
            )
        if self.search is not None and self.search.problem is not None:
            raise BadInputError(
                f"the problems of a frontier count records, and {what}; explore or ask the study instead"
            )

    def on_axes_for(self, measures: Sequence[str]) -> Study:
        """Return the study on axes that releases with these measures have: nothing with an epsilon has groups."""
        if "epsilon" not in measures or all(axis in READ_NOISY for axis in self.axes):
            return self
        readable = dict.fromkeys(name for name in measures if name in READ_NOISY)
        return replace(self, axes=tuple(readable if len(readable) > 1 else readable | {"query_error": None}))

    def candidates_of(self, table: Table) -> list[Candidate]:
        """All candidates for a table, each once, in order."""
        return list(dict.fromkeys(candidate for grid in self.grids for candidate in grid.candidates_of(table)))

    @property
    def learned(self) -> Classification | None:
        """The column that classifiers learn from every release, if there is one."""
        return self.scales.classification

    def opened(self, data: Table | None = None) -> TableWork:
        """Open the table, unless it is given, and list the candidates."""
        from sfumato.tradeoff.exploration.exploration import TableWork  # points are about studies: not before them

        table = data if data is not None else self.table.open()
        if table.why_no_persons is not None:
            raise BadInputError(table.why_no_persons)
        return TableWork.of(self._within(table), table)

    def _within(self, table: Table) -> Study:
        """Return the study that says by which cell budget its table was coarsened, and not this machine's memory."""
        return (
            self if table.most_cells is None else replace(self, table=replace(self.table, most_cells=table.most_cells))
        )

    def candidate_of(self, entry: Mapping[str, Any]) -> Candidate:
        """Read a candidate from its texts; the study says where files are now."""
        candidate = super().candidate_of(entry)
        maker = found_again(candidate.anonymizer, (each.anonymizer for each in self.candidates))
        return replace(candidate, anonymizer=maker)

    def digest_of(self, table: Table) -> str:
        """Return a digest of what the points of this study depend on: neutral columns only where a maker reads one."""
        read = {getattr(candidate.anonymizer, "target", None) for candidate in self.candidates}
        return table.digest(name for name in table.roles.neutral if name in read)

    def block_key(self, candidate: Candidate) -> Hashable:
        """Return what candidates of one block have in common; makers of one name where each has settings of its own."""
        maker = candidate.anonymizer
        several = not maker.takes_requirements or maker.is_found
        return (maker.name, candidate.requirement) if several else maker, candidate.form, candidate.suppress

    def with_candidate(self, given: Any, name: str | None = None, **declared: Any) -> Study:
        """Return the same study with a release that was made elsewhere: a file, a frame, a function or a maker's text.

        `declared` is what `map.add` takes: claim, epsilon, records, aligned, ...
        """
        from sfumato.tradeoff.exploration.added import brought, with_candidate  # it is about studies: not before them

        words = {"label": name, **declared}
        if isinstance(words.get("aligned"), bool):
            words["aligned"] = "yes" if words["aligned"] else "no"
        return with_candidate(self, brought(given, words))

    def with_target(self, classification: Classification) -> Study:
        """Return the same study with a column to learn, which is then published as a neutral one if it has no role."""
        table = self.table
        if classification.target not in table.roles.named:
            table = replace(table, neutral=(*table.neutral, classification.target))
        return replace(self, table=table, scales=replace(self.scales, classification=classification))

    def with_reader(self, reader: Reader) -> Study:
        """Return the same study with another reader of releases."""
        return replace(self, scales=replace(self.scales, reader=reader))

    def to_toml(self, folder: Path | None = None) -> str:
        """Write the study with every default filled in; files named as seen from a folder, if one is given."""
        seen = self if folder is None else self._with_control(partial(seen_from, folder))
        return super(Study, seen).to_toml(folder)

    def _with_control(self, place: Callable[[str], str]) -> Study:
        """Return the same study with the control file, where there is one, named as seen from somewhere else."""
        attacks = self.scales.attacks
        if attacks is None or attacks.file is None:
            return self
        return replace(self, scales=replace(self.scales, attacks=replace(attacks, file=place(attacks.file))))

    def sections(self, folder: Path | None) -> dict[str, Any]:
        """Write the section that says where the table is."""
        return {"table": table_entries(self.table, folder)}

    @classmethod
    def declared(cls, content: Mapping[str, Any], origin: str) -> dict[str, Any]:
        """Read where the table is, and how further candidates are searched for."""
        plan = SearchPlan(**section_values("[search]", content["search"], SearchPlan)) if "search" in content else None
        return {"table": table_declaration(content["table"], origin), "search": plan}

    @classmethod
    def read(cls, content: Mapping[str, Any], origin: str) -> Self:
        """Read a study of a table; a search alone begins with the ends of the map."""
        if "search" in content and content.get("candidates", []) == []:
            content = {**content, "candidates": baselines().blocks(None)}
        return super().read(content, origin)._with_control(partial(beside, Path(origin).parent))  # type: ignore[return-value]

    @staticmethod
    def from_toml(text: str, origin: str = "study.toml") -> Study:
        """Read a study of a table; an unknown key is an error that lists the known ones."""
        return of_table(study_from_toml(text, origin))


def study_from_toml(text: str, origin: str = "study.toml") -> Explorable:
    """Read a study of any kind: the section that it has says what it is about."""
    content = parse_toml(text, origin)
    section = next((name for name in KINDS if name in content), "table")
    with named(origin):
        return kind(section).study_of(content, origin)  # type: ignore[no-any-return]


def read_study(name: str) -> Explorable:
    """Read a study from a file, or take the bundled one of bundled data."""
    path = Path(name)
    if path.is_file():
        return _written_study(path, name)
    if name in DATASETS:
        return bundled_study(name)
    known = {bundled_name: make for section in KINDS for bundled_name, make in kind(section).BUNDLED.items()}
    if name in known:
        return known[name](name)  # type: ignore[no-any-return]
    raise BadInputError(f"{name}: there is no such file, and no bundled study (there are {', '.join(known)})")


def _written_study(path: Path, name: str) -> Explorable:
    """Read a study; whoever gives a table in its place is told how to come to one."""
    try:
        return study_from_toml(read_text(path), name)
    except BadInputError as error:
        if path.suffix.lower() == ".toml":
            raise
        raise BadInputError(
            f"{error}. If {path.name} is a table, `{shlex.join(['sfumato', 'init', name])}` drafts a study of it"
        ) from None


def of_table(study: Explorable) -> Study:
    """Raise unless a study is about a table."""
    if not isinstance(study, Study):
        raise BadInputError(f"the study {study.name!r} is about {study.section}, and this is about tables")
    return study


LI_LI_2009 = {
    "k-anonymity k={}": (10, 50, 100, 200, 500, 1000, 2000, 5000),
    "l-diversity l={} variant=frequency": (3, 3.5, 4, 4.25, 4.5, 4.75, 5, 5.5),
    "t-closeness t={} distance=js": (0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4),
    "delta-disclosure delta={} absent=ignore": (1, 1.2, 1.4, 1.5, 1.7, 1.9, 2, 2.1),
}
"""The requirements and parameters of Li & Li 2009, figure 2."""


def baselines() -> Grid:
    """Return the two releases at the ends of the map: no quasi-identifiers, and the original."""
    return Grid((anonymizer("without-quasi"), anonymizer("original")), (NOTHING,))


def bundled_study(name: str) -> Study:
    """Return figure 2 of Li & Li 2009 on a bundled table: 64 releases, both trivial ones and the original."""
    texts = [text.format(value) for text, values in LI_LI_2009.items() for value in values]
    makers = tuple(anonymizer(text) for text in ("without-quasi", "without-sensitive", "original"))
    return Study(
        name,
        TableDeclaration(name),
        (
            Grid((anonymizer("mondrian ranges=tight"),), tuple(map(requirement, texts)), FORMS),
            Grid(makers, (NOTHING,)),
        ),
    )


BUNDLED = dict.fromkeys(DATASETS, bundled_study)


# -- reading -----------------------------------------------------------------------------------------------


study_of = Study.read


def table_declaration(entries: Mapping[str, Any], origin: str) -> TableDeclaration:
    """Read the section that says where a table is, from a study of this name; files are named from its folder."""
    known_keys("[table]", entries, described(TableDeclaration))
    if "source" not in entries:
        raise BadInputError("[table] needs source: a file, or the name of a bundled table")
    if not isinstance(entries["source"], str):
        raise BadInputError(f"source must be a text, not {shortened(entries['source'])}")
    values: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in entries.items()}
    folder = Path(origin).parent
    for key in ("source", "hierarchies", "spill"):
        if key in values:
            values[key] = _beside(folder, values[key], bundled=key == "source")
    if isinstance(values.get("hierarchy"), dict):
        values["hierarchy"] = {column: _beside(folder, hierarchy) for column, hierarchy in values["hierarchy"].items()}
    return TableDeclaration(**values)


def _beside(folder: Path, value: Any, bundled: bool = False) -> Any:
    """Find a file that is named relative to the study's folder."""
    if not isinstance(value, str) or (bundled and value in DATASETS and not (folder / value).is_file()):
        return value
    return beside(folder, value)


def read_reader(text: str) -> Reader:
    """Read who reads releases besides the uniform reader: `em rounds=5`, or `uniform` for nobody."""
    return parse(text, READERS, "reader")


# -- writing -----------------------------------------------------------------------------------------------


def table_entries(declared: TableDeclaration, folder: Path | None) -> dict[str, Any]:
    """Write the section that says where a table is; files named as seen from a folder, if one is given."""
    if isinstance(declared.source, Frame):
        raise BadInputError(
            f"this study is about a {declared.source.origin} in memory, which no file can name; write the frame to a "
            "file and give the study that: replace(study, table=replace(study.table, source='table.parquet'))"
        )
    entries: dict[str, Any] = {}
    for setting in fields(declared):
        value = getattr(declared, setting.name)
        if value is None or value == {}:
            continue
        entries[setting.name] = list(value) if isinstance(value, tuple) else value
    if "hierarchy" in entries:
        entries["hierarchy"] = {
            column: _hierarchy_entry(column, hierarchy) for column, hierarchy in declared.hierarchy.items()
        }
    if folder is not None:
        seen = {} if declared.is_bundled else {"source": seen_from(folder, entries["source"])}
        seen |= {key: seen_from(folder, entries[key]) for key in ("hierarchies", "spill") if key in entries}
        entries |= seen
        for column, hierarchy in entries.get("hierarchy", {}).items():
            entries["hierarchy"][column] = seen_from(folder, hierarchy) if isinstance(hierarchy, str) else hierarchy
    return entries


def _hierarchy_entry(column: str, given: Any) -> Any:
    if isinstance(given, Hierarchy):
        raise BadInputError(
            f"the hierarchy of column {column!r} was made in Python and cannot be written to a study; "
            "declare it as a table of its type, as nested lists or as a file"
        )
    if isinstance(given, Filed):
        return given.content
    return str(given) if isinstance(given, Path) else given
