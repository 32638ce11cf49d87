"""`sfumato explore`: the map of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.commands.common import announce_first_run, folder_named, make_folder, print_json, progress, tell_undrawn
from sfumato.commands.groups import AsJson
from sfumato.errors import BadInputError
from sfumato.process.interrupts import last_words


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
    add: Annotated[
        list[Path],
        typer.Option(
            metavar="DIR",
            help="The folder of another map: its candidates are explored here too, and what it has measured of the "
            "same data on the same scales is taken over; repeat.",
        ),
    ] = [],  # noqa: B006
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
    from sfumato.tradeoff import of_table, read_map, read_study
    from sfumato.tradeoff.exploration.cache import mend_cache
    from sfumato.tradeoff.exploration.merge import add_cache, with_added
    from sfumato.tradeoff.search.tuner import read_budget, tune
    from sfumato.tradeoff.study.study import read_reader
    from sfumato.words.map import leaving, map_lines, map_values

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
    for other in add:
        given = with_added(given, read_map(other).study)
    if sentence := mend_cache(folder / "cache.jsonl"):
        typer.echo(f"note: {sentence}", err=True)
    for other in add:
        add_cache(folder / "cache.jsonl", other / "cache.jsonl")
    announce_first_run()
    with last_words("stopped; what was measured is kept, the same command goes on from there"):
        with progress("releases" if seconds is None else "seconds") as report:
            if seconds is None:
                map_ = explored(given, folder / "cache.jsonl", workers, report)
            else:
                map_ = tune(given, seconds, folder / "cache.jsonl", workers, report)
        files = save_map(map_, folder)
    for notice in map_.about["notices"]:
        typer.echo(f"note: {notice}", err=True)
    tell_undrawn(files, DRAWN)
    if as_json:
        print_json({"study": given.name, **map_values(map_), "files": [str(file) for file in files]})
        return
    page = folder / "report.html"
    for line in map_lines(map_, str(page) if page in files else None):
        typer.echo(line)
    others = f"of {folder} is internal, and so are the numbers above."
    typer.echo(f"\n{leaving(PUBLIC_FILES, others)}")
    typer.echo("report.html and cache.jsonl show records, rare ones too: their owner alone can read them.")
