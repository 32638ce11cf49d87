"""sfumato: decide what to publish.

Make many releases of a table about people, measure every one on the same scales of risk and utility, choose one,
publish it and prove what it promises.

    import sfumato

    table = sfumato.read("patients.csv", quasi=["age", "zip"], sensitive=["diagnosis"])
    release = sfumato.anonymize(table, "k-anonymity k=10")
    print(sfumato.measure(release)["loss"])
    release.to_csv("published.csv")
"""

from __future__ import annotations

TYPE_CHECKING = False
"""As in `typing`, which is not imported: the command line starts here, and Ctrl-C is caught only once this is done."""

__version__ = "0.1.0"
_ROOMS = (
    "errors",
    "process.interrupts",
    "table",
    "requirements",
    "release",
    "anonymizers",
    "measures",
    "tradeoff",
    "transactions",
    "transactions.measures.scales",
    "transactions.measures.queries",
    "mixed.declaration",
    "mixed.anonymizers.recipe",
    "mixed.measures.scales",
    "mixed.mixed_table",
    "mixed.policy",
    "mixed.release",
    "mixed.writing",
    "publish",
)
__all__ = [
    "AIM",
    "MEASURES",
    "MST",
    "NSGA2",
    "AddedNoise",
    "AlphaK",
    "Anatomy",
    "Anonymizer",
    "Audit",
    "BadInputError",
    "BasketRelease",
    "BasketScales",
    "Baskets",
    "BetaLikeness",
    "Burel",
    "Cancel",
    "Candidate",
    "Cart",
    "Cells",
    "Check",
    "Choice",
    "ColumnHierarchy",
    "CutSpace",
    "CutVector",
    "DPGrid",
    "DPKdHybrid",
    "DPKdTree",
    "DPPrivTree",
    "DPQuadtree",
    "DataDeclaration",
    "DecidedLattice",
    "DeltaDisclosure",
    "Draft",
    "Exchange",
    "Frontier",
    "FrontierPoint",
    "FullDomain",
    "Grid",
    "Guess",
    "Hierarchy",
    "Hilbert",
    "InfeasibleError",
    "ItemQueries",
    "ItemsDeclaration",
    "KAnonymity",
    "KKMAnonymity",
    "LDiversity",
    "LocalRecoding",
    "LocalSuppression",
    "Map",
    "Measure",
    "Measured",
    "MeasuredProblem",
    "Mechanism",
    "Microaggregation",
    "MixedRelease",
    "MixedRequirement",
    "MixedScales",
    "MixedTable",
    "Mondrian",
    "NoisyRelease",
    "Original",
    "Pram",
    "Problem",
    "Problem1",
    "Problem2",
    "Problem3",
    "Problem4",
    "Queries",
    "Question",
    "RankSwapping",
    "RecordRelease",
    "RecordSwapping",
    "Release",
    "Reply",
    "Requirement",
    "Roles",
    "Rounding",
    "Sabre",
    "Scales",
    "Search",
    "SfumatoError",
    "StoppedError",
    "Study",
    "TCloseness",
    "Table",
    "TableDeclaration",
    "TopCoding",
    "WithoutQuasi",
    "WithoutSensitive",
    "__version__",
    "anonymize",
    "anonymize_baskets",
    "anonymize_mixed",
    "anonymizer",
    "ask",
    "audit",
    "audit_baskets",
    "audit_mixed",
    "check",
    "cut_space",
    "dates",
    "draft",
    "draw",
    "exact",
    "explore",
    "flat",
    "from_level_table",
    "guess",
    "hierarchy",
    "load",
    "load_baskets",
    "measure",
    "measure_baskets",
    "mixed_requirement",
    "numeric",
    "pareto",
    "prefixes",
    "problem",
    "read",
    "read_baskets",
    "read_hierarchies",
    "read_level_table",
    "read_map",
    "read_mixed",
    "read_study",
    "requirement",
    "tree",
    "tune",
    "write_mixed",
]

if TYPE_CHECKING:
    from sfumato.anonymizers import (
        AIM,
        MST,
        AddedNoise,
        Anatomy,
        Anonymizer,
        Burel,
        Cart,
        CutSpace,
        CutVector,
        DecidedLattice,
        DPGrid,
        DPKdHybrid,
        DPKdTree,
        DPPrivTree,
        DPQuadtree,
        Exchange,
        FullDomain,
        Hilbert,
        LocalRecoding,
        LocalSuppression,
        Mechanism,
        Microaggregation,
        Mondrian,
        Original,
        Pram,
        RankSwapping,
        RecordSwapping,
        Rounding,
        Sabre,
        TopCoding,
        WithoutQuasi,
        WithoutSensitive,
        anonymize,
        anonymizer,
        cut_space,
        draw,
    )
    from sfumato.errors import BadInputError, InfeasibleError, SfumatoError, StoppedError
    from sfumato.measures import MEASURES, Measure, Measured, Queries, Scales, measure
    from sfumato.mixed.anonymizers.recipe import anonymize_mixed
    from sfumato.mixed.declaration import DataDeclaration, ItemsDeclaration, read_mixed
    from sfumato.mixed.measures.scales import MixedScales
    from sfumato.mixed.mixed_table import MixedTable
    from sfumato.mixed.policy import KKMAnonymity, MixedRequirement, mixed_requirement
    from sfumato.mixed.release import MixedRelease
    from sfumato.mixed.writing import write_mixed
    from sfumato.process.interrupts import Cancel
    from sfumato.publish import Audit, audit, audit_baskets, audit_mixed
    from sfumato.release import NoisyRelease, RecordRelease, Release
    from sfumato.requirements import (
        AlphaK,
        BetaLikeness,
        DeltaDisclosure,
        KAnonymity,
        LDiversity,
        Requirement,
        TCloseness,
        requirement,
    )
    from sfumato.table import (
        Cells,
        Guess,
        Hierarchy,
        Roles,
        Table,
        TableDeclaration,
        dates,
        flat,
        from_level_table,
        guess,
        load,
        numeric,
        prefixes,
        read,
        read_hierarchies,
        read_level_table,
        tree,
    )
    from sfumato.tradeoff import (
        NSGA2,
        Candidate,
        Check,
        Choice,
        ColumnHierarchy,
        Draft,
        Frontier,
        FrontierPoint,
        Grid,
        Map,
        MeasuredProblem,
        Problem,
        Problem1,
        Problem2,
        Problem3,
        Problem4,
        Question,
        Reply,
        Search,
        Study,
        ask,
        check,
        draft,
        exact,
        explore,
        hierarchy,
        pareto,
        problem,
        read_map,
        read_study,
        tune,
    )
    from sfumato.transactions import BasketRelease, Baskets, anonymize_baskets, load_baskets, read_baskets
    from sfumato.transactions.measures.queries import ItemQueries
    from sfumato.transactions.measures.scales import BasketScales, measure_baskets


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import sfumato` and `sfumato --help` stay quick."""
    if name in __all__:
        from importlib import import_module

        for room in _ROOMS:
            module = import_module(f"sfumato.{room}")
            if hasattr(module, name):
                globals()[name] = getattr(module, name)
                return globals()[name]
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
