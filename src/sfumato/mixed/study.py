"""A study of a table with a set-valued column: the candidate releases to make of it, and the scales to measure them on.

It stands in a `study.toml` with the sections `[table]` and `[items]`; everything that follows (map, report, choice,
release) is the same as for tables and for baskets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar

from sfumato.anonymizers import Brought, Maker, anonymizer
from sfumato.configuration import check_choice, check_number, described, value_text
from sfumato.errors import BadInputError
from sfumato.kernels import source_digest
from sfumato.measures import MEASURES, Classification, Queries
from sfumato.mixed.anonymizers.grouped_items import SETS, Sets
from sfumato.mixed.anonymizers.making import FORM, Recipe
from sfumato.mixed.anonymizers.merging import Merging, NoMerging, merging
from sfumato.mixed.declaration import ItemsDeclaration, MixedDeclaration
from sfumato.mixed.details import mixed_changes, mixed_details
from sfumato.mixed.measures.queries import JointQueries
from sfumato.mixed.measures.scales import MixedScales, PreparedMixed
from sfumato.mixed.mixed_table import MixedTable
from sfumato.mixed.policy import MixedRequirement, mixed_requirement
from sfumato.phrases import percent
from sfumato.rooms import up_to
from sfumato.tradeoff.exploration.exploration import attempted
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.search.aims import Aim
from sfumato.tradeoff.search.families import Proposals
from sfumato.tradeoff.study.study import table_declaration, table_entries
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
from sfumato.transactions.anonymizers.anonymizer import BasketAnonymizer
from sfumato.transactions.anonymizers.registry import DEFAULT_MAKER, candidate_maker
from sfumato.transactions.measures.attacks import Linking
from sfumato.transactions.measures.queries import ItemQueries
from sfumato.transactions.policy import (
    SuppressionLimit,
    UtilityConstraints,
    suppression_limit,
    utility_constraints,
)
from sfumato.vocabulary import (
    ANONYMIZERS,
    ITEM_ANONYMIZERS,
    LIMIT,
    MERGING,
    REQUIREMENTS,
    SUPPRESS,
    UTILITY,
)
from sfumato.vocabulary import SETS as ITEM_SETS

NOTHING = mixed_requirement("k-km-anonymity k=1 m=1")
AXES = ("itemset_risk", "joint_query_error")
SCALES = {
    "queries": (Queries,),
    "item_queries": (ItemQueries,),
    "joint_queries": (JointQueries,),
    "linking": (Linking,),
}
"""The kinds of every scale that is a configuration of its own."""

FILE = "a file"
"""What a file is called where its name may not be told."""

USUAL_ITEMS = candidate_maker(DEFAULT_MAKER)


@dataclass(frozen=True)
class MixedCandidate(Recipe):
    """One release that could be made: who makes its groups and its items, what it must satisfy, what it may do."""

    form: ClassVar[str] = FORM

    def __str__(self) -> str:
        extra = [str(part) for part in (self.utility, self.limit) if part not in (None, SuppressionLimit())]
        extra += [f"suppress {self.suppress!r}"] if self.suppress else []
        return ", ".join([super().__str__(), str(self.requirement), *extra])

    @property
    def id(self) -> str:
        """A short name that depends on the configuration alone."""
        return sha256(f"items: {self}".encode()).hexdigest()[:8]

    @property
    def parameters(self) -> dict[str, Any]:
        """The numbers and choices of the configuration, by name."""
        options: dict[str, Any] = {}
        for part in (self.anonymizer, *self.requirement.parts):
            for setting in fields(part):  # type: ignore[arg-type]
                value = getattr(part, setting.name)
                value = value_text(value) if isinstance(value, tuple) else value
                if value not in (None, "") and setting.name not in part.unwritten:
                    options.setdefault(setting.name, value)
        texts: dict[str, Any] = {"items_with": str(self.item_anonymizer)}
        if not isinstance(self.merging, NoMerging):
            texts["merging"] = str(self.merging)
        if self.sets != "group":
            texts["sets"] = self.sets
        if self.utility is not None:
            texts["utility"] = str(self.utility)
        if self.limit != SuppressionLimit():
            texts["limit"] = str(self.limit)
        return options | texts | ({"suppress": self.suppress} if self.suppress else {})

    @property
    def in_words(self) -> str:
        """How the release is made, in a sentence."""
        if self.anonymizer.baseline:
            return f"{self.anonymizer.baseline}; items: {self.item_anonymizer.in_words()}"
        parts = [f"groups by {self.anonymizer.in_words()}, items by {self.item_anonymizer.in_words()}"]
        if not isinstance(self.merging, NoMerging):
            parts.append(f"groups merged by {self.merging.in_words()}")
        if self.sets == "common":
            parts.append("sets of items are nodes of one tree for all groups")
        parts.append(self.requirement.rule_in_words())
        if self.utility is not None:
            where = f"a line of {self.utility.file}" if self.utility.file else f"a node of level {self.utility.level}"
            parts.append(f"items published together only within {where}")
        if self.limit.share:
            parts.append(f"at most {percent(self.limit.share, 3)} of the {self.limit.of} left out")
        return "; ".join(parts)

    @property
    def family(self) -> str:
        """What it is drawn as: who makes it."""
        if self.anonymizer.baseline:
            return ""
        merged = "" if isinstance(self.merging, NoMerging) else f", {self.merging.title or self.merging.name}"
        common = ", common sets" if self.sets == "common" else ""
        return f"{self.anonymizer.in_words()} with {self.item_anonymizer.in_words()}{merged}{common}"

    @property
    def public(self) -> MixedCandidate:
        """The candidate as everybody may know it: without a seed, and files are not called by their names."""
        utility = self.utility
        if utility is not None and utility.file is not None:
            utility = replace(utility, file=FILE)
        makers = {"anonymizer": self.anonymizer.public, "item_anonymizer": self.item_anonymizer.public}
        return replace(self, **makers, utility=utility)  # type: ignore[arg-type]

    @property
    def repeatable(self) -> MixedCandidate:
        """The candidate with a seed where its maker draws at random and has none: a map comes out the same twice."""
        return replace(self, anonymizer=self.anonymizer.with_seed(int(self.id, 16)))

    def point(self) -> Point:
        """Return the point of this candidate, before it is measured."""
        return Point(self.id, self, "measured")


@dataclass(frozen=True)
class MixedGrid:
    """Candidates as all combinations of makers of groups and of items, merging, requirements and what may be lost."""

    anonymizers: Annotated[tuple[Maker, ...], ANONYMIZERS] = (anonymizer("mondrian"),)
    item_anonymizers: Annotated[tuple[BasketAnonymizer, ...], ITEM_ANONYMIZERS] = (USUAL_ITEMS,)
    merging: Annotated[tuple[Merging, ...], MERGING] = (NoMerging(),)
    requirements: Annotated[tuple[MixedRequirement, ...], REQUIREMENTS] = (NOTHING,)
    suppress: Annotated[tuple[float, ...], SUPPRESS] = (0.0,)
    utility: Annotated[tuple[UtilityConstraints | None, ...], UTILITY] = (None,)
    limits: Annotated[tuple[SuppressionLimit, ...], LIMIT] = (SuppressionLimit(),)
    sets: Annotated[tuple[Sets, ...], ITEM_SETS] = ("group",)

    def __post_init__(self) -> None:
        for kind in self.sets:
            check_choice("sets", kind, SETS)
        for share in self.suppress:
            check_number("suppress", share, least=0, most=1)

    @property
    def candidates(self) -> list[MixedCandidate]:
        """All combinations, in order."""
        parts = (self.anonymizers, self.requirements, self.item_anonymizers, self.merging)
        return [MixedCandidate(*each) for each in product(*parts, self.suppress, self.utility, self.limits, self.sets)]


def ends() -> tuple[MixedGrid, MixedGrid]:
    """Return the two ends of a map: nothing of either side, and the original."""
    return (
        MixedGrid((anonymizer("without-quasi"),), (candidate_maker("one-item"),)),
        MixedGrid((anonymizer("original"),), (candidate_maker("original"),)),
    )


@dataclass(frozen=True)
class MixedStudy:
    """What to explore: a table with items, candidates, scales, and the measures that count."""

    name: str
    data: MixedDeclaration
    grids: tuple[MixedGrid, ...]
    scales: MixedScales = field(default_factory=MixedScales)
    axes: tuple[str, ...] = AXES

    section: ClassVar[str] = "items"
    forms: ClassVar[tuple[str, ...]] = (FORM,)
    facts: ClassVar[tuple[str, ...]] = (
        "digest",
        "records",
        "cells",
        "dropped",
        "quasi",
        "sensitive",
        "items",
        "occurrences",
        "tree",
        "column",
    )

    def __post_init__(self) -> None:
        check_axes(self.axes, MEASURES)
        if not self.candidates:
            raise BadInputError(f"the study {self.name!r} has no candidate; give it [[candidates]]")
        for candidate in self.candidates:
            candidate.check()

    @cached_property
    def candidates(self) -> Sequence[MixedCandidate]:
        """All candidates, each once, in order."""
        return tuple(dict.fromkeys(candidate for grid in self.grids for candidate in grid.candidates))

    @property
    def learned(self) -> Classification | None:
        """Nothing: classifiers learn columns of tables."""
        return None

    def opened(self, data: MixedTable | None = None) -> MixedWork:
        """Open the data, unless they are given, and list the candidates."""
        return MixedWork(self, data if data is not None else self.data.open())

    def grown(self, candidates: Sequence[MixedCandidate]) -> MixedStudy:
        """Return the same study with further candidates, in as few blocks as there are makers and policies."""
        blocks: dict[tuple[object, ...], list[MixedCandidate]] = {}
        for one in candidates:
            key = (one.anonymizer, one.item_anonymizer, one.merging, one.suppress, one.utility, one.limit, one.sets)
            blocks.setdefault(key, []).append(one)
        grids = (
            MixedGrid(
                (one.anonymizer,),
                (one.item_anonymizer,),
                (one.merging,),
                tuple(each.requirement for each in block),
                (one.suppress,),
                (one.utility,),
                (one.limit,),
                (one.sets,),
            )
            for block in blocks.values()
            for one in block[:1]
        )
        return replace(self, grids=(*self.grids, *grids))

    def with_seed(self, seed: int) -> MixedStudy:
        """Return the same study with another seed of the random queries."""
        scales = self.scales
        return replace(
            self,
            scales=replace(
                scales,
                queries=replace(scales.queries, seed=seed),
                item_queries=replace(scales.item_queries, seed=seed),
                joint_queries=replace(scales.joint_queries, seed=seed),
            ),
        )

    def candidate_of(self, entry: Mapping[str, Any]) -> MixedCandidate:
        """Read a candidate from its texts."""
        given = entry["parameters"]
        utility, limit = (given.get(name) for name in ("utility", "limit"))
        return MixedCandidate(
            anonymizer(entry["anonymizer"]),
            mixed_requirement(entry["requirement"]),
            candidate_maker(given["items_with"]),
            merging(given.get("merging", NoMerging.name)),
            float(given.get("suppress", 0.0)),
            None if utility is None else utility_constraints(utility),
            SuppressionLimit() if limit is None else suppression_limit(limit),
            given.get("sets", "group"),
        )

    def to_toml(self, folder: Path | None = None) -> str:
        """Write the study with every default filled in; files named as seen from a folder, if one is given."""
        before = {"table": table_entries(self.data.table, folder)}
        return study_text(self, self.data.items.entries(folder), map(_block, self.grids), before)


def _block(grid: MixedGrid) -> dict[str, Any]:
    options: dict[str, Any] = {
        "anonymizers": written_texts(grid.anonymizers),
        "item_anonymizers": written_texts(grid.item_anonymizers),
        "merging": written_texts(grid.merging),
        "requirements": written_texts(grid.requirements),
        "suppress": list(grid.suppress),
    }
    if grid.utility != (None,):
        options["utility"] = written_texts(tuple("none" if utility is None else utility for utility in grid.utility))
    if grid.limits != (SuppressionLimit(),):
        options["limits"] = written_texts(grid.limits)
    if grid.sets != ("group",):
        options["sets"] = written_texts(grid.sets)
    return options


@dataclass(frozen=True, eq=False)
class MixedWork:
    """A study of a table with items, and these at hand."""

    study: MixedStudy
    data: MixedTable

    @cached_property
    def key(self) -> str:
        """A digest of everything a point depends on besides its candidate."""
        named = [self.study.scales.item_queries.file]
        named += [None if one.utility is None else one.utility.file for one in self.study.candidates]
        named += [getattr(one.item_anonymizer, "weights", None) for one in self.study.candidates]
        paths = sorted({Path(name) for name in named if name is not None})
        files = [(str(path), sha256(path.read_bytes()).hexdigest() if path.is_file() else "") for path in paths]
        parts = [self.data.digest, self.study.scales, files]
        parts.append(source_digest(*up_to("measures"), "transactions", "mixed"))
        return sha256("\n".join(map(repr, parts)).encode()).hexdigest()

    @property
    def candidates(self) -> Sequence[MixedCandidate]:
        """All candidates, each once, in order."""
        return self.study.candidates

    @property
    def about(self) -> Mapping[str, Any]:
        """What is said of the data themselves."""
        data = self.data
        return {
            "records": data.records,
            "cells": data.cells.size,
            "dropped": data.table.dropped,
            "quasi": [quasi.name for quasi in data.cells.quasi],
            "sensitive": [sensitive.name for sensitive in data.cells.sensitive],
            "column": data.column,
            "items": len(data.baskets.items),
            "occurrences": data.baskets.occurrences,
            "tree": data.baskets.tree is not None,
            "notices": list(data.notices),
            "digest": data.digest,
            "origin": data.origin,
        }

    def prepared(self) -> Callable[[MixedCandidate], Point]:
        """Draw queries and persons; return what makes and measures one candidate."""
        return partial(measured_mixed, prepared=self.study.scales.prepare(self.data).ready())

    def proposals(self, aim: Aim, workers: int | None) -> Proposals:
        """Say what a tuner can try beside the candidates, whatever it is after."""
        from sfumato.mixed.families import mixed_proposals  # it proposes candidates: not before them

        return mixed_proposals(self.study, self.data)

    def limit(self) -> None:
        """Return nothing: for sets of items no limit is proved."""


def promised_risk(candidate: MixedCandidate, scales: MixedScales) -> dict[str, float]:
    """Bound the risk by what is promised; nothing where more items may be known than the promise speaks of."""
    if candidate.anonymizer.baseline or candidate.requirement.m < scales.known:
        return {}
    return {"itemset_risk": 1 / candidate.requirement.k}


def measured_mixed(candidate: MixedCandidate, prepared: PreparedMixed) -> Point:
    """Make one release and measure it; a candidate that cannot be made is a point that says why."""

    def outcome() -> dict[str, Any]:
        release = candidate.repeatable.make(prepared.data)
        measured = prepared.measure(release)
        return {
            "measures": dict(measured.values),
            "published": promised_risk(candidate, prepared.scales),
            "details": mixed_details(release, measured.relational),
            "changes": mixed_changes(release),
        }

    return attempted(candidate.point(), outcome)


# -- bundled -----------------------------------------------------------------------------------------------


def bundled_names() -> list[str]:
    """Name the bundled tables with items: none."""
    return []


def bundled_study(name: str) -> MixedStudy:
    """Raise: no table with items comes with sfumato."""
    raise BadInputError(f"there is no bundled table with items {name!r}")


USUAL_KS = (2, 3, 5, 10, 20, 50)


def usual_study(name: str, declared: MixedDeclaration, ks: Iterable[int], m: int = 2) -> MixedStudy:
    """Return a first study: two makers of items over some k, merged or not, both kinds of sets, ends of the map."""
    asked = tuple(mixed_requirement(f"k-km-anonymity k={k} m={m}") for k in ks)
    makers = tuple(map(candidate_maker, (DEFAULT_MAKER, "aa")))
    merged = (NoMerging(), merging("rt-merge bound=0.3"))
    limit = (suppression_limit("suppression share=0.05 of=occurrences"),)
    grid = MixedGrid(item_anonymizers=makers, merging=merged, requirements=asked, limits=limit)
    much = (suppression_limit("suppression share=0.6 of=occurrences"),)  # common sets leave out what has no company
    common = MixedGrid(item_anonymizers=makers, requirements=asked, limits=much, sets=("common",))
    return MixedStudy(name, declared, (grid, common, *ends()), MixedScales(known=m))


# -- reading -----------------------------------------------------------------------------------------------


def study_of(content: dict[str, Any], origin: str) -> MixedStudy:
    """Read a study of a table with items from the content of its file."""
    table = content.get("table")
    if not isinstance(table, dict):
        raise BadInputError("a study with [items] needs [table], too: the rows whose items these are")
    content = study_content({key: value for key, value in content.items() if key != "table"}, "items", AXES)
    return MixedStudy(
        str(content.get("name", Path(origin).stem)),
        MixedDeclaration(table_declaration(table, origin), ItemsDeclaration.of(content["items"], Path(origin).parent)),
        tuple(map(_grid, content["candidates"])),
        MixedScales(**section_values("[scales]", content["scales"], MixedScales, SCALES)),
        tuple(content["axes"]),
    )


def _grid(block: Mapping[str, Any]) -> MixedGrid:
    known_keys("[[candidates]]", block, described(MixedGrid))
    utility = [None if text == "none" else utility_constraints(text) for text in texts_of(block, "utility", "none")]
    makers = tuple(anonymizer(text) for text in texts_of(block, "anonymizers", "mondrian"))
    brought = [maker for maker in makers if isinstance(maker, Brought)]
    if brought:
        raise BadInputError(f"{brought[0].name} brings a release that was made elsewhere; that is for tables alone")
    return MixedGrid(
        makers,
        tuple(map(candidate_maker, texts_of(block, "item_anonymizers", DEFAULT_MAKER))),
        tuple(map(merging, texts_of(block, "merging", NoMerging.name))),
        tuple(map(mixed_requirement, texts_of(block, "requirements", str(NOTHING)))),
        tuple(list_of(block.get("suppress", [0.0]))),
        tuple(utility),
        tuple(map(suppression_limit, texts_of(block, "limits", str(SuppressionLimit())))),
        tuple(texts_of(block, "sets", "group")),  # type: ignore[arg-type]  # checked by the grid
    )
