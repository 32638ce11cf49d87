"""A study: a data set, the candidate releases to make of it, and the scales to measure them on.

The value equals the content of `study.toml`, so it can be read, written, compared and used as a key.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.config.documents import named, parse_toml, read_text
from sfumato.config.options import described
from sfumato.config.sections import check_axes, section_values, study_content, study_text
from sfumato.data import declaration
from sfumato.data.bundled import BASKETS, DATASETS
from sfumato.data.reading import Table, Unit, unit_of
from sfumato.engines.locations import beside, seen_from
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES, READ_NOISY
from sfumato.measures.analysis.analysis import read_analysis, read_section
from sfumato.measures.classification.classification import Classification
from sfumato.measures.scales import BasketScales, MixedScales, Scales
from sfumato.release.release import FORMS
from sfumato.texts.catalogue import refusal
from sfumato.tradeoff.study.candidate import Candidate, found_again
from sfumato.tradeoff.study.grids import Grid, candidate_of, ends, lists_of
from sfumato.tradeoff.study.search_plan import SearchPlan

if TYPE_CHECKING:
    from sfumato.tradeoff.exploration.explore import OpenStudy

SCALES: Mapping[frozenset[declaration.Part], type[Any]] = {
    declaration.ATTRIBUTES: Scales,
    declaration.ITEMS: BasketScales,
    declaration.BOTH: MixedScales,
}
AXES = {
    declaration.ATTRIBUTES: ("p_loss", "u_loss"),
    declaration.ITEMS: ("itemset_risk", "query_utility"),
    declaration.BOTH: ("itemset_risk", "joint_query_error"),
}
"""The usual axes, by parts of the data."""

TABLE_FACTS = ("digest", "records", "cells", "dropped", "quasi", "sensitive")
FACTS = {
    declaration.ATTRIBUTES: (*TABLE_FACTS, "weights", "coarsened"),
    declaration.ITEMS: ("digest", "records", "distinct", "items", "occurrences", "tree"),
    declaration.BOTH: (*TABLE_FACTS, "items", "occurrences", "tree", "column"),
}
"""The facts of the data in `points.json`, which show whether the data have changed."""


@dataclass(frozen=True)
class Study:
    """The input of an exploration: data, candidates, scales, and measures; the first two measures are the axes of the
    map."""

    name: str
    data: declaration.DataDeclaration
    """Also the declaration of a table or of baskets alone."""

    grids: tuple[Grid, ...]
    """Also blocks as in a file: `{"anonymizers": "aa", "requirements": "km-anonymity k=5 m=2"}`."""

    scales: Any = None
    """Also as in a file: `{"known": 2}`."""

    axes: tuple[str, ...] = ()
    search: SearchPlan | None = None
    """How time is spent on further candidates; None: the defaults of `SearchPlan`, if a budget is given."""

    def __post_init__(self) -> None:
        given = self.data
        if isinstance(given, declaration.TableDeclaration):
            object.__setattr__(self, "data", declaration.DataDeclaration(given))
        elif isinstance(given, declaration.BasketsDeclaration):
            object.__setattr__(self, "data", declaration.DataDeclaration(items=given))
        grids = (one if isinstance(one, Grid) else Grid.read(one, Path(), self.parts) for one in self.grids)
        object.__setattr__(self, "grids", tuple(grids))
        kind, scales = SCALES[self.parts], self.scales or {}
        if isinstance(scales, Mapping):
            scales = kind(**section_values("[scales]", scales, kind))
        object.__setattr__(self, "scales", scales)
        object.__setattr__(self, "axes", self.axes or AXES[self.parts])
        sets = self.parts == declaration.ITEMS
        check_axes(self.axes, [name for name, one in MEASURES.items() if not sets or one.is_said_of(self.section)])
        if not self.candidates:
            raise BadInputError(f"the study {self.name!r} has no candidate; give it [[candidates]]")
        if self.parts == declaration.ATTRIBUTES:
            self._check_table()
        elif "person" in self.data.has:
            self._count_persons()
        for candidate in self.candidates:
            candidate.check()

    def _count_persons(self) -> None:
        """Let all requirements count persons."""
        object.__setattr__(self, "grids", tuple(grid.by_persons for grid in self.grids))
        vars(self).pop("candidates", None)  # they were listed with what was written

    def _check_table(self) -> None:
        """Add the scales of the necessary measures, and raise if candidates or persons do not have one."""
        if self.table.person is not None:
            self._count_persons()
        bounded = () if self.search is None else tuple(bound.measure for bound in self.search.bounds)
        object.__setattr__(self, "scales", self.scales.having((*self.axes, *bounded)))  # add necessary scales
        if self.table.person is not None:
            self._check_persons((*self.axes, *bounded))
        elif of_persons := [name for name in (*self.axes, *bounded) if not MEASURES[name].by_records]:
            raise refusal("records_axes", lacking=of_persons)
        nobody = [str(candidate.anonymizer) for candidate in self.candidates if not candidate.anonymizer.people]
        lacking = [axis for axis in self.axes if axis not in READ_NOISY]
        if nobody and lacking:
            raise refusal("noisy_axes", lacking=lacking, nobody=nobody, known=", ".join(READ_NOISY))

    def _check_persons(self, measures: Sequence[str]) -> None:
        """Raise if a measure or candidate counts records although persons are counted."""
        what = f"persons are counted (person = {self.table.person!r})"
        lacking = [name for name in measures if not MEASURES[name].holds_of_persons]
        if lacking:
            known = ", ".join(name for name, measure in MEASURES.items() if measure.by_persons)
            raise refusal("persons_axes", lacking=lacking, what=what, known=known)
        if self.search is not None and self.search.problem is not None:
            raise refusal("persons_problem", what=what)

    @property
    def parts(self) -> frozenset[declaration.Part]:
        """Whether the data have attributes, items, or both."""
        return self.data.has & declaration.BOTH

    @property
    def section(self) -> str:
        """The section of `study.toml` and of `points.json` for the data."""
        return self.data.section

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts of the data in `points.json`."""
        return FACTS[self.parts]

    @property
    def forms(self) -> tuple[str, ...]:
        """The possible forms of a release; a single one is not offered as a choice."""
        return FORMS if self.parts == declaration.ATTRIBUTES else FORMS[:1]

    @property
    def table(self) -> declaration.TableDeclaration:
        """The table; raises if there is none."""
        if self.data.table is None:
            raise BadInputError(f"the study {self.name!r} is about {self.section}, and this is about tables")
        return self.data.table

    @property
    def unit(self) -> Unit:
        """The unit that groups count."""
        table = self.data.table
        if table is None:
            return "persons" if "person" in self.data.has else "records"
        return unit_of(table.person, table.one_record_per_person)

    @cached_property
    def candidates(self) -> Sequence[Candidate]:
        """All candidates, each once, in order."""
        return tuple(dict.fromkeys(candidate for grid in self.grids for candidate in grid.candidates))

    def candidates_of(self, table: Table) -> list[Candidate]:
        """All candidates for a table, each once, in order."""
        return list(dict.fromkeys(candidate for grid in self.grids for candidate in grid.candidates_of(table)))

    @property
    def learned(self) -> Classification | None:
        """The column that classifiers learn from every release, if there is one."""
        return self.scales.classification if self.parts == declaration.ATTRIBUTES else None

    def opened(self, data: Any = None) -> OpenStudy:
        """Open the data, unless they are given, and list the candidates."""
        from sfumato.tradeoff.exploration.explore import OpenStudy  # points import studies

        opened = data if data is not None else self.data.open()
        if isinstance(opened, Table):
            if opened.why_no_persons is not None:
                raise BadInputError(opened.why_no_persons)
            if opened.most_cells is not None:  # the applied limit, independent of this machine's memory
                return OpenStudy(self.with_table(most_cells=opened.most_cells), opened)
        return OpenStudy(self, opened)

    def digest_of(self, data: Any) -> str:
        """Return a digest of everything the points of this study depend on; neutral columns only if one is read."""
        if not isinstance(data, Table):
            return str(data.digest)
        read = {getattr(candidate.anonymizer, "target", None) for candidate in self.candidates}
        analysed = getattr(self.scales, "analysis", None) is not None
        return data.digest(name for name in data.roles.neutral if analysed or name in read)

    def on_axes_for(self, measures: Sequence[str]) -> Study:
        """Return the study on axes that releases with these measures have: releases with epsilon have no groups."""
        if "epsilon" not in measures or all(axis in READ_NOISY for axis in self.axes):
            return self
        readable = dict.fromkeys(name for name in measures if name in READ_NOISY)
        return replace(self, axes=tuple(readable if len(readable) > 1 else readable | {"query_error": None}))

    def grown(self, candidates: Sequence[Candidate], found: bool = False) -> Study:
        """Return the same study with further candidates, in as few blocks as their makers and policies allow.

        Candidates that a search has `found` in the records are marked so: their settings are facts about the records.
        """
        blocks: dict[Hashable, list[Candidate]] = {}
        for one in candidates:
            blocks.setdefault(self._block_key(one), []).append(one)
        return replace(self, grids=(*self.grids, *(replace(Grid.of(each), found=found) for each in blocks.values())))

    def _block_key(self, candidate: Candidate) -> Hashable:
        """Return the common key of candidates in one block; makers with separate settings have separate blocks."""
        maker = candidate.anonymizer
        if self.parts == declaration.ATTRIBUTES and (not maker.takes_requirements or maker.is_found):
            return (maker.name, candidate.requirement), candidate.form, candidate.suppress
        return tuple(getattr(candidate, name) for name in lists_of(self.parts) if name != "requirement")

    def candidate_of(self, entry: Mapping[str, Any]) -> Candidate:
        """Read a candidate from its texts, with the files of the study."""
        candidate = candidate_of(entry, self.parts)
        maker = found_again(candidate.anonymizer, (each.anonymizer for each in self.candidates))
        return replace(candidate, anonymizer=maker)

    def with_table(self, **changes: Any) -> Study:
        """Return the same study with another declaration of its table."""
        return replace(self, data=self.data.with_table(**changes))

    def with_seed(self, seed: int) -> Study:
        """Return the same study with another seed of the random queries; unchanged if none are drawn."""
        if self.parts == declaration.ITEMS and self.scales.queries.is_exact:
            return self
        options = described(type(self.scales)).items()
        asked = {key: getattr(self.scales, key) for key, each in options if each.option.takes == "queries"}
        drawn = {key: replace(queries, seed=seed) for key, queries in asked.items()}
        return replace(self, scales=replace(self.scales, **drawn))

    def with_candidate(self, given: Any, name: str | None = None, **declared: Any) -> Study:
        """Return the same study with an external release: a file, a frame, a function or a maker's text.

        `declared` has the arguments of `map.add`: claim, epsilon, records, aligned, ...
        """
        from sfumato.tradeoff.exploration.run import brought, with_candidate  # they import studies

        return with_candidate(self, brought(given, {"label": name, **declared}))

    def with_target(self, classification: Classification) -> Study:
        """Return the same study with a column to learn, published as a neutral one if it has no role."""
        study = replace(self, scales=replace(self.scales, classification=classification))
        if classification.target in self.table.roles.named:
            return study
        return study.with_table(neutral=(*self.table.neutral, classification.target))

    def with_analysis(self, given: Any) -> Study:
        """Return the same study with the user's own analysis."""
        return replace(of_table(self), scales=replace(self.scales, analysis=read_analysis(given)))

    def _with_files(self, place: Callable[[str], str]) -> Study:
        """Return the same study with the paths of the control and of the analysis changed, if there are any."""
        study = self
        for name in ("attacks", "analysis"):
            part = getattr(self.scales, name, None)
            if part is not None and part.file is not None:
                part = replace(part, file=place(part.file))
                study = replace(study, scales=replace(study.scales, **{name: part}))
        return study

    def to_toml(self, folder: Path | None = None) -> str:
        """Return the study as TOML with all defaults; file names relative to a folder, if one is given."""
        analysis = getattr(self.scales, "analysis", None)
        if analysis is not None and analysis.functions:
            raise refusal("in_memory", maker="the analysis")
        seen = self if folder is None else self._with_files(partial(seen_from, folder))
        blocks = [block for grid in self.grids for block in grid.blocks(folder)]
        return study_text(seen, self.data.entries(folder), blocks)

    @staticmethod
    def read(content: Mapping[str, Any], origin: str) -> Study:
        """Read a study from the content of its file; a search alone starts with the ends of the map."""
        sections = [name for name in ("items", "baskets", "table") if name in content] or ["table"]
        has = {"items": declaration.BOTH, "baskets": declaration.ITEMS, "table": declaration.ATTRIBUTES}[sections[0]]
        others = ("search",) if has == declaration.ATTRIBUTES else ()
        if "analysis" in content and not others:
            raise refusal("analysis.no_items", section=sections[0])
        if others and "search" in content and content.get("candidates", []) == []:
            content = {**content, "candidates": ends()[0].blocks(None)}
        apart = ("analysis", *(("table",) if has == declaration.BOTH else ()))
        common = {key: value for key, value in content.items() if key not in apart}
        whole = study_content(common, sections[0], AXES[has], others)
        folder = Path(origin).parent
        if "analysis" in content:
            scales = section_values("[scales]", whole["scales"], Scales)
            whole["scales"] = Scales(**scales, analysis=read_section(content["analysis"]))
        study = Study(
            str(whole.get("name", Path(origin).stem)),
            declaration.DataDeclaration.of(content, folder),
            tuple(Grid.read(block, folder, has) for block in whole["candidates"]),
            whole["scales"],
            tuple(whole["axes"]),
            SearchPlan(**section_values("[search]", whole["search"], SearchPlan)) if "search" in whole else None,
        )
        return study._with_files(partial(beside, folder))

    @staticmethod
    def from_toml(text: str, origin: str = "study.toml") -> Study:
        """Read a study of a table; an unknown key is an error that lists the known ones."""
        return of_table(study_from_toml(text, origin))


