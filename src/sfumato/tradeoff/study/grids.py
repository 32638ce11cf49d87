"""Grids of candidates: all combinations of the lists in a block `[[candidates]]`.

The lists of a block depend on the kind of data (`LISTS`). A list has the parser of its values; numbers and choices need
none. This defines how a block is read and written, all combinations, and the grid of some candidates. The field of a
candidate with one of the values has the name of the list or its singular: `limit` of `limits`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from sfumato.anonymizers import anonymizer
from sfumato.anonymizers.anonymizer import ReleaseMaker
from sfumato.anonymizers.external.external import ExternalRelease
from sfumato.anonymizers.items import DEFAULT_MAKER, candidate_maker
from sfumato.anonymizers.items._grouped_items import Sets
from sfumato.anonymizers.items.item_anonymizer import BasketAnonymizer
from sfumato.anonymizers.items.items_of_groups import Merging, NoMerging, merging
from sfumato.config import options
from sfumato.config.sections import known_keys, list_of, texts_of, written_texts
from sfumato.data.declaration import ATTRIBUTES, BOTH, ITEMS, Part
from sfumato.data.reading import Table
from sfumato.errors import BadInputError
from sfumato.release.release import Form
from sfumato.requirements import items as item_rules
from sfumato.requirements.requirement import requirement
from sfumato.tradeoff.study.candidate import Candidate, beside_study, brought_block, brought_of

NONE = "none"
"""The text of no value in a list with other values."""

NOTHING = requirement("k-anonymity k=1")
POLICY = {"utility": item_rules.utility_constraints, "limits": item_rules.suppression_limit, "found": None}

LISTS: Mapping[frozenset[Part], Mapping[str, Callable[[str], Any] | None]] = {
    ATTRIBUTES: {
        "anonymizers": anonymizer,
        "requirements": requirement,
        "forms": None,
        "suppress": None,
        "lattice": None,
        "found": None,
    },
    ITEMS: {"anonymizers": candidate_maker, "requirements": item_rules.basket_requirement, **POLICY},
    BOTH: {
        "anonymizers": anonymizer,
        "item_anonymizers": candidate_maker,
        "merging": merging,
        "requirements": item_rules.mixed_requirement,
        "suppress": None,
        **POLICY,
        "sets": str,
    },
}
"""By parts of the data, the keys of a block in writing order, each with the parser of a value."""

USUAL: Mapping[frozenset[Part], Mapping[str, Any]] = {
    ATTRIBUTES: {},
    ITEMS: {
        "anonymizers": (candidate_maker("coat"),),
        "requirements": (item_rules.basket_requirement("km-anonymity k=1 m=1"),),
    },
    BOTH: {
        "requirements": (item_rules.mixed_requirement("k-km-anonymity k=1 m=1"),),
        "item_anonymizers": (candidate_maker(DEFAULT_MAKER),),
    },
}
"""By parts of the data, the defaults of a block that differ from those of a table."""


@dataclass(frozen=True)
class Grid:
    """All combinations of anonymizers, requirements and limits as candidates."""

    anonymizers: Annotated[tuple[ReleaseMaker, ...], options.ANONYMIZERS] = (anonymizer("mondrian"),)
    requirements: Annotated[tuple[Any, ...], options.REQUIREMENTS] = (NOTHING,)
    forms: Annotated[tuple[Form, ...], options.IN_FORMS] = ("generalization",)
    suppress: Annotated[tuple[float, ...], options.SUPPRESS] = (0.0,)
    lattice: Annotated[bool, options.LATTICE] = False
    item_anonymizers: Annotated[tuple[BasketAnonymizer | None, ...], options.ITEM_ANONYMIZERS] = (None,)
    merging: Annotated[tuple[Merging, ...], options.MERGING] = (NoMerging(),)
    utility: Annotated[tuple[item_rules.UtilityConstraints | None, ...], options.UTILITY] = (None,)
    limits: Annotated[tuple[item_rules.SuppressionLimit, ...], options.LIMIT] = (item_rules.SuppressionLimit(),)
    sets: Annotated[tuple[Sets, ...], options.SETS] = ("group",)
    found: Annotated[bool, options.FOUND] = False

    def __post_init__(self) -> None:
        options.check_options(self)
        other = [maker for maker in self.anonymizers if not maker.has_lattice]
        if self.lattice and other:
            raise BadInputError(f"lattice = true shows the lattice of full-domain; {other[0].name} has none")
        brought = [maker for maker in self.anonymizers if isinstance(maker, ExternalRelease)]
        if brought and self.has == BOTH:
            raise BadInputError(f"{brought[0].name} is an external release; these are supported for tables only")

    @property
    def has(self) -> frozenset[Part]:
        """The parts of the data from which its candidates are made."""
        if self.item_anonymizers != (None,):
            return BOTH
        return ITEMS if any(isinstance(maker, BasketAnonymizer) for maker in self.anonymizers) else ATTRIBUTES

    @property
    def candidates(self) -> list[Candidate]:
        """All combinations, in order."""
        lists = {name: getattr(self, each.name) for name, each in lists_of(self.has).items()}
        return [Candidate(**dict(zip(lists, values, strict=True))) for values in product(*lists.values())]

    @property
    def by_persons(self) -> Grid:
        """The same with requirements that name their meaning for persons."""
        return replace(self, requirements=tuple(each.by_persons for each in self.requirements))

    def candidates_of(self, table: Table) -> list[Candidate]:
        """All combinations for a table, with every feasible transformation of its lattice if requested."""
        return [
            one
            for each in self.candidates
            for one in (_transformations(each, table) if self.lattice else [each.pinned])
        ]

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> Grid:
        """Return the grid of some candidates that are all combinations of their values."""
        lists: dict[str, Any] = {
            each.name: tuple(dict.fromkeys(getattr(one, name) for one in candidates))
            for name, each in lists_of(candidates[0].has).items()
        }
        return cls(**lists)

    @classmethod
    def read(cls, block: Mapping[str, Any], folder: Path, has: frozenset[Part] = ATTRIBUTES) -> Grid:
        """Read a block `[[candidates]]` of a study in a folder, also one of an external release."""
        has = has & BOTH
        brought = brought_of(block, folder) if has == ATTRIBUTES else None
        if brought is not None:
            return cls((brought,))
        known = block_options(has)
        known_keys("[[candidates]]", block, (*known, *(("file",) if has == ATTRIBUTES else ())))
        given = {key: _values(each, block[key]) for key, each in known.items() if key in block}
        grid = cls(**{**USUAL[has], **given})
        return replace(grid, anonymizers=tuple(beside_study(maker, folder) for maker in grid.anonymizers))

    def blocks(self, folder: Path | None) -> list[dict[str, Any]]:
        """Return it as blocks of a study: one of all internal candidates, and one per external release."""
        brought = [maker for maker in self.anonymizers if isinstance(maker, ExternalRelease)]
        made = tuple(maker for maker in self.anonymizers if not isinstance(maker, ExternalRelease))
        given = [(each, made if key == "anonymizers" else getattr(self, key)) for key, each in self._options.items()]
        said = [(each, value) for each, value in given if not each.option.rare or value != each.default]
        here = [{each.name: _written(each, value) for each, value in said}] if made else []
        return [*here, *(brought_block(maker, folder) for maker in brought)]

    @property
    def _options(self) -> dict[str, options.Described]:
        return block_options(self.has)


@cache
def block_options(has: frozenset[Part]) -> dict[str, options.Described]:
    """Return the options of a block of candidates for such data, by key."""
    known, usual = options.described(Grid), USUAL[has]
    return {
        key: replace(known[key], of_text=read, default=usual.get(key, known[key].default))
        for key, read in LISTS[has].items()
    }


@cache
def lists_of(has: frozenset[Part]) -> dict[str, options.Described]:
    """Return the lists by the field of a candidate that has one of their values, in the order of fields."""
    several = {each.name: each for each in block_options(has).values() if each.several}
    lists = {each.name: several.get(each.name, several.get(f"{each.name}s")) for each in fields(Candidate)}
    return {name: each for name, each in lists.items() if each is not None}


def ends(has: frozenset[Part] = ATTRIBUTES) -> tuple[Grid, ...]:
    """Return the two ends of a map: the trivial release and the original."""
    nothing, original = anonymizer("without-quasi"), anonymizer("original")
    if has == ATTRIBUTES:
        return (Grid((nothing, original)),)
    one_item, all_items = candidate_maker("one-item"), candidate_maker("original")
    asked = USUAL[has]["requirements"]
    if has == ITEMS:
        return (Grid((one_item, all_items), asked),)
    alone = Grid((nothing,), asked, item_anonymizers=(one_item,))
    return alone, Grid((original,), asked, item_anonymizers=(all_items,))


def _transformations(candidate: Candidate, table: Table) -> list[Candidate]:
    """List the transformations of a full-domain search; the candidate itself if none is feasible, with the reason."""
    maker: Any = candidate.anonymizer
    decided = maker.lattice(table, candidate.requirement, candidate.suppress)
    makers = [decided.anonymizer(int(row)) for row in decided.feasible.nonzero()[0]]
    return [replace(candidate, anonymizer=transformation) for transformation in makers] or [candidate]


def _values(each: options.Described, given: Any) -> Any:
    """Return the value of an option of a block: one value or a list."""
    if not each.several:
        return given
    if each.type is float:
        return tuple(list_of(given))
    return tuple(_value_of(each, text) for text in texts_of(each.key, given))


def _value_of(each: options.Described, text: str) -> Any:
    """Parse one value of a list from its text."""
    if text == NONE and None in each.default:
        return None
    return text if each.of_text is None else each.of_text(text)


def _written(each: options.Described, value: Any) -> Any:
    """Return an option for writing: texts on separate lines, numbers and choices unchanged."""
    if each.of_text is None:
        return list(value) if each.several else value
    return written_texts(tuple(NONE if one is None else one for one in value))


ENTRIES = ("anonymizer", "requirement", "form")
"""The fields of a candidate that a point keeps besides the parameters."""

RENAMED = {"item_anonymizer": "items_with"}
"""The names of candidate fields among the parameters of a point, if different."""


def candidate_of(entry: Mapping[str, Any], has: frozenset[Part]) -> Candidate:
    """Read a candidate from its texts in a file."""
    given = {**entry["parameters"], **{name: entry[name] for name in ENTRIES if name in entry}}
    values: dict[str, Any] = {}
    for name, each in lists_of(has & BOTH).items():
        key = RENAMED.get(name, name)
        if key in given:
            values[name] = _kept(key, each, given[key])
        elif name in ("anonymizer", "requirement", "item_anonymizer"):
            raise BadInputError(f"a point lacks {key} among its parameters")
    return Candidate(**values)


def _kept(key: str, each: options.Described, value: Any) -> Any:
    """Read a field of a candidate from a point."""
    if each.type is float:
        return float(value)
    if each.choices:
        options.check_choice(key, value, each.choices)
    elif not isinstance(value, str):
        raise BadInputError(f"{key} must be a text, not {options.shortened(value)}")
    return _value_of(each, value)
