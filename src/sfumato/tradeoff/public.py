"""What may leave the house of a map: one function makes it, from what is allowed, and everything public is made of it.

The public page, the picture and what a notebook keeps are drawn from `public_map` alone. It takes over the settings of
exact releases without seeds and file names, what became of them, and a few measures, rounded. Nothing of noisy
releases is in it, since no epsilon covers what was measured of them, nor of the original, which is no release.

- Risks against the sensitive values are bounds that follow from the release's file and its promise
  (`measures.published_risks`): whoever has the file learns nothing from them that it does not say.
- Sizes of groups are rounded to 1, 2, 5, 10, 20, ... and end at a hundredth to a tenth of the records; baselines have
  none, as theirs is the number of records.
- Whatever else depends on unpublished records has two digits, in steps of ten to a hundred records.

All of it is rounded to the worse side, and depends on the number of records through its order of magnitude alone.
Fewer than a hundred records have no public numbers. `docs/public.md` shows the attack that this is tested by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import ceil, floor, isfinite, log10
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

from sfumato.errors import BadInputError
from sfumato.measures import MEASURES, Classification
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.study.explorable import Explorable

FROM_FILE = ("p_loss", "t_equal", "a_know")
SIZES = ("k", "average_group", "least_support")
FROM_TABLE = ("u_loss", "query_error", "workload_accuracy", "itemset_risk", "query_utility", "bounded_utility", "are")
ALLOWED = (*FROM_FILE, *SIZES, *FROM_TABLE)
"""The measures that may leave the house; every other one stays inside."""

STEP_RECORDS = 10
"""The least number of records that a step of a rounded share is worth."""

FEWEST = 100
"""Of fewer records no number is public."""

TOLERANCE = 1e-9
"""How far, as a part of a step, a value may be beyond a round one and still be that one."""

MAGNITUDES = ("hundreds", "thousands", "tens of thousands", "hundreds of thousands", "millions", "tens of millions")
ROUNDED = (
    "All numbers are rounded to the worse side, so coarsely that a handful of records cannot be told from them; risks "
    "are bounds that the published file and its settings imply."
)
WORDS_ONLY = "No numbers are shown: of a table like this one they would tell something of single records."
MEANINGS = (
    ("One record is one person", "If a person can have several records, the risks here are too low."),
    (
        "Rounded to the worse side",
        "A risk is never larger than shown, nor a utility loss. k is rounded down to 1, 2, 5, 10, 20 and so on, and "
        "does not go beyond a part of the table; other numbers have two digits at most, fewer of a small table.",
    ),
    (
        "Bounds",
        "p_loss, t_equal and a_know compare the groups of a release with all records of its file, and allow for the "
        "share of records that its settings let it leave out: against the whole table they are at most this large.",
    ),
    (
        "What is not here",
        "How many records there are and how many were left out; releases with noise, whose measures no epsilon "
        "covers; the original table.",
    ),
)


@dataclass(frozen=True)
class PublicStudy:
    """What is said of a study beside its public map: names, and no data to go back to."""

    name: str
    axes: tuple[str, str]
    forms: tuple[str, ...]
    description: str
    section: ClassVar[str] = "public"
    facts: ClassVar[tuple[str, ...]] = ()

    @property
    def learned(self) -> Classification | None:
        """Nothing: verdicts need more than public numbers."""
        return None

    def described(self, about: Mapping[str, Any]) -> str:
        """Say what was studied."""
        return self.description

    def meanings(self, shown: Map) -> list[tuple[str, str]]:
        """List what must be known to read the public numbers."""
        return list(MEANINGS)

    def public_settings(self, point: Point) -> Point:
        """Return the point: its settings are public already."""
        return point

    def command(self, point: Point) -> str | None:
        """Return nothing: the command names files."""
        return None

    def steps(self) -> Sequence[str]:
        """Return nothing: without the data nothing can be done."""
        return ()

    def opened(self, data: Any = None) -> NoReturn:
        """Refuse: a public map has no data."""
        raise BadInputError(NO_DATA)

    def with_seed(self, seed: int) -> Self:
        """Refuse: a public map draws nothing."""
        raise BadInputError(NO_DATA)

    def to_toml(self, folder: Path | None = None) -> str:
        """Refuse: what was run stays inside."""
        raise BadInputError(NO_DATA)


NO_DATA = "a public map has neither data nor a study to run; take the map it was made of"


def public_map(shown: Map) -> Map:
    """Return what may leave the house of a map, and nothing else."""
    study = shown.study
    if isinstance(study, PublicStudy):
        return shown
    size = magnitude(shown)
    points = tuple(
        _public_point(shown, point, id, size)
        for point, id in zip(shown.points, public_ids(shown), strict=True)
        if not point.is_noisy and point.anonymizer != "original"
    )
    known = [name for name in ALLOWED if any(name in point.measures for point in points)]
    if {MEASURES[name].kind for name in known} != {"risk", "utility"}:
        points, known = tuple(replace(point, measures={}) for point in points), []
    axes = _public_axes(study, known)
    about = {name: list(shown.about.get(name, ())) for name in ("quasi", "sensitive")}
    said = PublicStudy(study.name, axes, study.forms, study.described(about | _size_in_words(shown)))
    return Map(said, points, about | {"note": ROUNDED if known else WORDS_ONLY})


def public_ids(shown: Map) -> list[str]:
    """Name every point: as inside, unless a seed or a file name went into that name, which guessing would confirm.

    Releases whose settings differ in nothing else are numbered.
    """
    found: list[str] = []
    times: Counter[str] = Counter()
    for point in shown.points:
        said = shown.study.public_settings(point)
        if (said.anonymizer, said.requirement, said.words) == (point.anonymizer, point.requirement, point.words):
            found.append(point.id)
            continue
        texts = (said.anonymizer, said.requirement, said.form, said.words, str(dict(said.parameters)))
        name = sha256("\n".join(("public", *texts)).encode()).hexdigest()[:8]
        times[name] += 1
        found.append(name if times[name] == 1 else f"{name}-{times[name]}")
    return found


def magnitude(shown: Map) -> int | None:
    """Return the order of magnitude of the records, a power of ten; None where there are too few for any number.

    Beside noisy releases the number of records is not public, so there it counts as the least that has numbers.
    """
    records = int(shown.about.get("records", 0))
    if records < FEWEST:
        return None
    return FEWEST if any(point.is_noisy for point in shown.points) else 10 ** (len(str(records)) - 1)


def rounded(name: str, value: float, size: int) -> float | None:
    """Round a measure to the worse side, for a table of an order of magnitude; None where it may not be shown.

    >>> rounded("k", 17, 1000), rounded("k", 5000, 1000), rounded("average_group", 17.2, 1000)
    (10, 100, 20)
    >>> rounded("u_loss", 0.01234, 10_000), rounded("u_loss", 0.01234, 100), rounded("workload_accuracy", 0.789, 100)
    (0.013, 0.1, 0.7)
    """
    if not isfinite(value):
        return None
    is_lower = MEASURES[name].better == "lower"
    outward: Callable[[float], int] = _up if is_lower else _down
    if name in SIZES:
        size_shown, most = _preferred(value, outward), size // STEP_RECORDS
        if size_shown <= most:
            return size_shown
        return None if is_lower else most
    digit = floor(log10(abs(value))) - 1 if value else -99
    exponent = max(digit, round(log10(STEP_RECORDS / size)))
    steps = outward(value / 10.0**exponent)
    if is_lower and name in FROM_TABLE:
        steps = max(steps, 1)  # that nothing is lost at all would be a fact of every record
    return round(steps * 10.0**exponent, max(-exponent, 0))


def _up(value: float) -> int:
    return ceil(value - TOLERANCE)


def _down(value: float) -> int:
    return floor(value + TOLERANCE)


def _preferred(value: float, outward: Callable[[float], int]) -> int:
    """Return the nearest of 1, 2, 5, 10, 20, ... below or above a size of at least 1."""
    unit = 10 ** max(floor(log10(max(value, 1.0)) + TOLERANCE), 0)
    steps: list[int] = [step * unit for step in (1, 2, 5, 10)]
    if outward is _up:
        return next(step for step in steps if step >= value - TOLERANCE)
    return max((step for step in steps if step <= value + TOLERANCE), default=0)


def _public_point(shown: Map, point: Point, id: str, size: int | None) -> Point:
    """Make a point of settings, status and rounded measures."""
    said = shown.study.public_settings(point)
    given = {name: point.measures[name] for name in (*SIZES, *FROM_TABLE) if name in point.measures}
    if point.is_baseline:
        given = {name: value for name, value in given.items() if name not in SIZES}
    given |= {name: point.published[name] for name in FROM_FILE if name in point.published}
    measures = {name: None if size is None else rounded(name, value, size) for name, value in given.items()}
    return Point(
        id,
        said.anonymizer,
        said.form,
        said.requirement,
        dict(said.parameters),
        point.status,
        measures={name: value for name in ALLOWED if (value := measures.get(name)) is not None},
        words=said.words,
        family=said.family,
    )


def _public_axes(study: Explorable, known: Sequence[str]) -> tuple[str, str]:
    """Take the study's axes where they may be shown, otherwise the first measure of their kind that may."""
    if all(axis in known for axis in study.axes):
        return study.axes
    usual = (ALLOWED[0], FROM_TABLE[0])
    risk, utility = (
        next((name for name in (*study.axes, *known) if name in known and MEASURES[name].kind == kind), other)
        for kind, other in zip(("risk", "utility"), usual, strict=True)
    )
    return risk, utility


def _size_in_words(shown: Map) -> dict[str, str]:
    """Say how many records there are by their order of magnitude; nothing beside noisy releases and of few records."""
    records = int(shown.about.get("records", 0))
    place = len(str(records)) - 3
    if any(point.is_noisy for point in shown.points) or not 0 <= place < len(MAGNITUDES):
        return {}
    return {"size": f"{MAGNITUDES[place]} of records"}
