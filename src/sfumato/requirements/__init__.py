"""What a release must satisfy."""
# mypy: implicit-reexport

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
    with_stronger_parts,
)
