"""`sfumato frontier`: search the cuts of a table for the releases that trade privacy against loss best."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.common import (
    announce_first_run,
    folder_named,
    make_folder,
    print_json,
    progress,
    tell,
    tell_undrawn,
)
from sfumato.commands.groups import AsJson
from sfumato.errors import BadInputError, InfeasibleError, StoppedError
from sfumato.process.interrupts import ends_itself, last_words

if TYPE_CHECKING:
    from sfumato.tradeoff import NSGA2, Answer, Frontier, FrontierPoint, Problem, Study

DEFAULT = "problem-2 eta=0.1 minimize=loss"
LONGEST = 80
"""Letters of a problem in the name of a folder."""

GOES_ON = "stopped; what was found is kept, the same command goes on from there"
CHECKPOINT = "search.npz"
"""Where a search that was stopped goes on from."""


def frontier(
    study: Annotated[str, typer.Argument(help="A study.toml, or the bundled study of a bundled table such as adult.")],
    problem: Annotated[
        str,
        typer.Option(help='What to trade: "problem-2 eta=0.1", or measures: measured minimize="p_loss, u_loss".'),
    ] = DEFAULT,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder for the map and for going on after a stop; by default named after study and problem."
        ),
    ] = None,
    loss: Annotated[float | None, typer.Option(help="Say what can be had within this loss, such as 0.25.")] = None,
    relaxed: Annotated[float | None, typer.Option(help="And what this larger loss would buy.")] = None,
    constrained: Annotated[
        str | None,
        typer.Option(help="Columns to cut along their hierarchy only, with commas; by default all but numbers."),
    ] = None,
    level: Annotated[
        list[str],
        typer.Option(help="The finest level a column may show, such as age=1; repeat."),
    ] = [],  # noqa: B006
    points: Annotated[int, typer.Option(help="Points of the frontier to put on the map, evenly.")] = 40,
    solver: Annotated[
        str | None,
        typer.Option(help='How to search: "nsga2 operators=paper mutation=0.05" (`sfumato options nsga2`).'),
    ] = None,
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--search", help="Look at all cuts, or search; by default all where they are at most 200,000."
        ),
    ] = None,
    population: Annotated[int | None, typer.Option(help="Cut vectors of a generation: 200.")] = None,
    generations: Annotated[int | None, typer.Option(help="Generations: 250.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds with the best so far.")] = None,
    seed: Annotated[int | None, typer.Option(help="Where random numbers start: 0.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads; by default one per core.")] = None,
    as_json: AsJson = False,
) -> None:
    """Search the frontier of a problem over all cuts, and put it on a map for choose and release.

    --seconds ends the search early with the map of the best so far; Ctrl-C ends all, and shows the best so far without
    a map. The same command goes on from there.
    """
    from sfumato.anonymizers import cut_space
    from sfumato.report import DRAWN, PUBLIC_FILES, save_map
    from sfumato.table.weights import weights_in_words
    from sfumato.tradeoff import MeasuredProblem, explore, of_table, read_study
    from sfumato.tradeoff import problem as read_problem
    from sfumato.tradeoff.exploration.cache import mend_cache
    from sfumato.tradeoff.search.pareto import search_of
    from sfumato.tradeoff.search.questions import answer, check_question
    from sfumato.words.frontier import drawn_on, frontier_lines
    from sfumato.words.map import leaving
    from sfumato.workers import Crew

    if points < 1:
        raise BadInputError(f"--points must be at least 1, not {points}")
    wanted = read_problem(problem)
    chosen_solver = _solver(solver, population, generations, seed)
    if exact and solver is not None:
        raise BadInputError("--exact looks at all cuts, so there is nothing for a --solver to do; give one of the two")
    if loss is not None:
        check_question(wanted, loss, relaxed)
    elif relaxed is not None:
        raise BadInputError("--relaxed needs --loss: the bound that it relaxes")
    given = of_table(read_study(study))
    if isinstance(wanted, MeasuredProblem):
        wanted = replace(wanted, scales=given.scales)
    ending = _ending(wanted)
    folder = out or folder_named(given.name, ending)
    announce_first_run()
    table = Crew(workers).do(given.table.open)
    bound = None if constrained is None else [name.strip() for name in constrained.split(",") if name.strip()]
    space = cut_space(table.cells, bound, _levels(level))
    search = search_of(table, wanted, space, chosen_solver, workers, exact)
    tell(weights_in_words(dict(table.roles.weights)))
    make_folder(folder)
    _check_unused(folder, f"{given.name}{ending}")
    kept = folder / CHECKPOINT
    if begun := search.resume(kept):
        typer.echo(f"note: {begun}", err=True)
    if sentence := mend_cache(folder / "cache.jsonl"):
        typer.echo(f"note: {sentence}", err=True)
    if loss is not None and "loss" not in wanted.objectives and wanted.share > 0:
        typer.echo(
            "note: this problem does not count suppressed records in what it makes small, so more may fit the loss "
            "than it finds: add minimize=loss",
            err=True,
        )
    with last_words(GOES_ON), ends_itself(), progress("search") as report:
        reached = search.run(seconds, report, checkpoint=kept)
    if reached.stopped and not len(reached):
        raise StoppedError("stopped before the first generation was done, so there is nothing to show or to go on from")
    if reached.stopped == "interrupted":  # the best so far, and no map: whoever presses Ctrl-C wants it to end
        if not as_json:
            typer.echo("\n".join(frontier_lines(reached)))
        raise StoppedError(GOES_ON)
    if not len(reached) and not as_json:
        raise InfeasibleError("\n".join(frontier_lines(reached)))
    asked = None if loss is None else answer(f"Within a loss of {loss:g}:", reached, loss, relaxed)
    files: list[Path] = []
    if wanted.publishable and len(reached):
        with last_words(GOES_ON):
            with progress("releases") as report:
                shown = _study(replace(given, name=f"{given.name}{ending}"), reached, points, asked)
                map_ = explore(shown, folder / "cache.jsonl", workers, report, table)
            files = save_map(map_, folder)
        tell_undrawn(files, DRAWN)
    if as_json:
        values = [{**point.values, "cuts": point.cuts} for point in reached]
        chosen = None if asked is None else [dict(point.values) for point in asked.best]
        more = None if asked is None else [dict(point.values) for point in asked.bought]
        about = {
            "problem": str(wanted),
            "evaluations": reached.evaluations,
            "exact": reached.exact,
            "stopped": reached.stopped,
            "weights": dict(table.roles.weights),
        }
        print_json({**about, "frontier": values, "best": chosen, "bought": more, "files": list(map(str, files))})
        _leave(reached, asked)
        return
    typer.echo("\n".join(frontier_lines(reached)))
    if asked is not None:
        typer.echo(f"\n{asked}")
    if reached.stopped:
        typer.echo("\nThe search was stopped early; the same command goes on from there.")
    if files:
        typer.echo(f"\n{drawn_on(wanted)}")
        typer.echo(f"Open {folder / 'report.html'} to see the map; `sfumato choose {folder}` goes on from there.")
        typer.echo(leaving(PUBLIC_FILES, "there is internal."))
    elif not wanted.publishable:
        typer.echo("\nThis order is unsound: the pairs need not hold, so there is no map and nothing to publish.")
    _leave(reached, asked)


def _leave(reached: Frontier, asked: Answer[FrontierPoint] | None) -> None:
    """End with exit code 1 where there is no release of what was asked for."""
    if not len(reached) or (asked is not None and not asked.best):
        raise typer.Exit(1)


def _solver(text: str | None, population: int | None, generations: int | None, seed: int | None) -> NSGA2 | None:
    """Read how to search; None where nothing is said of it."""
    from sfumato.tradeoff import NSGA2
    from sfumato.tradeoff.search.pareto import read_solver

    if text is None and population is None and generations is None and seed is None:
        return None
    solver = NSGA2() if text is None else read_solver(text)
    return replace(
        solver,
        population=solver.population if population is None else population,
        generations=solver.generations if generations is None else generations,
        seed=solver.seed if seed is None else seed,
    )


def _ending(wanted: Problem) -> str:
    """Make the end of a folder's name, so that every problem has its own."""
    if str(wanted) == DEFAULT:
        return "-frontier"
    name = re.sub(r"[^A-Za-z0-9._]+", "-", str(wanted)).strip("-")
    if len(name) > LONGEST:
        name = f"{name[:LONGEST]}-{sha256(str(wanted).encode()).hexdigest()[:6]}"
    return f"-frontier-{name}"


