"""What is said of a map that may leave the house."""

from __future__ import annotations

from sfumato.tradeoff import Map, Point
from sfumato.tradeoff.public import PublicStudy
from sfumato.tradeoff.study.study import Study
from sfumato.words.kinds.table import UNITS
from sfumato.words.sentences import Subject

PUBLIC = [
    ("Records are counted", "If a person can have several records, the risks here are too low."),
    (
        "Rounded to the worse side",
        "A risk is never larger than shown, nor a utility loss. The more releases are compared, and the fewer records "
        "there are, the coarser the steps. Releases at the same place need not be equal.",
    ),
    ("Promised", "k, itemset_risk and protected_risk are what the settings promise; a release may do better."),
    (
        "A bound",
        "a_know compares the groups of a release with all records of its file, and allows for the share of records "
        "that its settings let it leave out: against the whole table it is at most this large.",
    ),
    (
        "What is not here",
        "How many records there are and how many were left out; what is true of the worst group only, since a single "
        "record can change it; releases with noise, whose measures no epsilon covers; cut vectors, which a "
        "search found by looking at the records; the original table.",
    ),
]
"""What must be known to read the public numbers."""


EMPTY = (
    "An empty answer",
    "Counts of items that are off by 100 % or more on average are no nearer to the truth than an empty file, which "
    "answers 0 to every query.",
)


def meanings(map_: Map) -> list[tuple[str, str]]:
    """List what must be known to read the public numbers."""
    of_items = isinstance(map_.study, PublicStudy) and map_.study.studied in ("baskets", "items")
    first = [UNITS[map_.study.unit], *PUBLIC[1:]] if isinstance(map_.study, PublicStudy) else PUBLIC
    return [*first, EMPTY] if of_items else first


def subject(map_: Map) -> Subject:
    """Say what sentences are about."""
    unit = map_.study.unit if isinstance(map_.study, PublicStudy) else "records"
    return Subject(tuple(map_.about.get("sensitive", ())), are_bounds=True, unit=unit)


def data_words(study: Study, point: Point) -> None:
    """Name nothing: where the data are is nobody's business outside."""


def declares_hierarchies(study: Study) -> bool:
    """Say whether a study declares hierarchies itself, which have to be in a file before that command runs."""
    return False
