"""What a release must satisfy."""

from sfumato.requirements.requirement import (
    REQUIREMENTS,
    All,
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    Requirement,
    TCloseness,
    requirement,
)

__all__ = [
    "REQUIREMENTS",
    "All",
    "AlphaK",
    "BetaLikeness",
    "DeltaDisclosure",
    "KAnonymity",
    "LDiversity",
    "Requirement",
    "TCloseness",
    "requirement",
]
