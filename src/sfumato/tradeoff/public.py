"""The public part of a map: `public_map` alone computes it, from an allowed list of values.

The public page, the picture and the notebook display use only `public_map`. It contains the settings of exact releases
without seeds and file names, their status, and the measures below. Three kinds of points are excluded or reduced.

- Noisy releases and the original are excluded: no epsilon covers the measures, and the original is no release.
- What a search has found is excluded, also cut vectors: its settings depend on the records. A k found for a loss is the
  largest one that the records allow, and that of a cut vector is the size of the smallest group.
- External releases appear with name and claim, without numbers: nothing is promised about how they were made.

The measures are:

- Promises of the settings (`PROMISED`): no record affects them.
- One risk and one utility that are means over many records, so that a single record changes them little (`WORTH`).
  Measures of the worst group are excluded: one record of a small group changes these much, in a table of any size.

Means are rounded to the worse side, in steps that grow with the number of releases on the map. An attacker who knows
all other records could test each value of the missing one against all numbers together, so more numbers are coarser.
A number whose step is too coarse is omitted. Only the order of magnitude of the number of records is used.
`docs/guides/public.md` describes the attack that tests this.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import ceil, floor, isfinite, log10
from typing import Any, ClassVar, NoReturn

from sfumato.data.reading import Unit
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES
from sfumato.measures.classification.classification import Classification
from sfumato.texts.catalogue import t
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.study.study import Study

PROMISED = ("k", "itemset_risk", "protected_risk")
"""Promises of the settings, which are public anyway; rounded to two digits."""

WORTH = {"a_know": 20, "u_loss": 1, "query_error": 50, "workload_accuracy": 50, "bounded_utility": 50}
"""Records per step and release on the map: about forty times the effect of one record on the mean."""

ALLOWED = (*WORTH, *PROMISED)
"""The measures that are safe to share; every other one is internal."""

LARGEST_STEP = 0.2
"""The largest step; a coarser number is omitted."""

FEWEST = 100
"""The fewest records with public numbers."""

TOLERANCE = 1e-9
"""The tolerance for a round value, as a share of a step."""

MAGNITUDES = ("hundreds", "thousands", "tens of thousands", "hundreds of thousands", "millions", "tens of millions")
ROUNDED = t("meaning.rounded")
WORDS_ONLY = t("meaning.words_only")


@dataclass(frozen=True)
class PublicStudy:
    """The names of a study on its public map, without data."""

    name: str
    axes: tuple[str, str]
    forms: tuple[str, ...]
    studied: str
    """The kind of data: a table, or baskets."""

    size: str
    """The number of records as far as it is public; or empty."""

    unit: Unit = "records"
    """The unit that groups count."""

    section: ClassVar[str] = "public"
    facts: ClassVar[tuple[str, ...]] = ()

    @property
    def learned(self) -> Classification | None:
        """None: verdicts need more than public numbers."""
        return None

    def opened(self, *given: Any) -> NoReturn:
        """Refuse: a public map has no data and cannot be read back or searched."""
        raise BadInputError(NO_DATA)

    candidate_of = grown = with_seed = to_toml = opened


NO_DATA = "a public map has neither data nor a study to run; take the map from which it was made"


def public_map(map_: Map) -> Map:
    """Return the part of a map that is safe to share."""
    study = map_.study
    if isinstance(study, PublicStudy):
        return map_
    found = {one.id for grid in study.grids if grid.found for one in grid.candidates}
    exact = [
        (point, id)
        for point, id in zip(map_.points, public_ids(map_), strict=True)
        if point.is_grouped and _may_be_named(point) and point.id not in found
    ]
    made_here = [not point.candidate.anonymizer.external for point, _ in exact]
    steps = public_steps(
        map_, sum(point.status == "measured" for (point, _), ours in zip(exact, made_here, strict=True) if ours)
    )
    given = [_given(point, steps) if ours else {} for (point, _), ours in zip(exact, made_here, strict=True)]
    axes = _public_axes(study, [name for name in ALLOWED if any(name in numbers for numbers in given)])
    names = (*axes, *PROMISED) if axes is not None and _told_apart(given, axes) else ()
    known = [name for name in ALLOWED if name in names]
    points = tuple(
        Point(
            id,
            point.candidate.public,
            point.status,
            measures={name: numbers[name] for name in known if name in numbers},
        )
        for (point, id), numbers in zip(exact, given, strict=True)
    )
    about = {name: list(map_.about.get(name, ())) for name in ("quasi", "sensitive")}
    public: Any = PublicStudy(study.name, axes or USUAL, study.forms, study.section, _size_in_words(map_), study.unit)
    return Map(public, points, about | {"note": ROUNDED if known else WORDS_ONLY})


def _may_be_named(point: Point) -> bool:
    """Return whether a release may be on a public map; a false claim is not repeated."""
    maker = point.candidate.anonymizer
    return maker.is_release and not maker.is_found and (point.brought or {}).get("verdict") != "fails"


def public_ids(map_: Map) -> list[str]:
    """Return the id of each point: the internal one, unless it contains a seed or a file name, which could be guessed.

    Releases that differ only in these are numbered.
    """
    ids: list[str] = []
    times: Counter[str] = Counter()
    for point in map_.points:
        public = point.candidate.public
        if public == point.candidate:
            ids.append(point.id)
            continue
        suppress = {"suppress": public.suppress} if public.suppress else {}
        texts = (str(public.anonymizer), str(public.requirement), public.form, public.in_words, str(suppress))
        name = sha256("\n".join(("public", *texts)).encode()).hexdigest()[:8]
        times[name] += 1
        ids.append(name if times[name] == 1 else f"{name}-{times[name]}")
    return ids


def magnitude(map_: Map) -> int | None:
    """Return the order of magnitude of the records, 1, 2 or 5 and zeros; None if they are too few for any number.

    With noisy releases the number of records is not public; then it counts as `FEWEST`.
    """
    records = int(map_.about.get("records", 0))
    if records < FEWEST:
        return None
    unit = 10 ** (len(str(records)) - 1)
    return FEWEST if any(point.is_noisy for point in map_.points) else unit * (1, 2, 5)[bisect((2, 5), records // unit)]


def public_steps(map_: Map, releases: int) -> dict[str, float]:
    """Return the step of each measure on a map with so many releases; measures with too coarse a step are omitted."""
    size = magnitude(map_)
    if size is None:
        return {}
    steps = {name: step(worth * max(releases, 1) / size) for name, worth in WORTH.items()}
    return {name: width for name, width in steps.items() if width <= LARGEST_STEP}


def step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, ... or their tenths, hundredths and so on that is not below a number.

    >>> step(0.0335), step(0.05), step(0.6)
    (0.05, 0.05, 1.0)
    """
    exponent = floor(log10(least))
    mantissa = next(digit for digit in (1, 2, 5, 10) if digit >= least / 10.0**exponent - TOLERANCE)
    return float(round(mantissa * 10.0**exponent, max(-exponent, 0)))


