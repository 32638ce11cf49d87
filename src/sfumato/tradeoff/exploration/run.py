"""Exploring, searching and asking a study, for all commands and pages.

Without plan and time limit, the study's candidates are measured. With a time limit, a tuner continues from there. A
plan that only has a problem over cuts is searched to its end or time limit. Then evenly spaced points of its frontier,
and those that answer the question, are added to the map, so that asking this map gives the same answer.

Also adding an external release to a map: a file, a frame, a function, or the text of a maker.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from math import inf
from pathlib import Path
from typing import Any

from sfumato.anonymizers import EXTERNAL, anonymizer
from sfumato.anonymizers.external.external import ExternalFile, ExternalFrame, ExternalFunction, ExternalRelease
from sfumato.config.options import check_choice
from sfumato.data.reading import Table
from sfumato.engines.frames import Frame
from sfumato.errors import BadInputError, StoppedError
from sfumato.runtime.cancellation import ends_itself
from sfumato.runtime.threads import Crew
from sfumato.texts.catalogue import refusal
from sfumato.tradeoff.exploration.explore import Exploration, Progress, explore, measured_point, opened_again
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.answer import ask
from sfumato.tradeoff.question.question import Question
from sfumato.tradeoff.search._enumeration import Frontier
from sfumato.tradeoff.search.families import required
from sfumato.tradeoff.search.pareto import search_of
from sfumato.tradeoff.search.tuner import tune
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import NOTHING, Grid
from sfumato.tradeoff.study.search_plan import POINTS, SearchPlan
from sfumato.tradeoff.study.study import Study, of_table

CHECKPOINT = "search.npz"
"""The checkpoint of a search over cuts, in the folder of the cache."""

Shown = Callable[[str], AbstractContextManager[Progress]]
"""Shows the progress of named work."""


def unseen(what: str) -> AbstractContextManager[Progress]:
    """Show nothing."""
    return nullcontext(lambda done, total, last: None)


@dataclass(frozen=True)
class ExplorationOutcome:
    """The result of exploring a study."""

    map_: Map | None
    """None if a search over cuts was interrupted, found nothing or may not be published."""

    frontier: Frontier | None = None
    """The frontier of a search over cuts, if the plan has nothing else."""


def explored(
    study: Study,
    folder: Path | None = None,
    seconds: float | None = None,
    workers: int | None = None,
    shown: Shown = unseen,
    tell: Callable[[str], None] = lambda sentence: None,
    question: Question | None = None,
    earlier: Collection[Candidate] = (),
    tries: int | None = None,
) -> ExplorationOutcome:
    """Explore a study by its plan; a question directs the search for further candidates, up to `tries` of them.

    `folder` keeps points and searches; `seconds` overrides the plan's time limit. `earlier` candidates of a search over
    cuts stay on the map if they are still on its frontier.
    """
    cache = None if folder is None else folder / "cache.jsonl"
    plan = study.search
    seconds = plan.seconds if seconds is None and plan is not None else seconds
    if plan is not None and plan.only_cuts:
        return _cuts_alone(of_table(study), plan, folder, seconds, workers, shown, tell, question, earlier)
    with shown("releases" if seconds is None else "seconds") as report:
        if seconds is None and not tries:
            return ExplorationOutcome(explore(study, cache, workers, report))
        best = () if question is None else _aims(study, question)
        bounds = () if question is None else question.bounds
        limit, most = (inf, tries) if seconds is None else (seconds, None)
        return ExplorationOutcome(tune(study, limit, cache, workers, report, tries=most, best=best, bounds=bounds))


def _aims(study: Study, question: Question) -> tuple[str, ...]:
    """Return the objectives of the search: the asked measures, and the axes if one measure is asked without bounds."""
    alone = len(question.measures) == 1
    return tuple(dict.fromkeys([*question.asked, *(study.axes if alone else ())]))


def _cuts_alone(
    study: Study,
    plan: SearchPlan,
    folder: Path | None,
    seconds: float | None,
    workers: int | None,
    shown: Shown,
    tell: Callable[[str], None],
    question: Question | None,
    earlier: Collection[Candidate],
) -> ExplorationOutcome:
    """Search the cuts of a table for the frontier of a problem, and put it on a map."""
    table: Table = Crew(workers).do(study.table.open)
    wanted = plan.wanted(study.scales)
    assert wanted is not None
    search = search_of(table, wanted, plan.space(table.cells), plan.nsga2, workers, plan.exact)
    kept = None if folder is None else folder / CHECKPOINT
    if kept is not None and (begun := search.resume(kept)):
        tell(begun)
    with ends_itself(), shown("search") as report:
        frontier = search.run(seconds, report, checkpoint=kept)
    if frontier.stopped and not len(frontier):
        raise StoppedError("stopped before the first generation was done, so there is nothing to show or to continue")
    if frontier.stopped == "interrupted" or not wanted.publishable or not len(frontier):
        return ExplorationOutcome(None, frontier)  # Ctrl-C ends the whole command
    grown = with_frontier(study, plan, frontier, question, earlier)
    cache = None if folder is None else folder / "cache.jsonl"
    with shown("releases") as report:
        exploration = Exploration(grown, cache, workers, table)
        exploration.decide(search.decided)
        return ExplorationOutcome(exploration.explored(report), frontier)


def with_frontier(
    study: Study, plan: SearchPlan, frontier: Frontier, question: Question | None, earlier: Collection[Candidate] = ()
) -> Study:
    """Add to a study evenly spaced points of a frontier within the plan's bounds, the answers, and `earlier`.

    Each gets the plan's additional requirement.
    """
    candidates = [required(point.candidate, plan) for point in frontier]
    points = tuple(
        Point(f"{i}", candidate, "measured", None, point.values)
        for i, (candidate, point) in enumerate(zip(candidates, frontier, strict=True))
    )
    inside = [
        i for i, point in enumerate(points) if all(b.admits(point) for b in plan.bounds if b.measure in point.measures)
    ]
    part = replace(frontier, points=tuple(frontier.points[i] for i in inside), vectors=frontier.vectors[inside])
    chosen = {inside[i] for i in part.spread(plan.points or POINTS)} | _answering(study, points, question)
    chosen |= {i for i in inside if candidates[i] in set(earlier)}
    grids = [Grid.of([candidates[i]]) for i in sorted(chosen)]
    return replace(study, grids=tuple(dict.fromkeys([*study.grids, *grids])))


def _answering(study: Study, points: tuple[Point, ...], question: Question | None) -> set[int]:
    """Return the points of a frontier that answer a question, with their neighbours, as on a map of all of them."""
    if question is None or not all(point.has(question.measures) for point in points):
        return set()
    reply = ask(Map(study, points), question)
    return {int(p.id) for p in (*reply.best, reply.cheaper, reply.dearer, *reply.bought) if p is not None}


def check_searchable(study: Study, seconds: float | None) -> None:
    """Raise if there is nothing to explore but the two ends of the map."""
    plan: Any = getattr(study, "search", None)
    if plan is None or seconds is not None or plan.seconds is not None or plan.only_cuts:
        return
    if all(one.anonymizer.baseline for one in of_table(study).candidates):
        raise refusal("how_long", study=study)


def added(map_: Map, given: Any, declared: Mapping[str, Any]) -> Map:
    """Measure an external release on the scales of a map and add it, replacing an equal one."""
    study = of_table(map_.study)
    table = opened_again(map_)
    maker = brought(given, declared).pinned
    maker.check_readable(table)
    candidate = Candidate(maker, NOTHING)
    grown = with_candidate(study, candidate.anonymizer)
    point = measured_point(candidate, study.scales.prepare(table).ready())
    kept = tuple(other for other in map_.points if other.id != point.id)
    return Map(grown, (*kept, point), map_.about, map_.limit, map_.decided)


def with_candidate(study: Study, maker: Any) -> Study:
    """Return a study with an external release as a further candidate."""
    known = {candidate.anonymizer for candidate in study.candidates}
    bare = replace(maker, digest="")
    return study if bare in known else study.grown([Candidate(bare, NOTHING)])


def brought(given: Any, declared: Mapping[str, Any]) -> ExternalRelease:
    """Return the maker of an external release with its declared properties; others have their defaults."""
    words = {key: value for key, value in declared.items() if value is not None}
    if isinstance(words.get("aligned"), bool):
        words["aligned"] = "yes" if words["aligned"] else "no"
    if not isinstance(words.get("na", ""), str):
        words["na"] = ",".join(words["na"])
    if words.get("records") is not None:
        check_choice("records", words["records"], ("people", "synthetic"))
    if isinstance(given, ExternalRelease):
        return _with(given, words)
    if isinstance(given, Path):
        return _with(ExternalFile(file=str(given)), words)
    if isinstance(given, str):
        return _with(named(given), words)
    if callable(given) and not hasattr(given, "columns"):
        return _with(ExternalFunction(function=given), words)
    return _with(ExternalFrame(frame=Frame.of(given)), words)


def named(text: str) -> ExternalRelease:
    """Read an external release from the name of its file, or from the text of its maker."""
    kinds = set(EXTERNAL.names)
    if text.split(None, 1)[:1] and text.split(None, 1)[0] in kinds and not Path(text).exists():
        maker = anonymizer(text)
        assert isinstance(maker, ExternalRelease)
        return maker
    return ExternalFile(file=text)


def _with(maker: ExternalRelease, words: Mapping[str, Any]) -> ExternalRelease:
    """Set further properties of a maker; defaults do not replace values that it has."""
    usual = {each.name: each.default for each in fields(maker)}
    strange = [key for key in words if key not in usual]
    if strange:
        raise BadInputError(f"{strange[0]} does not apply to {maker.made_of or maker.name}; leave it out")
    changed = {key: value for key, value in words.items() if value != usual[key]}
    return replace(maker, **changed)
