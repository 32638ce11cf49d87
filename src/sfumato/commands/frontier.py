"""`sfumato frontier`: a preset of the one search, over the cuts of a table alone, for a problem of Dewri et al."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.commands.ask import tell_reply
from sfumato.commands.common import explored_into, folder_named, print_json, tell
from sfumato.commands.groups import AsJson
from sfumato.errors import BadInputError

if TYPE_CHECKING:
    from sfumato.tradeoff import Candidate, Problem, Question, Study

DEFAULT = "problem-2 eta=0.1 minimize=loss"
LONGEST = 80
"""Letters of a problem in the name of a folder."""

CHECKPOINT = "search.npz"
UNCOUNTED = (
    "this problem does not count suppressed records in what it makes small, so more may fit the loss than it finds: "
    "add minimize=loss"
)


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
    from sfumato.report import PUBLIC_FILES
    from sfumato.tradeoff import of_table, read_study
    from sfumato.tradeoff import problem as read_problem
    from sfumato.tradeoff.search.questions import answer, check_question
    from sfumato.tradeoff.study.plan import CUTS, SearchPlan
    from sfumato.tradeoff.study.study import baselines
    from sfumato.words.frontier import frontier_lines, frontier_values, map_words

    wanted = read_problem(problem)
    if exact and solver is not None:
        raise BadInputError("--exact looks at all cuts, so there is nothing for a --solver to do; give one of the two")
    if loss is not None:
        check_question(wanted, loss, relaxed)
    elif relaxed is not None:
        raise BadInputError("--relaxed needs --loss: the bound that it relaxes")
    plan = SearchPlan(
        makers=(CUTS,),
        problem=str(wanted),
        solver=_solver(solver, population, generations, seed),
        exact=exact,
        constrained=None if constrained is None else tuple(n.strip() for n in constrained.split(",") if n.strip()),
        levels=tuple(level),
        points=points,
    )
    given, ending = of_table(read_study(study)), _ending(wanted)
    preset = replace(given, name=f"{given.name}{ending}", grids=(baselines(),), axes=wanted.axes, search=plan)
    folder = out or folder_named(given.name, ending)
    earlier = _earlier(folder, preset)
    if loss is not None and "loss" not in wanted.objectives and wanted.share > 0:
        tell([UNCOUNTED])
    question = None if loss is None else _question(wanted, loss, relaxed)
    outcome, files = explored_into(folder, preset, seconds, workers, question, earlier, as_json)
    reached, map_ = outcome.frontier, outcome.map_
    assert reached is not None
    reply = map_.ask(question) if map_ is not None and question is not None else None
    claims = (
        None if loss is None or reply is not None else answer("Within this loss it claims:", reached, loss, relaxed)
    )
    if as_json:
        weights = dict(preset.table.roles.weights)
        print_json(frontier_values(reached, reply or claims) | {"weights": weights, "files": list(map(str, files))})
    elif map_ is None:
        typer.echo("" if claims is None else f"\n{claims}")
        typer.echo("\nThis order is unsound: the pairs need not hold, so there is no map and nothing to publish.")
    else:
        typer.echo("\n".join(frontier_lines(reached)))
        typer.echo("\n".join(map_words(reached, folder, PUBLIC_FILES)))
        if reply is not None:
            typer.echo("")
            tell_reply(reply, map_, folder, as_json)
    best = reply or claims
    if not len(reached) or (best is not None and not best.best):
        raise typer.Exit(1)


def _question(wanted: Problem, loss: float, relaxed: float | None) -> Question:
    """Ask for the privacies of a problem, as they are measured on a release, within a loss."""
    from sfumato.tradeoff import Bound, Question

    more = () if relaxed is None else (Bound("loss", "max", relaxed),)
    return Question(wanted.measured_privacies, (Bound("loss", "max", loss),), more)


def _earlier(folder: Path, preset: Study) -> Sequence[Candidate]:
    """Return what an earlier run has put on the map of this folder; raise where it is that of another search."""
    from sfumato.tradeoff import Study, read_study

    kept = folder / "study.toml"
    if not kept.is_file():
        return ()
    before = read_study(str(kept))
    if before.name != preset.name and (folder / CHECKPOINT).is_file():
        raise BadInputError(f"{folder} has the map of another search ({before.name}); name another folder (--out)")
    return before.candidates if isinstance(before, Study) and before.scales == preset.scales else ()


def _solver(text: str | None, population: int | None, generations: int | None, seed: int | None) -> str | None:
    """Write how to search; None where nothing is said of it."""
    from sfumato.tradeoff import NSGA2
    from sfumato.tradeoff.search.pareto import read_solver

    if text is None and population is None and generations is None and seed is None:
        return None
    solver = NSGA2() if text is None else read_solver(text)
    short = {"population": population, "generations": generations, "seed": seed}
    changed: Any = {name: value for name, value in short.items() if value is not None}
    return str(replace(solver, **changed))


def _ending(wanted: Problem) -> str:
    """Make the end of a folder's name, so that every problem has its own."""
    if str(wanted) == DEFAULT:
        return "-frontier"
    name = re.sub(r"[^A-Za-z0-9._]+", "-", str(wanted)).strip("-")
    if len(name) > LONGEST:
        name = f"{name[:LONGEST]}-{sha256(str(wanted).encode()).hexdigest()[:6]}"
    return f"-frontier-{name}"