def rounded(name: str, value: float, least: float) -> float | None:
    """Round a measure to the worse side, in steps of at least `least` and to two digits. None if it is not finite.

    >>> rounded("a_know", 0.213, 0.05), rounded("u_loss", 0.0, 0.005), rounded("workload_accuracy", 0.789, 0.02)
    (0.25, 0.005, 0.78)
    """
    if not isfinite(value):
        return None
    is_lower = MEASURES[name].better == "lower"
    unit = max(least, 10.0 ** (floor(log10(abs(value))) - 1)) if value else least
    steps = (_up if is_lower else _down)(value / unit)
    if is_lower and MEASURES[name].kind == "utility":
        steps = max(steps, 1)  # a loss of zero would be a fact about every record
    return round(steps * unit, max(-floor(log10(unit) + TOLERANCE), 0))


def _up(value: float) -> int:
    return ceil(value - TOLERANCE)


def _down(value: float) -> int:
    return floor(value + TOLERANCE)


def _given(point: Point, steps: Mapping[str, float]) -> dict[str, float]:
    """Return the public measures of a point: promises, and means in their steps."""
    given = {}
    for name, least in (*steps.items(), *((name, TOLERANCE) for name in PROMISED)):
        source = point.published if MEASURES[name].kind == "risk" else point.measures
        value = rounded(name, source[name], least) if name in source else None
        if value is not None:
            given[name] = value
    return given


def _told_apart(given: Sequence[Mapping[str, float]], axes: tuple[str, str]) -> bool:
    """Return whether a measured axis has more than one value: otherwise a map would show only settings."""
    return any(len({numbers[axis] for numbers in given if axis in numbers}) > 1 for axis in axes if axis in WORTH)


USUAL = ("a_know", "u_loss")
"""The axes of a public map without numbers."""


def _public_axes(study: Study, known: Sequence[str]) -> tuple[str, str] | None:
    """Return the study's first two axes if they are public, else the first public one of their kind, if any."""
    x, y = study.axes[:2]
    if x in known and y in known:
        return x, y
    axes = [
        next((name for name in (*study.axes, *known) if name in known and MEASURES[name].kind == kind), None)
        for kind in ("risk", "utility")
    ]
    return None if axes[0] is None or axes[1] is None else (axes[0], axes[1])


def _size_in_words(map_: Map) -> str:
    """Return the order of magnitude of the records as text; empty with noisy releases and for few records."""
    records = int(map_.about.get("records", 0))
    place = len(str(records)) - 3
    if any(point.is_noisy for point in map_.points) or not 0 <= place < len(MAGNITUDES):
        return ""
    return f"{MAGNITUDES[place]} of records"