def study_from_toml(text: str, origin: str = "study.toml") -> Study:
    """Read a study; its sections determine the parts of its data."""
    content = parse_toml(text, origin)
    with named(origin):
        return Study.read(content, origin)


def read_study(name: str) -> Study:
    """Read a study from a file, or return the bundled one."""
    from sfumato.tradeoff.study.presets import (
        bundled_study,
        usual_baskets,  # it imports studies
    )

    path = Path(name)
    if path.is_file():
        return _written_study(path, name)
    if name in DATASETS:
        return bundled_study(name)
    if name in BASKETS:
        return usual_baskets(name, declaration.BasketsDeclaration(name))
    known = ", ".join([*DATASETS, *BASKETS])
    raise BadInputError(f"{name}: there is no such file, and no bundled study (there are {known})")


def _written_study(path: Path, name: str) -> Study:
    """Read a study; for a table, the error explains how to draft a study."""
    try:
        return study_from_toml(read_text(path), name)
    except BadInputError as error:
        if path.suffix.lower() == ".toml":
            raise
        raise BadInputError(
            f"{error}. If {path.name} is a table, `{shlex.join(['sfumato', 'init', name])}` drafts a study of it"
        ) from None


def of_table(study: Study) -> Study:
    """Raise unless a study is about a table alone."""
    if study.section != "table":
        raise BadInputError(f"the study {study.name!r} is about {study.section}, and this is about tables")
    return study
