"""sfumato: decide what to publish.

Make many releases of a table about people, measure every one on the same scales of risk and utility, choose one,
publish it and prove what it promises.

    import sfumato

    table = sfumato.read("patients.csv", quasi=["age", "zip"], sensitive=["diagnosis"])
    release = sfumato.anonymize(table, "k-anonymity k=10")
    print(sfumato.measure(release)["loss"])
    release.to_csv("published.csv")
"""

TYPE_CHECKING = False
"""As in `typing`, which is not imported: the command line starts here, and Ctrl-C is caught only once this is done."""

if TYPE_CHECKING:
    from sfumato.anonymizers import anonymize, anonymizer, draw
    from sfumato.anonymizers.anonymizer import Anonymizer
    from sfumato.anonymizers.dp.mechanism import Mechanism
    from sfumato.auditing.audit import Audit, audit, audit_baskets, audit_mixed
    from sfumato.data.bundled import load
    from sfumato.data.cells import Cells
    from sfumato.data.declaration import DataDeclaration, ItemsDeclaration, TableDeclaration, read_mixed
    from sfumato.data.guessing import Guess, guess
    from sfumato.data.hierarchies.categorical import flat, from_level_table, prefixes, tree
    from sfumato.data.hierarchies.declared import read_hierarchies, read_level_table
    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.data.hierarchies.numeric import dates, numeric
    from sfumato.data.item_reading import read_baskets
    from sfumato.data.reading import Roles, Table, read
    from sfumato.errors import BadInputError, InfeasibleError, SfumatoError, StoppedError
    from sfumato.measures.all_measures import MEASURES, Measure
    from sfumato.measures.groups import Measured, measure
    from sfumato.measures.queries import Queries
    from sfumato.measures.scales import Scales
    from sfumato.release.content import NoisyRelease
    from sfumato.release.records import RecordRelease
    from sfumato.release.release import Release
    from sfumato.requirements.requirement import (
        AlphaK,
        BetaLikeness,
        DeltaDisclosure,
        KAnonymity,
        LDiversity,
        Requirement,
        TCloseness,
        requirement,
    )
    from sfumato.runtime.cancellation import Cancel
    from sfumato.tradeoff.check import Check, check
    from sfumato.tradeoff.exploration.explore import explore
    from sfumato.tradeoff.exploration.folder import read_map
    from sfumato.tradeoff.hierarchy_levels import ColumnHierarchy, hierarchy
    from sfumato.tradeoff.map import Map
    from sfumato.tradeoff.question.answer import Choice, Reply, ask
    from sfumato.tradeoff.question.question import Question
    from sfumato.tradeoff.search._enumeration import Frontier
    from sfumato.tradeoff.search.pareto import Search
    from sfumato.tradeoff.search.problems import Problem
    from sfumato.tradeoff.search.tuner import tune
    from sfumato.tradeoff.study.candidate import Candidate
    from sfumato.tradeoff.study.draft import Draft, draft
    from sfumato.tradeoff.study.grids import Grid
    from sfumato.tradeoff.study.study import Study, read_study

__version__ = "0.3.0"
__all__ = [
    "MEASURES",
    "AlphaK",
    "Anonymizer",
    "Audit",
    "BadInputError",
    "BetaLikeness",
    "Cancel",
    "Candidate",
    "Cells",
    "Check",
    "Choice",
    "ColumnHierarchy",
    "DataDeclaration",
    "DeltaDisclosure",
    "Draft",
    "Frontier",
    "Grid",
    "Guess",
    "Hierarchy",
    "InfeasibleError",
    "ItemsDeclaration",
    "KAnonymity",
    "LDiversity",
    "Map",
    "Measure",
    "Measured",
    "Mechanism",
    "NoisyRelease",
    "Problem",
    "Queries",
    "Question",
    "RecordRelease",
    "Release",
    "Reply",
    "Requirement",
    "Roles",
    "Scales",
    "Search",
    "SfumatoError",
    "StoppedError",
    "Study",
    "TCloseness",
    "Table",
    "TableDeclaration",
    "__version__",
    "anonymize",
    "anonymizer",
    "ask",
    "audit",
    "audit_baskets",
    "audit_mixed",
    "check",
    "dates",
    "draft",
    "draw",
    "explore",
    "flat",
    "from_level_table",
    "guess",
    "hierarchy",
    "load",
    "measure",
    "numeric",
    "prefixes",
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
]
_HOMES = {
    "anonymizers": "anonymize anonymizer draw",
    "anonymizers.anonymizer": "Anonymizer",
    "anonymizers.dp.mechanism": "Mechanism",
    "auditing.audit": "Audit audit audit_baskets audit_mixed",
    "data.bundled": "load",
    "data.cells": "Cells",
    "data.guessing": "Guess guess",
    "data.hierarchies.categorical": "flat from_level_table prefixes tree",
    "data.hierarchies.declared": "read_hierarchies read_level_table",
    "data.hierarchies.hierarchy": "Hierarchy",
    "data.hierarchies.numeric": "dates numeric",
    "data.item_reading": "read_baskets",
    "data.declaration": "DataDeclaration ItemsDeclaration TableDeclaration read_mixed",
    "data.reading": "read Roles Table",
    "errors": "BadInputError InfeasibleError SfumatoError StoppedError",
    "measures.groups": "measure Measured",
    "measures.all_measures": "MEASURES Measure",
    "measures.queries": "Queries",
    "measures.scales": "Scales",
    "release.content": "NoisyRelease",
    "release.records": "RecordRelease",
    "release.release": "Release",
    "requirements.requirement": (
        "AlphaK BetaLikeness DeltaDisclosure KAnonymity LDiversity Requirement requirement TCloseness"
    ),
    "runtime.cancellation": "Cancel",
    "tradeoff.check": "Check check",
    "tradeoff.exploration.explore": "explore",
    "tradeoff.exploration.folder": "read_map",
    "tradeoff.hierarchy_levels": "ColumnHierarchy hierarchy",
    "tradeoff.map": "Map",
    "tradeoff.question.answer": "ask Choice Reply",
    "tradeoff.question.question": "Question",
    "tradeoff.search._enumeration": "Frontier",
    "tradeoff.search.pareto": "Search",
    "tradeoff.search.problems": "Problem",
    "tradeoff.search.tuner": "tune",
    "tradeoff.study.candidate": "Candidate",
    "tradeoff.study.draft": "Draft draft",
    "tradeoff.study.grids": "Grid",
    "tradeoff.study.study": "read_study Study",
}
"""The modules that define the public names; each is imported when one of its names is first used."""


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import sfumato` and `sfumato --help` stay quick."""
    from importlib import import_module

    for module, names in _HOMES.items():
        if name in names.split():
            globals()[name] = getattr(import_module(f"sfumato.{module}"), name)
            return globals()[name]
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
