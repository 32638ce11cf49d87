"""The printed map: states of the candidates, frontier, worth.

Also the printed frontier of a search: the number of points, and some of them, the most private first.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.report import point_summary as summary
from sfumato.report import verdicts as worth
from sfumato.report.measure_sentences import Subject
from sfumato.texts.catalogue import counted, t, wrapped
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.search._enumeration import Frontier
from sfumato.tradeoff.search.problems import Problem

WIDE = 8
"""The width of a headline column of the frontier."""

MOST_TOLD = 5
"""The most external releases printed; the report has all."""


def map_lines(map_: Map, page: str | None) -> Iterator[str]:
    """Return the lines of a map; `page` is the name of its report."""
    yield _tally(map_, page)
    yield from _reasons(map_)
    yield from _budget(map_)
    yield from _frontier(map_)
    if external := list(summary.external_lines(map_)):
        yield from _section(t("map_line.made_elsewhere"), external)
    verdicts = map_.verdicts
    if verdicts is not None:
        yield from _section(t("map_line.worth"), [worth.tally(verdicts)])


def map_brief(map_: Map, page: str | None) -> Iterator[str]:
    """Return a short map: states of the candidates, and the recommended release."""
    yield _tally(map_, page)
    yield from _reasons(map_)
    yield from _budget(map_)
    try:
        yield from summary.brief_lines(map_, map_.choose().point)
    except SfumatoError as error:  # nothing fits, or the map has no two axes
        yield wrapped(t("brief.nothing", why=str(error).splitlines()[0]), width=summary.SHORT).lstrip()
    if external := list(summary.external_lines(map_)):
        yield from _section(t("map_line.made_elsewhere"), external[:MOST_TOLD])


def map_values(map_: Map) -> dict[str, Any]:
    """Return the map as plain values."""
    return {
        "points": len(map_.points),
        "states": _states(map_),
        "frontier": [point.id for point in map_.frontier()],
        "verdicts": None if map_.verdicts is None else map_.verdicts.by_verdict,
    }


def leaving(files: Sequence[str], others: str) -> str:
    """Return a sentence about the files of a map that are safe to share."""
    return t("map_line.may_leave", files=files, others=others)


def _states(map_: Map) -> dict[str, int]:
    return dict(Counter(point.status for point in map_.points))


def _tally(map_: Map, page: str | None) -> str:
    states = ", ".join(f"{count} {state}" for state, count in _states(map_).items())
    look = t("map_line.open_see", page=page) if page else ""
    return f"{counted(len(map_.points), 'candidate')}: {states}. {look}".rstrip()


def _reasons(map_: Map) -> Iterator[str]:
    """Describe why candidates failed, each reason once; external releases have a separate section."""
    makers: dict[str, list[str]] = {}
    for point in map_.points:
        if point.status == "failed" and not point.candidate.anonymizer.external:
            makers.setdefault(str(point.reason), []).append(point.anonymizer)
    for reason, names in list(makers.items())[:MOST_TOLD]:
        yield wrapped(t("map_line.failed", list=list(dict.fromkeys(names)), reason=reason))
    if (left := len(makers) - MOST_TOLD) > 0:
        yield t("map_line.report_tells", left=left)


def _budget(map_: Map) -> Iterator[str]:
    """Describe the effect of the time limit."""
    tuning = map_.about.get("tuning")
    if tuning and tuning["unreached"]:
        left = counted(tuning["unreached"], "candidate")
        yield t("map_line.time_up", left=left)
    elif tuning and tuning["exhausted"]:
        yield t("map_line.nothing_left")


def _frontier(map_: Map) -> Iterator[str]:
    """List the nondominated points."""
    axes, frontier = map_.study.axes, map_.frontier()
    if not frontier:
        every = "both" if len(axes) == 2 else t("map_line.all")
        yield t("map_line.no_point", every=every, axes=axes)
        return
    among = t("map_line.best", axes=axes[1]) if len(axes) == 2 else t("map_line.on_that", axes=axes)
    yield t("map_line.frontier_from", axes=axes[0], among=among)
    heads = _heads(map_, frontier)
    titles = "".join(f"{summary.plain_label(name):>{WIDE}} " for name in heads)
    formulas = f"[{' '.join(f'{name:>10}' for name in axes)}]" if heads else " ".join(f"{name:>10}" for name in axes)
    yield t("map_line.release", point=t("map_line.point"), titles=titles, formulas=formulas)
    for alike in _alike(frontier, axes):
        point = _told(alike)
        places = summary.plain_values(map_, point)
        plain = "".join(f"{summary.whole_percent(places[name]) if name in places else '-':>{WIDE}} " for name in heads)
        values = " ".join(f"{point.measures[name]:>{max(10, len(name))}.4f}" for name in axes)
        more = t("map_line.more_same", alike=len(alike) - 1) if len(alike) > 1 else ""
        yield f"  {point.id:10} {plain}{f'[{values}]' if heads else values}  {_typed(point)}{more}"
    if heads:
        column = Subject.of(map_).column
        words = "; ".join(f"{summary.plain_label(name)}: {summary.plain_meaning(map_, name, column)}" for name in heads)
        yield f"\n{wrapped(t('map_line.brackets_formulas', words=words))}"


def _told(alike: Sequence[Point]) -> Point:
    """Return the representative of points at one place: the one with the shortest settings."""
    return min(alike, key=lambda one: len(_typed(one)))


def _alike(frontier: Sequence[Point], axes: Sequence[str]) -> Iterator[list[Point]]:
    """Group the neighbouring points of a frontier at the same place."""
    for _, points in groupby(frontier, lambda point: [point.measures[name] for name in axes]):
        yield list(points)


def _heads(map_: Map, frontier: Sequence[Point]) -> list[str]:
    """Return the headlines that some point of the frontier has."""
    return [name for name in summary.PLAIN if any(name in summary.plain_values(map_, point) for point in frontier)]


def _typed(point: Point) -> str:
    """Return the settings of a point in text form."""
    if point.candidate.anonymizer.external:
        return point.words
    is_alone = point.is_baseline or not point.is_grouped
    parts = [point.anonymizer] if is_alone else [point.anonymizer, point.requirement, point.form]
    more = {"items_with": t("map_line.items"), "merging": "", "sets": "sets", "suppress": "suppress"}
    given = {word: point.parameters.get(name) for name, word in more.items()}
    return ", ".join([*parts, *(f"{word} {value}".strip() for word, value in given.items() if value)])


def _section(title: str, sentences: Sequence[str]) -> Iterator[str]:
    """Return a title with its wrapped sentences."""
    yield f"\n{title}\n"
    yield from (wrapped(sentence) for sentence in sentences if sentence)


ROWS = 20
"""The number of listed, evenly spaced points."""


def frontier_lines(frontier: Frontier) -> Iterator[str]:
    """Return the lines of a frontier."""
    points, looked = counted(len(frontier), "point"), counted(frontier.evaluations, "cut vector")
    how = "exact" if frontier.exact else frontier.stopped
    whole = t(f"frontier.early_{how}") if how else ""
    yield t("frontier.frontier_looked", points=points, frontier=frontier, looked=looked, whole=whole)
    if not len(frontier):
        yield t("frontier.no_cuts")
        return
    names = list(frontier.points[0].values)
    yield "  " + " ".join(f"{name.replace('generalization', 'general.'):>18}" for name in names)
    for point in frontier.points[:: max(1, -(-len(frontier) // ROWS))]:
        yield "  " + " ".join(f"{_number(point.values[name]):>18}" for name in names)


def search_lines(frontier: Frontier) -> Iterator[str]:
    """Return the lines of a frontier that is on a map."""
    yield from frontier_lines(frontier)
    if frontier.stopped:
        yield t("frontier.search_stopped")
    yield f"\n{drawn_on(frontier.problem)}"


def frontier_values(frontier: Frontier) -> dict[str, Any]:
    """Return a frontier as plain values."""
    return {
        "problem": str(frontier.problem),
        "evaluations": frontier.evaluations,
        "exact": frontier.exact,
        "stopped": frontier.stopped,
        "frontier": [{**point.values, "cuts": point.cuts} for point in frontier],
    }


def drawn_on(problem: Problem) -> str:
    """Describe the measures of a frontier's map, and why its points may look dominated there."""
    sentence = t("frontier.map_drawn", axes=" and ".join(problem.axes))
    if problem.axes == problem.objectives:
        return f"{sentence}."
    return t("frontier.frontier_so", sentence=sentence, problem=problem)


def _number(value: float) -> str:
    """Format a number of a column: whole ones without decimals, others with as many as the widest."""
    return f"{value:,.0f}" if value >= 1 and value == int(value) else f"{value:,.4f}"
