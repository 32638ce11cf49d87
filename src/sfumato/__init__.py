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

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "sfumato.anonymizers": ("Anonymizer", "Mondrian", "WithoutQuasi", "WithoutSensitive", "anonymize", "anonymizer"),
    "sfumato.errors": ("BadInputError", "InfeasibleError", "SfumatoError"),
    "sfumato.measures": ("MEASURES", "Measure", "Measured", "measure"),
    "sfumato.release": ("Release",),
    "sfumato.requirements": (
        "AlphaK",
        "BetaLikeness",
        "DeltaDisclosure",
        "KAnonymity",
        "LDiversity",
        "Requirement",
        "TCloseness",
        "requirement",
    ),
    "sfumato.table": (
        "Cells",
        "Hierarchy",
        "Roles",
        "Table",
        "dates",
        "flat",
        "from_level_table",
        "load",
        "numeric",
        "prefixes",
        "read",
        "read_hierarchies",
        "read_level_table",
        "tree",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604

if TYPE_CHECKING:
    from sfumato.anonymizers import (
        Anonymizer,
        Mondrian,
        WithoutQuasi,
        WithoutSensitive,
        anonymize,
        anonymizer,
    )
    from sfumato.errors import BadInputError, InfeasibleError, SfumatoError
    from sfumato.measures import MEASURES, Measure, Measured, measure
    from sfumato.release import Release
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
        Hierarchy,
        Roles,
        Table,
        dates,
        flat,
        from_level_table,
        load,
        numeric,
        prefixes,
        read,
        read_hierarchies,
        read_level_table,
        tree,
    )


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import sfumato` and `sfumato --help` stay quick.

    Once a name has been asked for it stays; a module of the same name as a function (`sfumato.release`) is reached
    by its full path.
    """
    if name not in _HOME:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
