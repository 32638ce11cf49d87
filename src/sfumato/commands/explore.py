"""`sfumato explore`: the map of a study."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.common import announce_first_run, folder_named, make_folder, print_json, progress, tell_undrawn
from sfumato.commands.groups import AsJson
from sfumato.errors import BadInputError
from sfumato.interrupts import last_words
from sfumato.phrases import counted

if TYPE_CHECKING:
    from sfumato.tradeoff import Map, Point
    from sfumato.tradeoff.disagreements import Disagreements
    from sfumato.tradeoff.verdicts import Verdicts

MOST_TOLD = 5
"""Cases of disagreement that are told in the terminal; the report has all."""


def explore(
    study: Annotated[str, typer.Argument(help="A study.toml, or the bundled study of a bundled table such as adult.")],
    out: Annotated[Path | None, typer.Option(help="The folder to write to; by default named after the study.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads; by default one per core.")] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of the random queries, instead of the study's.")] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="A column that classifiers shall learn from every release; one without a role is published as neutral."
        ),
    ] = None,
    classifiers: Annotated[
        str | None,
        typer.Option(
            help="By which: decision-tree, naive-bayes, random-forest, gradient-boosting, logistic-regression, "
            "with commas between."
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="A time such as 60s or 5m: after the study's own candidates, further makers and parameters are tried "
            "where the frontier has its largest steps, until time is up."
        ),
    ] = None,
    reader: Annotated[
        str | None,
        typer.Option(
            help="Who reads releases besides the uniform reader: 'em' or 'em rounds=9' learns across groups; 'uniform' "
            "spares the time, and u_loss_em, query_error_em and the deFinetti attack."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make and measure all candidates of a study, and draw the map. Resumes where it was stopped."""
    from sfumato.measures import Classification
    from sfumato.report import DRAWN, PUBLIC_FILES, save_map
    from sfumato.tradeoff import explore as explored
    from sfumato.tradeoff import of_table, read_study
    from sfumato.tradeoff.disagreements import Disagreements
    from sfumato.tradeoff.exploration.cache import mend_cache
    from sfumato.tradeoff.search.tuner import read_budget, tune
    from sfumato.tradeoff.study.study import read_reader
    from sfumato.tradeoff.verdicts import Verdicts

    given = read_study(study)
    seconds = None if budget is None else read_budget(budget)
    if seed is not None:
        given = given.with_seed(seed)
    if reader is not None:
        given = of_table(given).with_reader(read_reader(reader))
    if target is not None:
        given = of_table(given).with_target(Classification(target, classifiers or Classification.classifiers))
    elif classifiers is not None:
        raise BadInputError("--classifiers needs --target: the column that they shall learn")
    folder = out or folder_named(given.name, "-map")
    make_folder(folder)
    if sentence := mend_cache(folder / "cache.jsonl"):
        typer.echo(f"note: {sentence}", err=True)
    announce_first_run()
    with last_words("stopped; what was measured is kept, the same command goes on from there"):
        with progress("releases" if seconds is None else "seconds") as told:
            if seconds is None:
                shown = explored(given, folder / "cache.jsonl", workers, told)
            else:
                shown = tune(of_table(given), seconds, folder / "cache.jsonl", workers, told)
        files = save_map(shown, folder)
    for notice in shown.about["notices"]:
        typer.echo(f"note: {notice}", err=True)
    tell_undrawn(files, DRAWN)
    frontier = shown.frontier()
    states = Counter(point.status for point in shown.points)
    verdicts, disagreements = Verdicts.of(shown), Disagreements.of(shown)
    if as_json:
        print_json(
            {
                "study": given.name,
                "points": len(shown.points),
                "states": dict(states),
                "frontier": [point.id for point in frontier],
                "verdicts": None if verdicts is None else verdicts.by_verdict,
                "disagreements": []
                if disagreements is None
                else [
                    {
                        "point": own.point.id,
                        "axis": own.axis.measure,
                        "looks": own.axis.side,
                        "others": [other.measure for other in own.others],
                        "said": own.said,
                    }
                    for own in disagreements.on_frontier
                ],
                "files": [str(file) for file in files],
            }
        )
        return
    told_states = ", ".join(f"{count} {state}" for state, count in states.items())
    look = f"Open {folder / 'report.html'} to see the map." if folder / "report.html" in files else ""
    typer.echo(f"{counted(len(shown.points), 'candidate')}: {told_states}. {look}".rstrip())
    if seconds is not None:
        _print_tuning(shown)
    _print_frontier(shown, frontier)
    if disagreements is not None and disagreements.compared:
        _print_disagreements(disagreements)
    if verdicts is not None:
        _print_verdicts(verdicts)
    typer.echo(
        f"\n{' and '.join(PUBLIC_FILES)} may leave the house; every other file of {folder} is internal, and so are the "
        "numbers above."
    )
    typer.echo("report.html and cache.jsonl show records, rare ones too: their owner alone can read them.")


def _print_tuning(shown: Map) -> None:
    """Say what the budget was spent on."""
    tuning = shown.about["tuning"]
    if tuning["unreached"]:
        left = counted(tuning["unreached"], "candidate")
        typer.echo(f"Time was up before {left} of the study; the same command with a larger --budget goes on.")
    elif tuning["exhausted"]:
        typer.echo("Nothing was left to try before time was up.")


def _print_frontier(shown: Map, frontier: list[Point]) -> None:
    """List the points that no other point beats."""
    x, y = shown.study.axes
    if not frontier:
        typer.echo(f'No point has both {x} and {y}: choose other axes in the study, such as axes = ["k", "loss"].')
        return
    typer.echo(f"\nThe frontier, from the best {x} to the best {y}:\n")
    a, b = (max(10, len(name)) for name in (x, y))
    typer.echo(f"  {'point':10} {x:>{a}} {y:>{b}}  release")
    for point in frontier:
        what = (
            point.anonymizer
            if point.is_baseline or point.is_noisy
            else f"{point.anonymizer}, {point.requirement}, {point.form}"
        )
        if point.parameters.get("suppress"):
            what += f", suppress {point.parameters['suppress']}"
        typer.echo(f"  {point.id:10} {point.measures[x]:>{a}.4f} {point.measures[y]:>{b}.4f}  {what}")


def _print_verdicts(verdicts: Verdicts) -> None:
    """Say how many releases are worth it, and what the best of them gives."""
    _print_section("Is it worth it?", [verdicts.reach(), verdicts.tally(), verdicts.best()])


def _print_disagreements(own: Disagreements) -> None:
    """Say which releases of the frontier look good by one measure and bad by another, and what readers gain."""
    some, left = own.on_frontier[:MOST_TOLD], len(own.on_frontier) - MOST_TOLD
    lines = [own.readers(), own.tally(), *(f"{each.point.id}: {each.said}" for each in some)]
    lines += [f"The report tells {counted(left, 'more such case')}." if left > 0 else "", own.rule()]
    _print_section("Do the axes agree?", lines)


def _print_section(title: str, lines: list[str]) -> None:
    """Print a title with its sentences, wrapped."""
    typer.echo(f"\n{title}\n")
    for line in filter(None, lines):
        typer.echo(fill(line, 110, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False))
