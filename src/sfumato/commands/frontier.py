"""`sfumato frontier`: search the cuts of a table for the releases that trade privacy against loss best."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.common import announce_first_run, folder_named, make_folder, print_json, progress, tell_undrawn
from sfumato.commands.groups import AsJson
from sfumato.errors import BadInputError, StoppedError
from sfumato.process.interrupts import ends_itself, last_words

if TYPE_CHECKING:
    from sfumato.tradeoff import Answer, Frontier, FrontierPoint, Study

GOES_ON = "stopped; what was found is kept, the same command goes on from there"
CHECKPOINT = "search.npz"
"""Where a search that was stopped goes on from."""


def frontier(
    study: Annotated[str, typer.Argument(help="A study.toml, or the bundled study of a bundled table such as adult.")],
    problem: Annotated[
        str,
        typer.Option(help='What to trade: "problem-2 eta=0.1", or measures: measured minimize="p_loss, u_loss".'),
    ] = "problem-2 eta=0.1 minimize=loss",
    out: Annotated[
        Path | None,
        typer.Option(help="The folder for the map and for going on after a stop; by default named after the study."),
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
    population: Annotated[int, typer.Option(help="Cut vectors of a generation.")] = 200,
    generations: Annotated[int, typer.Option(help="Generations.")] = 250,
    seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds with the best so far.")] = None,
    seed: Annotated[int, typer.Option(help="Where random numbers start.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Threads; by default one per core.")] = None,
    as_json: AsJson = False,
) -> None:
    """Search the frontier of a problem over all cuts, and put it on a map for choose and release.

    --seconds ends the search early with the map of the best so far; Ctrl-C ends all, and shows the best so far without
    a map. The same command goes on from there.
    """
    from sfumato.anonymizers import cut_space
    from sfumato.report import DRAWN, PUBLIC_FILES, save_map
    from sfumato.tradeoff import NSGA2, explore, of_table, read_study
    from sfumato.tradeoff import problem as read_problem
    from sfumato.tradeoff.exploration.cache import mend_cache
    from sfumato.tradeoff.search.pareto import Search
    from sfumato.tradeoff.search.questions import answer, check_question
    from sfumato.words.frontier import frontier_lines
    from sfumato.words.map import leaving

    if points < 1:
        raise BadInputError(f"--points must be at least 1, not {points}")
    wanted, solver = read_problem(problem), NSGA2(population, generations, seed=seed)
    if loss is not None:
        check_question(wanted, loss, relaxed)
    elif relaxed is not None:
        raise BadInputError("--relaxed needs --loss: the bound that it relaxes")
    given = of_table(read_study(study))
    folder = out or folder_named(given.name, "-frontier")
    announce_first_run()
    table = given.table.open()
    bound = None if constrained is None else [name.strip() for name in constrained.split(",") if name.strip()]
    search = Search(table, wanted, cut_space(table.cells, bound, _levels(level)), solver, workers)
    make_folder(folder)
    kept = folder / CHECKPOINT
    if begun := search.resume(kept):
        typer.echo(f"note: {begun}", err=True)
    if sentence := mend_cache(folder / "cache.jsonl"):
        typer.echo(f"note: {sentence}", err=True)
    with last_words(GOES_ON), ends_itself(), progress("generations") as report:
        reached = search.run(seconds, report, checkpoint=kept)
    if reached.stopped and not len(reached):
        raise StoppedError("stopped before the first generation was done, so there is nothing to show or to go on from")
    if reached.stopped == "interrupted":  # the best so far, and no map: whoever presses Ctrl-C wants it to end
        if not as_json:
            typer.echo("\n".join(frontier_lines(reached)))
        raise StoppedError(GOES_ON)
    asked = None if loss is None else answer(f"Within a loss of {loss:g}:", reached, loss, relaxed)
    files: list[Path] = []
    if wanted.publishable and len(reached):
        with last_words(GOES_ON):
            with progress("releases") as report:
                map_ = explore(_study(given, reached, points, asked), folder / "cache.jsonl", workers, report, table)
            files = save_map(map_, folder)
        tell_undrawn(files, DRAWN)
    if as_json:
        values = [{**point.values, "cuts": point.cuts} for point in reached]
        chosen = None if asked is None else [dict(point.values) for point in asked.best]
        more = None if asked is None else [dict(point.values) for point in asked.bought]
        about = {"problem": str(wanted), "evaluations": reached.evaluations, "stopped": reached.stopped}
        print_json({**about, "frontier": values, "best": chosen, "bought": more, "files": list(map(str, files))})
        return
    typer.echo("\n".join(frontier_lines(reached)))
    if asked is not None:
        typer.echo(f"\n{asked}")
    if reached.stopped:
        typer.echo("\nThe search was stopped early; the same command goes on from there.")
    if files:
        typer.echo(f"\nOpen {folder / 'report.html'} to see the map; `sfumato choose {folder}` goes on from there.")
        typer.echo(leaving(PUBLIC_FILES, "there is internal."))
    elif not wanted.publishable:
        typer.echo("\nThis order is unsound: the pairs need not hold, so there is no map and nothing to publish.")


def _study(given: Study, frontier: Frontier, points: int, asked: Answer[FrontierPoint] | None) -> Study:
    """Make the study of a frontier's releases, on axes that all of them have: some, evenly, and what was asked for."""
    every = -(-len(frontier) // points)
    wanted = [] if asked is None else [*asked.best, asked.cheaper, asked.dearer, *asked.bought]
    chosen = [i for i, point in enumerate(frontier) if i % every == 0 or point in wanted]
    axes = ("k", "loss") if not given.table.sensitive and not given.table.is_bundled else given.axes
    return replace(given, name=f"{given.name}-frontier", grids=tuple(frontier.grids[i] for i in chosen), axes=axes)


def _levels(given: list[str]) -> dict[str, int]:
    """Read `age=1`."""
    levels = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        if not equals or not value.strip().isdigit():
            raise BadInputError(f"--level {text!r}: write a column and a level of its hierarchy, such as age=1")
        levels[name.strip()] = int(value)
    return levels
