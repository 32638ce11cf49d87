"""What of a map is safe to share: one function makes it, from what is allowed, and everything public is made of it.

The public page, the picture and what a notebook keeps are drawn from `public_map` alone. It takes over the settings of
exact releases without seeds and file names, what became of them, and three kinds of measures. Nothing of noisy
releases is in it, since no epsilon covers what was measured of them, nor of the original, which is no release, nor of
cut vectors: a search finds them in the records, and the k that one requires is the size of its smallest group. What was
made elsewhere has its name and what is claimed for it, and no numbers: nobody here promises how it came about.

- What the settings promise (`PROMISED`): no record enters it.
- One risk and one utility that are means over many records, so that a single one moves them little (`WORTH`). Measures
  of the worst group are not among them: one record of a small group moves these far, in a table of any size.
- They are rounded to the worse side, in steps that grow with the number of releases on the map: who knows all other
  records tries every value of a missing one against all numbers together, so more numbers must be coarser ones.

Where a step would be too coarse to say anything, the number is left out. Of the number of records nothing enters but
its order of magnitude. `docs/guides/public.md` shows the attack that this is tested by.
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
"""What settings promise: it stands in them anyway, and is rounded to two digits only."""

WORTH = {"a_know": 20, "u_loss": 1, "query_error": 50, "workload_accuracy": 50, "bounded_utility": 50}
"""How many records a step is worth for every release of the map: some forty times what one record moves on the mean."""

ALLOWED = (*WORTH, *PROMISED)
"""The measures that are safe to share; every other one is internal."""

LARGEST_STEP = 0.2
"""Where steps would be larger, there is no number."""

FEWEST = 100
"""Of fewer records no number is public."""

TOLERANCE = 1e-9
"""How far, as a part of a step, a value may be beyond a round one and still be that one."""

MAGNITUDES = ("hundreds", "thousands", "tens of thousands", "hundreds of thousands", "millions", "tens of millions")
ROUNDED = t("meaning.rounded")
WORDS_ONLY = t("meaning.words_only")


@dataclass(frozen=True)
class PublicStudy:
    """What is said of a study beside its public map: names, and no data to go back to."""

    name: str
    axes: tuple[str, str]
    forms: tuple[str, ...]
    studied: str
    """What it was about: a table, or baskets."""

    size: str
    """How many records there are, as far as that may be said; or nothing."""

    unit: Unit = "records"
    """What was counted in groups."""

    section: ClassVar[str] = "public"
    facts: ClassVar[tuple[str, ...]] = ()

    @property
    def learned(self) -> Classification | None:
        """Nothing: verdicts need more than public numbers."""
        return None

    def opened(self, *given: Any) -> NoReturn:
        """Refuse: a public map has no data, is not read back or searched, and shows nothing that was run."""
        raise BadInputError(NO_DATA)

    candidate_of = grown = with_seed = to_toml = opened


NO_DATA = "a public map has neither data nor a study to run; take the map it was made of"


def public_map(map_: Map) -> Map:
    """Return what of a map is safe to share, and nothing else."""
    study = map_.study
    if isinstance(study, PublicStudy):
        return map_
    exact = [
        (point, id)
        for point, id in zip(map_.points, public_ids(map_), strict=True)
        if point.is_grouped and _may_be_named(point)
    ]
    made_here = [not point.candidate.anonymizer.foreign for point, _ in exact]
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
    """Say whether a release may be on a public map at all; what is claimed and does not hold is not repeated."""
    maker = point.candidate.anonymizer
    return maker.is_release and not maker.is_found and (point.brought or {}).get("verdict") != "fails"


def public_ids(map_: Map) -> list[str]:
    """Name every point: as inside, unless a seed or a file name went into that name, which guessing would confirm.

    Releases whose settings differ in nothing else are numbered.
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
    """Return the order of magnitude of the records, 1, 2 or 5 and zeros; None where there are too few for any number.

    Beside noisy releases the number of records is not public, so there it counts as the least that has numbers.
    """
    records = int(map_.about.get("records", 0))
    if records < FEWEST:
        return None
    unit = 10 ** (len(str(records)) - 1)
    return FEWEST if any(point.is_noisy for point in map_.points) else unit * (1, 2, 5)[bisect((2, 5), records // unit)]


def public_steps(map_: Map, releases: int) -> dict[str, float]:
    """Return the steps in which measures are shown beside each other; one that would be too coarse is not there."""
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
    """Round a measure to the worse side, in steps of at least a size and to two digits; None for what is no number.

    >>> rounded("a_know", 0.213, 0.05), rounded("u_loss", 0.0, 0.005), rounded("workload_accuracy", 0.789, 0.02)
    (0.25, 0.005, 0.78)
    """
    if not isfinite(value):
        return None
    is_lower = MEASURES[name].better == "lower"
    unit = max(least, 10.0 ** (floor(log10(abs(value))) - 1)) if value else least
    steps = (_up if is_lower else _down)(value / unit)
    if is_lower and MEASURES[name].kind == "utility":
        steps = max(steps, 1)  # that nothing is lost at all would be a fact of every record
    return round(steps * unit, max(-floor(log10(unit) + TOLERANCE), 0))


def _up(value: float) -> int:
    return ceil(value - TOLERANCE)


def _down(value: float) -> int:
    return floor(value + TOLERANCE)


def _given(point: Point, steps: Mapping[str, float]) -> dict[str, float]:
    """Return what may be said of a point: what is promised, and means in their steps."""
    given = {}
    for name, least in (*steps.items(), *((name, TOLERANCE) for name in PROMISED)):
        source = point.published if MEASURES[name].kind == "risk" else point.measures
        value = rounded(name, source[name], least) if name in source else None
        if value is not None:
            given[name] = value
    return given


def _told_apart(given: Sequence[Mapping[str, float]], axes: tuple[str, str]) -> bool:
    """Say whether a measured axis has more than one value: otherwise a map would show nothing but settings."""
    return any(len({numbers[axis] for numbers in given if axis in numbers}) > 1 for axis in axes if axis in WORTH)


USUAL = ("a_know", "u_loss")
"""The axes of a public map without numbers."""


def _public_axes(study: Study, known: Sequence[str]) -> tuple[str, str] | None:
    """Take the study's first two axes where they may be shown, otherwise the first of their kind, if there is one."""
    x, y = study.axes[:2]
    if x in known and y in known:
        return x, y
    axes = [
        next((name for name in (*study.axes, *known) if name in known and MEASURES[name].kind == kind), None)
        for kind in ("risk", "utility")
    ]
    return None if axes[0] is None or axes[1] is None else (axes[0], axes[1])


def _size_in_words(map_: Map) -> str:
    """Say how many records there are by their order of magnitude; nothing beside noisy releases and of few records."""
    records = int(map_.about.get("records", 0))
    place = len(str(records)) - 3
    if any(point.is_noisy for point in map_.points) or not 0 <= place < len(MAGNITUDES):
        return ""
    return f"{MAGNITUDES[place]} of records"