def _check_unused(folder: Path, name: str) -> None:
    """Raise where a folder has the search of another problem, which would be lost."""
    points = folder / "points.json"
    if not points.is_file() or not (folder / CHECKPOINT).is_file():
        return
    try:
        other = json.loads(points.read_text())["study"]
    except (ValueError, TypeError, KeyError):
        return
    if other != name:
        raise BadInputError(f"{folder} has the map of another search ({other}); name another folder (--out)")


def _study(given: Study, frontier: Frontier, points: int, asked: Answer[FrontierPoint] | None) -> Study:
    """Make the study of a frontier's releases on the axes of its problem: some, evenly, and what was asked for."""
    wanted = [] if asked is None else [*asked.best, asked.cheaper, asked.dearer, *asked.bought]
    chosen = {*frontier.spread(points), *(i for i, point in enumerate(frontier) if point in wanted)}
    grids = tuple(frontier.grids[i] for i in sorted(chosen))
    return replace(given, grids=grids, axes=frontier.problem.axes)


def _levels(given: list[str]) -> dict[str, int]:
    """Read `age=1`."""
    levels = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        if not equals or not value.strip().isdigit():
            raise BadInputError(f"--level {text!r}: write a column and a level of its hierarchy, such as age=1")
        levels[name.strip()] = int(value)
    return levels
