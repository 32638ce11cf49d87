"""A study of baskets: sets of items, the candidate releases to make of them, and the scales to measure them on.

It stands in a `study.toml` with a section `[baskets]` where a study of a table has `[table]`; everything that follows
(map, report, choice, release) is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from sfumato.configuration import Option
from sfumato.errors import BadInputError
from sfumato.measures import MEASURES
from sfumato.tradeoff.exploration.exploration import attempted
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.search.aims import Aim
from sfumato.tradeoff.search.families import Proposals
from sfumato.tradeoff.study.explorable import Opened, Settings
from sfumato.tradeoff.study.grids import CandidateGrid, GridStudy
from sfumato.transactions.anonymizers.anonymizer import BasketAnonymizer, Task
from sfumato.transactions.anonymizers.registry import DEFAULT_MAKER, TREE_MAKER, candidate_maker, gone_on
from sfumato.transactions.anonymizers.set_based import SetBased
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.details import basket_details, item_changes
from sfumato.transactions.files.bundled import BASKETS
from sfumato.transactions.files.declaration import BasketsDeclaration
from sfumato.transactions.measures.attacks import MOST_INFERRED_FROM
from sfumato.transactions.measures.queries import ItemQueries, fitting_queries
from sfumato.transactions.measures.scales import BasketScales, PreparedBaskets, protected_risk
from sfumato.transactions.policy import (
    BasketRequirement,
    CompleteKAnonymity,
    KMAnonymity,
    PrivacyConstraints,
    RhoUncertainty,
    SuppressionLimit,
    UtilityConstraints,
    basket_requirement,
    policy_texts,
    suppression_limit,
    utility_constraints,
)
from sfumato.transactions.recoding import BasketRelease
from sfumato.vocabulary import ANONYMIZERS, LIMIT, REQUIREMENTS, UTILITY
from sfumato.workers import Once

WARM = Once(kept=32)
"""Releases of warm sweeps, so that a pass is made once for all its points."""

NOTHING = basket_requirement("km-anonymity k=1 m=1")
AXES = ("itemset_risk", "query_utility")


@dataclass(frozen=True)
class BasketCandidate(Settings):
    """One release that could be made: who makes it, what it must satisfy, what it may do."""

    anonymizer: BasketAnonymizer
    requirement: BasketRequirement
    utility: UtilityConstraints | None = None
    limit: SuppressionLimit = field(default_factory=SuppressionLimit)
    warm: tuple[int, ...] = ()
    """Of a warm sweep: every k from the first to its own, each begun with the parts of the one before."""

    form: ClassVar[str] = "generalization"
    suppress: ClassVar[float] = 0.0
    """Every record is published: what may be left out are items."""

    mark: ClassVar[str] = "baskets: "
    empty: ClassVar[tuple[object, ...]] = (None, ())

    def __str__(self) -> str:
        begun = [f"warm k={self._chain}"] if self.warm else []
        policy = policy_texts(self.utility, self.limit).values()
        return ", ".join([str(self.anonymizer), str(self.requirement), *policy, *begun])

    @property
    def _chain(self) -> str:
        return ",".join(map(str, self.warm))

    @property
    def further_parameters(self) -> dict[str, Any]:
        """The sweep, and the policy, where they are not as usual."""
        return ({"warm": self._chain} if self.warm else {}) | policy_texts(self.utility, self.limit)

    @property
    def in_words(self) -> str:
        """How the release is made, in a sentence."""
        if self.anonymizer.baseline:
            return self.anonymizer.baseline
        parts = [f"{self.anonymizer.in_words()}: {self.requirement.rule_in_words()}"]
        if self.utility is not None:
            parts.append(self.utility.in_words())
        if self.limit.share:
            parts.append(self.limit.rule_in_words())
        if self.warm:
            parts.append(f"one pass over k = {self._chain.replace(',', ', ')}, each begun where the last ended (warm)")
        return "; ".join(parts)

    @property
    def family(self) -> str:
        """What it is drawn as: who makes it."""
        return self.anonymizer.in_words() + (" (warm)" if self.warm else "")

    @property
    def public(self) -> BasketCandidate:
        """The candidate as everybody may know it: files are not called by their names."""
        utility = None if self.utility is None else self.utility.public
        return replace(super().public, requirement=self.requirement.public, utility=utility)

    def make(self, baskets: Baskets) -> BasketRelease:
        """Make the release; of a warm sweep, what comes before it is made once, whoever asks for it first."""
        if not self.warm:
            return self.anonymizer.anonymize(baskets, self.requirement, self.utility, self.limit)
        return WARM.result((baskets.digest, str(self)), lambda: self._going_on(baskets))

    def _going_on(self, baskets: Baskets) -> BasketRelease:
        """Make the release beginning with the parts of the one before."""
        assert isinstance(self.anonymizer, SetBased)
        task = Task(baskets, self.requirement, self.utility, self.limit)
        if len(self.warm) == 1:
            return gone_on(self.anonymizer, task, None)
        wanted: Any = self.requirement
        before = replace(self, requirement=replace(wanted, k=self.warm[-2]), warm=self.warm[:-1])
        return gone_on(self.anonymizer, task, before.make(baskets))


@dataclass(frozen=True)
class BasketGrid(CandidateGrid[BasketCandidate]):
    """Candidates as all combinations of some anonymizers, requirements, utility constraints and limits."""

    anonymizers: Annotated[tuple[BasketAnonymizer, ...], ANONYMIZERS, candidate_maker] = (candidate_maker("coat"),)
    requirements: Annotated[tuple[BasketRequirement, ...], REQUIREMENTS, basket_requirement] = (NOTHING,)
    utility: Annotated[tuple[UtilityConstraints | None, ...], UTILITY, utility_constraints] = (None,)
    limits: Annotated[tuple[SuppressionLimit, ...], LIMIT, suppression_limit] = (SuppressionLimit(),)
    warm: Annotated[
        bool,
        Option(
            "Whether requirements that differ in k are served in one pass, each k begun with the parts of the one "
            "before: faster, and not what a k alone would give. Of coat, pcta and upcta.",
            rare=True,
        ),
    ] = False

    candidate: ClassVar[type[BasketCandidate]] = BasketCandidate

    def __post_init__(self) -> None:
        super().__post_init__()
        cold = [str(maker) for maker in self.anonymizers if not isinstance(maker, SetBased)]
        if self.warm and cold:
            raise BadInputError(
                f"warm = true: {cold[0]} cannot go on from another release, coat, pcta and upcta can; put it under "
                "[[candidates]] of its own"
            )
        fixed = [one for one in self.requirements if not isinstance(one, KMAnonymity | PrivacyConstraints)]
        if self.warm and fixed:
            raise BadInputError(
                f"warm = true goes from one k to the next, and {fixed[0]} is not served so; leave it out"
            )

    @property
    def candidates(self) -> list[BasketCandidate]:
        """All combinations, in order; of a warm sweep each with what comes before it."""
        every = super().candidates
        return [replace(one, warm=self._chain(one.requirement)) for one in every] if self.warm else every

    def _chain(self, wanted: Any) -> tuple[int, ...]:
        """Return every k, from the least to that of a requirement, of those that differ from it in k alone."""
        same: list[Any] = [one for one in self.requirements if type(one) is type(wanted)]
        return tuple(sorted({one.k for one in same if one.k <= wanted.k and replace(one, k=wanted.k) == wanted}))


ENDS = BasketGrid((candidate_maker("one-item"), candidate_maker("original")), (NOTHING,))
"""The two ends of a map: one item in place of all, and the original."""


@dataclass(frozen=True)
class BasketStudy(GridStudy[BasketCandidate]):
    """What to explore: baskets, candidates, scales, and the measures that count: the map is drawn on the first two."""

    name: str
    baskets: BasketsDeclaration
    grids: tuple[BasketGrid, ...]
    scales: BasketScales = field(default_factory=BasketScales)
    axes: tuple[str, ...] = AXES

    section: ClassVar[str] = "baskets"
    grid: ClassVar[type[BasketGrid]] = BasketGrid
    scales_kind: ClassVar[type[BasketScales]] = BasketScales
    forms: ClassVar[tuple[str, ...]] = ("generalization",)
    facts: ClassVar[tuple[str, ...]] = ("digest", "records", "distinct", "items", "occurrences", "tree")

    @classmethod
    def measures(cls) -> list[str]:
        """Name the measures that can be axes."""
        return [name for name, measure in MEASURES.items() if measure.said_of == "baskets"]

    def opened(self, data: Baskets | None = None) -> BasketWork:
        """Open the baskets, unless they are given, and list the candidates."""
        return BasketWork(self, data if data is not None else self.baskets.open())

    def with_seed(self, seed: int) -> BasketStudy:
        """Return the same study with another seed of the random queries; the same where none are drawn."""
        return self if self.scales.queries.is_exact else super().with_seed(seed)

    def candidate_of(self, entry: Mapping[str, Any]) -> BasketCandidate:
        """Read a candidate from its texts."""
        warm = entry["parameters"].get("warm")
        return replace(super().candidate_of(entry), warm=() if warm is None else _chain_of(warm))

    def sections(self, folder: Path | None) -> dict[str, Any]:
        """Write the section that says where the baskets are."""
        return {"baskets": self.baskets.entries(folder)}

    @classmethod
    def declared(cls, content: Mapping[str, Any], origin: str) -> dict[str, Any]:
        """Read where the baskets are."""
        return {"baskets": BasketsDeclaration.of(content["baskets"], Path(origin).parent)}


def _chain_of(text: object) -> tuple[int, ...]:
    """Read the k of a warm sweep back; whatever else stands there is an error."""
    parts = text.split(",") if isinstance(text, str) else [""]
    if not all(part.isdecimal() and len(part) < 10 for part in parts):
        raise BadInputError(f"warm must be numbers with commas between them, such as 2,5,10, not {text!r}")
    return tuple(map(int, parts))


study_of = BasketStudy.read


@dataclass(frozen=True, eq=False)
class BasketWork(Opened):
    """A study of baskets with the baskets at hand."""

    study: BasketStudy
    baskets: Baskets

    sources: ClassVar[tuple[str, ...]] = ("transactions",)

    @property
    def dependencies(self) -> list[Any]:
        """What a point depends on besides its candidate: the baskets, the scales, and files."""
        return [self.baskets.digest, self.study.scales, self.files]

    @property
    def about(self) -> Mapping[str, Any]:
        """What is said of the baskets themselves."""
        baskets = self.baskets
        return {
            "records": baskets.size,
            "distinct": baskets.distinct,
            "items": len(baskets.items),
            "occurrences": baskets.occurrences,
            "tree": baskets.tree is not None,
            "notices": list(baskets.notices),
            "digest": baskets.digest,
            "origin": baskets.origin,
        }

    def prepared(self) -> Callable[[BasketCandidate], Point]:
        """Draw queries and persons; return what makes and measures one candidate."""
        return partial(measured_baskets, prepared=self.study.scales.prepare(self.baskets).ready())

    def proposals(self, aim: Aim, workers: int | None) -> Proposals:
        """Say what a tuner can try on the baskets beside the candidates, whatever it is after."""
        from sfumato.transactions.families import basket_proposals  # it proposes candidates: not before them

        return basket_proposals(self.study, self.baskets)


def promised_risk(candidate: BasketCandidate, scales: BasketScales) -> dict[str, float]:
    """Bound the risk by what is promised of every set of items that the scales take for known; else say nothing."""
    requirement = candidate.requirement
    if candidate.anonymizer.baseline:
        return {}
    covered = isinstance(requirement, CompleteKAnonymity) or (
        isinstance(requirement, KMAnonymity) and scales.constraints is None and requirement.m >= scales.known
    )
    bounds = {"itemset_risk": 1 / requirement.k} if covered else {}
    if isinstance(requirement, PrivacyConstraints):
        bounds = {"protected_risk": 1 / requirement.k}
    if isinstance(requirement, RhoUncertainty) and scales.sensitive:
        named = set(scales.sensitive) <= set(requirement.sensitive)
        bounds |= {"rho": requirement.rho} if named and min(scales.known, MOST_INFERRED_FROM) <= requirement.m else {}
    return bounds


def measured_baskets(candidate: BasketCandidate, prepared: PreparedBaskets) -> Point:
    """Make one release and measure it; a candidate that cannot be made is a point that says why."""

    def outcome() -> dict[str, Any]:
        release = candidate.make(prepared.baskets)
        measured = prepared.measure(release)
        return {
            "measures": protected_risk(release, candidate.requirement) | dict(measured.values),
            "published": promised_risk(candidate, prepared.scales),
            "intervals": dict(measured.intervals),
            "details": basket_details(release, measured.matching, prepared.studies),
            "changes": {"items": item_changes(release)},
        }

    return attempted(candidate.point(), outcome)


# -- bundled -----------------------------------------------------------------------------------------------

LOUKIDES_2012 = (2, 3, 5, 7, 10, 15, 25, 50, 75, 100)
"""Values of k between those of Loukides et al. 2012, figures 6 and 7."""


def bundled_study(name: str) -> BasketStudy:
    """Return the R-U maps of Loukides et al. 2012 on bundled baskets: AA, COAT and PCTA for k^2-anonymity."""
    return usual_study(name, BasketsDeclaration(name), LOUKIDES_2012)


BUNDLED = dict.fromkeys(BASKETS, bundled_study)


def usual_study(
    name: str, declared: BasketsDeclaration, ks: Iterable[int], m: int = 2, queries: ItemQueries | None = None
) -> BasketStudy:
    """Return a study of three anonymizers over some k, with both ends of the map."""
    asked = tuple(basket_requirement(f"km-anonymity k={k} m={m}") for k in ks)
    makers = tuple(candidate_maker(text) for text in ("aa", "coat", "pcta"))
    return BasketStudy(
        name, declared, (BasketGrid(makers, asked), ENDS), BasketScales(known=m, queries=queries or ItemQueries())
    )


ALLOWED = SuppressionLimit(0.05, "occurrences")
"""What a first study allows to suppress."""


def first_study(
    name: str, declared: BasketsDeclaration, baskets: Baskets, ks: Iterable[int], m: int = 2
) -> BasketStudy:
    """Return a first study of baskets: the usual one with the default anonymizer and a suppression limit.

    With a tree of items the default anonymizer also prices sets by the tree, and generalizes within its largest nodes.
    """
    usual = usual_study(name, declared, ks, m, fitting_queries(baskets))
    best, asked = candidate_maker(DEFAULT_MAKER), usual.grids[0].requirements
    by_tree = () if baskets.tree is None else (candidate_maker(TREE_MAKER),)
    grids = [replace(usual.grids[0], anonymizers=(best, *by_tree, *usual.grids[0].anonymizers), limits=(ALLOWED,))]
    if baskets.tree is not None and baskets.tree.height > 1:
        within = UtilityConstraints(level=baskets.tree.height - 1)
        grids.append(BasketGrid((best,), asked, (within,), (ALLOWED,)))
    return replace(usual, grids=(*grids, *usual.grids[1:]))
