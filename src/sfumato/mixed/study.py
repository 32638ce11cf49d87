"""A study of a table with a set-valued column: the candidate releases to make of it, and the scales to measure them on.

It stands in a `study.toml` with the sections `[table]` and `[items]`; everything that follows (map, report, choice,
release) is the same as for tables and for baskets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from sfumato.anonymizers import Brought, Maker, anonymizer
from sfumato.errors import BadInputError
from sfumato.mixed.anonymizers.grouped_items import Sets
from sfumato.mixed.anonymizers.merging import Merging, NoMerging, merging
from sfumato.mixed.anonymizers.recipe import FORM, MixedRecipe
from sfumato.mixed.declaration import ItemsDeclaration, MixedDeclaration
from sfumato.mixed.details import mixed_changes, mixed_details
from sfumato.mixed.measures.scales import MixedScales, PreparedMixed
from sfumato.mixed.mixed_table import MixedTable
from sfumato.mixed.policy import MixedRequirement, mixed_requirement
from sfumato.tradeoff.exploration.exploration import attempted, table_facts
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.search.aims import Aim
from sfumato.tradeoff.search.families import Proposals
from sfumato.tradeoff.study.explorable import Opened, Settings
from sfumato.tradeoff.study.grids import CandidateGrid, GridStudy
from sfumato.tradeoff.study.study import TABLE_FACTS, table_declaration, table_entries
from sfumato.transactions.anonymizers.anonymizer import BasketAnonymizer
from sfumato.transactions.anonymizers.registry import DEFAULT_MAKER, TREE_MAKER, candidate_maker
from sfumato.transactions.policy import (
    SuppressionLimit,
    UtilityConstraints,
    policy_texts,
    suppression_limit,
    utility_constraints,
)
from sfumato.vocabulary import ANONYMIZERS, ITEM_ANONYMIZERS, LIMIT, MERGING, REQUIREMENTS, SUPPRESS, UTILITY
from sfumato.vocabulary import SETS as ITEM_SETS

NOTHING = mixed_requirement("k-km-anonymity k=1 m=1")
AXES = ("itemset_risk", "joint_query_error")
USUAL_ITEMS = candidate_maker(DEFAULT_MAKER)


@dataclass(frozen=True)
class MixedCandidate(MixedRecipe, Settings):
    """One release that could be made: who makes its groups and its items, what it must satisfy, what it may do."""

    form: ClassVar[str] = FORM
    mark: ClassVar[str] = "items: "

    def __str__(self) -> str:
        policy = policy_texts(self.utility, self.limit).values()
        extra = [f"suppress {self.suppress!r}"] if self.suppress else []
        return ", ".join([super().__str__(), str(self.requirement), *policy, *extra])

    @property
    def further_parameters(self) -> dict[str, Any]:
        """Who makes the items, and what is not as usual."""
        merged = {} if isinstance(self.merging, NoMerging) else {"merging": str(self.merging)}
        sets = {} if self.sets == "group" else {"sets": self.sets}
        policy = policy_texts(self.utility, self.limit)
        return {"items_with": str(self.item_anonymizer), **merged, **sets, **policy, **super().further_parameters}

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
            parts.append(self.limit.rule_in_words())
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
        utility = None if self.utility is None else self.utility.public
        return replace(super().public, item_anonymizer=self.item_anonymizer.public, utility=utility)

    @property
    def repeatable(self) -> MixedCandidate:
        """The candidate with a seed where its maker draws at random and has none: a map comes out the same twice."""
        return replace(self, anonymizer=self.anonymizer.with_seed(int(self.id, 16)))


@dataclass(frozen=True)
class MixedGrid(CandidateGrid[MixedCandidate]):
    """Candidates as all combinations of makers of groups and of items, merging, requirements and what may be lost."""

    anonymizers: Annotated[tuple[Maker, ...], ANONYMIZERS, anonymizer] = (anonymizer("mondrian"),)
    item_anonymizers: Annotated[tuple[BasketAnonymizer, ...], ITEM_ANONYMIZERS, candidate_maker] = (USUAL_ITEMS,)
    merging: Annotated[tuple[Merging, ...], MERGING, merging] = (NoMerging(),)
    requirements: Annotated[tuple[MixedRequirement, ...], REQUIREMENTS, mixed_requirement] = (NOTHING,)
    suppress: Annotated[tuple[float, ...], SUPPRESS] = (0.0,)
    utility: Annotated[tuple[UtilityConstraints | None, ...], UTILITY, utility_constraints] = (None,)
    limits: Annotated[tuple[SuppressionLimit, ...], LIMIT, suppression_limit] = (SuppressionLimit(),)
    sets: Annotated[tuple[Sets, ...], ITEM_SETS, str] = ("group",)

    candidate: ClassVar[type[MixedCandidate]] = MixedCandidate

    def __post_init__(self) -> None:
        super().__post_init__()
        brought = [maker for maker in self.anonymizers if isinstance(maker, Brought)]
        if brought:
            raise BadInputError(f"{brought[0].name} brings a release that was made elsewhere; that is for tables alone")


def ends() -> tuple[MixedGrid, MixedGrid]:
    """Return the two ends of a map: nothing of either side, and the original."""
    return (
        MixedGrid((anonymizer("without-quasi"),), (candidate_maker("one-item"),)),
        MixedGrid((anonymizer("original"),), (candidate_maker("original"),)),
    )


@dataclass(frozen=True)
class MixedStudy(GridStudy[MixedCandidate]):
    """What to explore: a table with items, candidates, scales, and the measures that count."""

    name: str
    data: MixedDeclaration
    grids: tuple[MixedGrid, ...]
    scales: MixedScales = field(default_factory=MixedScales)
    axes: tuple[str, ...] = AXES

    section: ClassVar[str] = "items"
    further: ClassVar[tuple[str, ...]] = ("table",)
    grid: ClassVar[type[MixedGrid]] = MixedGrid
    scales_kind: ClassVar[type[MixedScales]] = MixedScales
    renamed: ClassVar[Mapping[str, str]] = {"item_anonymizer": "items_with"}
    forms: ClassVar[tuple[str, ...]] = (FORM,)
    facts: ClassVar[tuple[str, ...]] = (*TABLE_FACTS, "items", "occurrences", "tree", "column")

    def __post_init__(self) -> None:
        super().__post_init__()
        for candidate in self.candidates:
            candidate.check()

    def opened(self, data: MixedTable | None = None) -> MixedWork:
        """Open the data, unless they are given, and list the candidates."""
        return MixedWork(self, data if data is not None else self.data.open())

    def sections(self, folder: Path | None) -> dict[str, Any]:
        """Write the sections that say where the table and the items are."""
        return {"table": table_entries(self.data.table, folder), "items": self.data.items.entries(folder)}

    @classmethod
    def declared(cls, content: Mapping[str, Any], origin: str) -> dict[str, Any]:
        """Read where the table and the items are."""
        if not isinstance(content.get("table"), dict):
            raise BadInputError("a study with [items] needs [table], too: the rows whose items these are")
        items = ItemsDeclaration.of(content["items"], Path(origin).parent)
        return {"data": MixedDeclaration(table_declaration(content["table"], origin), items)}


study_of = MixedStudy.read


@dataclass(frozen=True, eq=False)
class MixedWork(Opened):
    """A study of a table with items, and these at hand."""

    study: MixedStudy
    data: MixedTable

    sources: ClassVar[tuple[str, ...]] = ("transactions", "mixed")

    @property
    def dependencies(self) -> list[Any]:
        """What a point depends on besides its candidate: the data, the scales, and files."""
        return [self.data.digest, self.study.scales, self.files]

    @property
    def about(self) -> Mapping[str, Any]:
        """What is said of the data themselves."""
        data = self.data
        return {
            **table_facts(data.table),
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
            "by_sensitive": measured.relational.of_columns,
            "published": promised_risk(candidate, prepared.scales),
            "details": mixed_details(release, measured.relational, candidate.anonymizer),
            "changes": mixed_changes(release),
        }

    return attempted(candidate.point(), outcome)


BUNDLED: dict[str, Any] = {}
"""No table with items comes with sfumato."""

USUAL_KS = (2, 3, 5, 10, 20, 50)


def usual_study(name: str, declared: MixedDeclaration, ks: Iterable[int], m: int = 2) -> MixedStudy:
    """Return a first study: two makers of items over some k, merged or not, both kinds of sets, ends of the map.

    Items are also published without quasi-identifiers: then sets of items have the whole table to themselves.
    """
    asked = tuple(mixed_requirement(f"k-km-anonymity k={k} m={m}") for k in ks)
    best = DEFAULT_MAKER if declared.items.tree is None else TREE_MAKER
    makers = tuple(map(candidate_maker, (best, "aa")))
    merged = (NoMerging(), merging("rt-merge bound=0.3"))
    limit = (suppression_limit("suppression share=0.05 of=occurrences"),)
    grid = MixedGrid(item_anonymizers=makers, merging=merged, requirements=asked, limits=limit)
    much = (suppression_limit("suppression share=0.6 of=occurrences"),)  # common sets leave out what has no company
    common = MixedGrid(item_anonymizers=makers, requirements=asked, limits=much, sets=("common",))
    alone = MixedGrid((anonymizer("without-quasi"),), makers[:1], requirements=asked, limits=limit)
    return MixedStudy(name, declared, (grid, common, alone, *ends()), MixedScales(known=m))
