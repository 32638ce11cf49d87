"""Candidates in grids: what all studies share whose `[[candidates]]` list makers, requirements and what may be lost.

A field of a grid says once what it is, `Annotated[tuple[Maker, ...], ANONYMIZERS, anonymizer]`: its values, its option,
and who reads one of them from a text (numbers and choices stand as they are). From that follow reading a block and
writing it, all combinations, and the grid of some candidates. The field of a candidate that takes one of the values is
called like the list, or is its singular: `limit` of `limits`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from sfumato.configuration import Described, check_choice, check_options, described, shortened
from sfumato.errors import BadInputError
from sfumato.measures import MEASURES, Classification
from sfumato.table.table import Unit
from sfumato.tradeoff.study.explorable import Settings
from sfumato.tradeoff.study.texts import (
    check_axes,
    known_keys,
    list_of,
    section_values,
    study_content,
    study_text,
    texts_of,
    written_texts,
)

NONE = "none"
"""How nothing is written where a list has it beside others."""

AnyCandidate = TypeVar("AnyCandidate", bound=Settings)


class CandidateGrid(Generic[AnyCandidate]):
    """Candidates as all combinations of what some lists offer. Grids are frozen dataclasses of this kind."""

    candidate: ClassVar[type[Any]]
    """What one combination is."""

    def __post_init__(self) -> None:
        check_options(self)

    @classmethod
    def lists(cls) -> dict[str, Described]:
        """Return the lists by the field of a candidate that takes one of their values, in the order of these."""
        several = {each.name: each for each in described(cls).values() if each.several}
        names = [each.name for each in fields(cls.candidate)]
        lists = {name: several.get(name, several.get(f"{name}s")) for name in names}
        return {name: each for name, each in lists.items() if each is not None}

    @property
    def candidates(self) -> list[AnyCandidate]:
        """All combinations, in order."""
        lists = {name: getattr(self, each.name) for name, each in self.lists().items()}
        return [self.candidate(**dict(zip(lists, values, strict=True))) for values in product(*lists.values())]

    @classmethod
    def of(cls, candidates: Sequence[AnyCandidate]) -> Self:
        """Return the grid of some candidates that are all combinations of what they have."""
        lists = cls.lists().items()
        return cls(
            **{each.name: tuple(dict.fromkeys(getattr(one, name) for one in candidates)) for name, each in lists}
        )

    @classmethod
    def read(cls, block: Mapping[str, Any], folder: Path, others: Iterable[str] = ()) -> Self:
        """Read `[[candidates]]` of a study in a folder; `others` are keys of blocks of another sort."""
        options = described(cls)
        known_keys("[[candidates]]", block, (*options, *others))
        return cls(**{key: _values(each, block[key]) for key, each in options.items() if key in block})

    def blocks(self, folder: Path | None) -> list[dict[str, Any]]:
        """Write it as `[[candidates]]` of a study, files named as seen from a folder, if one is given."""
        given = [(each, getattr(self, key)) for key, each in described(type(self)).items()]
        said = [(each, value) for each, value in given if not each.option.rare or value != each.default]
        return [{each.name: _written(each, value) for each, value in said}]


def _values(each: Described, given: Any) -> Any:
    """Take what a block says of an option: one value or a list of them."""
    if not each.several:
        return given
    if each.type is float:
        return tuple(list_of(given))
    return tuple(_value_of(each, text) for text in texts_of(each.key, given))


def _value_of(each: Described, text: str) -> Any:
    """Read one value of a list from its text."""
    if text == NONE and None in each.default:
        return None
    return text if each.of_text is None else each.of_text(text)


def _written(each: Described, value: Any) -> Any:
    """Write an option: texts of values on lines of their own, numbers and choices as they are."""
    if each.of_text is None:
        return list(value) if each.several else value
    return written_texts(tuple(NONE if one is None else one for one in value))


class GridStudy(ABC, Generic[AnyCandidate]):
    """A study whose candidates stand in grids. Studies are frozen dataclasses of this kind, with these fields."""

    name: str
    grids: Any
    scales: Any
    axes: tuple[str, ...]

    section: ClassVar[str]
    further: ClassVar[tuple[str, ...]] = ()
    """Sections beside that one which say where the data are."""

    instead: ClassVar[tuple[str, ...]] = ()
    """Sections that may stand in place of `[[candidates]]`."""

    grid: ClassVar[type[CandidateGrid[Any]]]
    scales_kind: ClassVar[type[Any]]
    renamed: ClassVar[Mapping[str, str]] = {}
    """By field of a candidate what it is called among the parameters of a point, where that is another name."""

    @property
    def unit(self) -> Unit:
        """What is counted in groups."""
        return "records"

    def __post_init__(self) -> None:
        check_axes(self.axes, self.measures())
        if not self.candidates:
            raise BadInputError(f"the study {self.name!r} has no candidate; give it [[candidates]]")

    @classmethod
    def measures(cls) -> Iterable[str]:
        """Name the measures that can be axes."""
        return MEASURES

    @cached_property
    def candidates(self) -> Sequence[AnyCandidate]:
        """All candidates, each once, in order."""
        return tuple(dict.fromkeys(candidate for grid in self.grids for candidate in grid.candidates))

    @property
    def learned(self) -> Classification | None:
        """The column that classifiers learn from every release: none, unless a kind of study has one."""
        return None

    def grown(self, candidates: Sequence[AnyCandidate]) -> Self:
        """Return the same study with further candidates, in as few blocks as their makers and policies allow."""
        blocks: dict[Hashable, list[AnyCandidate]] = {}
        for one in candidates:
            blocks.setdefault(self.block_key(one), []).append(one)
        return replace(self, grids=(*self.grids, *map(self.grid.of, blocks.values())))  # type: ignore[type-var]

    def block_key(self, candidate: AnyCandidate) -> Hashable:
        """Return what candidates of one block have in common: everything but the requirement."""
        return tuple(getattr(candidate, name) for name in self.grid.lists() if name != "requirement")

    def with_seed(self, seed: int) -> Self:
        """Return the same study with another seed of the random queries."""
        options = described(self.scales_kind).items()
        asked = {key: getattr(self.scales, key) for key, each in options if each.option.takes == "queries"}
        scales = replace(self.scales, **{key: replace(queries, seed=seed) for key, queries in asked.items()})
        return replace(self, scales=scales)  # type: ignore[type-var]

    def candidate_of(self, entry: Mapping[str, Any]) -> AnyCandidate:
        """Read a candidate from the texts that a file keeps of it."""
        given = {**entry["parameters"], **{name: entry[name] for name in ENTRIES if name in entry}}
        lists, values = self.grid.lists(), {}
        for each in fields(self.grid.candidate):
            key = self.renamed.get(each.name, each.name)
            if each.name in lists and key in given:
                values[each.name] = _kept(key, lists[each.name], given[key])
            elif each.default is each.default_factory is MISSING:
                raise BadInputError(f"a point says nothing of {key} among its parameters")
        return self.grid.candidate(**values)  # type: ignore[no-any-return]

    def to_toml(self, folder: Path | None = None) -> str:
        """Write the study with every default filled in; files named as seen from a folder, if one is given."""
        blocks = [block for grid in self.grids for block in grid.blocks(folder)]
        return study_text(self, self.sections(folder), blocks)

    @abstractmethod
    def sections(self, folder: Path | None) -> dict[str, Any]:
        """Write the sections that say where the data are."""

    @classmethod
    @abstractmethod
    def declared(cls, content: Mapping[str, Any], origin: str) -> dict[str, Any]:
        """Read the fields that say where the data are, and others that only this kind of study has."""

    @classmethod
    def read(cls, content: Mapping[str, Any], origin: str) -> Self:
        """Read a study of this kind from the content of its file."""
        common = {key: value for key, value in content.items() if key not in cls.further}
        whole = study_content(common, cls.section, cls.axes, cls.instead)
        folder = Path(origin).parent
        return cls(
            name=str(whole.get("name", Path(origin).stem)),  # type: ignore[call-arg]
            **cls.declared(content, origin),
            grids=tuple(cls.grid.read(block, folder) for block in whole["candidates"]),
            scales=cls.scales_kind(**section_values("[scales]", whole["scales"], cls.scales_kind)),
            axes=tuple(whole["axes"]),
        )


ENTRIES = ("anonymizer", "requirement", "form")
"""What a point keeps of its candidate beside the parameters."""


def _kept(key: str, each: Described, value: Any) -> Any:
    """Read what a point keeps of its candidate."""
    if each.type is float:
        return float(value)
    if each.choices:
        check_choice(key, value, each.choices)
    elif not isinstance(value, str):
        raise BadInputError(f"{key} must be a text, not {shortened(value)}")
    return _value_of(each, value)
