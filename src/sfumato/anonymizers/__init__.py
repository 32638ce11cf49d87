"""Who makes releases: one file per algorithm."""

from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.anonymizers.full_domain import DecidedLattice, FullDomain
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.trivial import Original, WithoutQuasi, WithoutSensitive
from sfumato.configuration import parse
from sfumato.release import Form, Release
from sfumato.requirements import Requirement, requirement
from sfumato.table import Table

ANONYMIZERS: tuple[type[Anonymizer], ...] = (
    Mondrian,
    FullDomain,
    LocalRecoding,
    WithoutQuasi,
    WithoutSensitive,
    Original,
)


def anonymizer(text: str) -> Anonymizer:
    """Read an anonymizer from its text form, such as `mondrian` or `mondrian mode=relaxed`."""
    return parse(text, ANONYMIZERS, "anonymizer")


def is_noisy(text: str) -> bool:
    """Say whether the anonymizer that a text names makes noisy releases."""
    return any(own.noisy for own in ANONYMIZERS if own.name == text.partition(" ")[0])


def anonymize(
    table: Table,
    require: Requirement | str,
    maker: Anonymizer | str = "mondrian",
    form: Form = "generalization",
    suppress: float = 0.0,
) -> Release:
    """Make one release of a table that satisfies a requirement; both may be given as text."""
    chosen = anonymizer(maker) if isinstance(maker, str) else maker
    wanted = requirement(require) if isinstance(require, str) else require
    return chosen.anonymize(table, wanted, form, suppress)


__all__ = [
    "ANONYMIZERS",
    "Anonymizer",
    "DecidedLattice",
    "FullDomain",
    "LocalRecoding",
    "Mondrian",
    "Original",
    "WithoutQuasi",
    "WithoutSensitive",
    "anonymize",
    "anonymizer",
    "is_noisy",
]
