"""`sfumato explore`: the map of a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands._options import AsJson, Details
from sfumato.commands._output import explored_into, folder_named, make_folder, print_json, tell
from sfumato.errors import InfeasibleError
from sfumato.texts.catalogue import refusal, t

if TYPE_CHECKING:
    from sfumato.tradeoff.study.candidate import Candidate
    from sfumato.tradeoff.study.study import Study


def explore(
    study: str,
    out: Path | None = None,
    workers: int | None = None,
    seed: int | None = None,
    target: str | None = None,
    classifiers: str | None = None,
    budget: str | None = None,
    add: Annotated[list[str], typer.Option(metavar="FILE|DIR")] = [],  # noqa: B006
    preset: str | None = None,
    analysis: Annotated[list[str], typer.Option(metavar="FILE|TEXT")] = [],  # noqa: B006
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Make and measure all candidates of a study, search further as it specifies, and draw the map.

    Continues a stopped run.
    """
    from sfumato.measures.classification.classification import Classification
    from sfumato.report.folder import PUBLIC_FILES
    from sfumato.report.map_summary import frontier_values, leaving, map_brief, map_lines, map_values, search_lines
    from sfumato.tradeoff.exploration.folder import add_cache, read_map, with_added
    from sfumato.tradeoff.exploration.run import named, with_candidate
    from sfumato.tradeoff.search.tuner import read_budget
    from sfumato.tradeoff.study.presets import preset_notices, with_preset
    from sfumato.tradeoff.study.study import of_table, read_study

    given = read_study(study)
    seconds = None if budget is None else read_budget(budget)
    if preset is not None:
        whole = of_table(given)
        given = with_preset(whole, preset)
        tell(preset_notices(whole, preset))
    if seed is not None:
        given = given.with_seed(seed)
    if analysis:
        given = given.with_analysis(analysis)
    if target is not None:
        given = of_table(given).with_target(Classification(target, classifiers or Classification.classifiers))
    elif classifiers is not None:
        raise refusal("classifiers_needs_target")
    folder = out or _folder(study, given)
    make_folder(folder)
    maps = [Path(other) for other in add if Path(other).is_dir()]
    for other in maps:
        given = with_added(given, read_map(other).study)
    for file in (other for other in add if not Path(other).is_dir()):
        given = with_candidate(of_table(given), named(file))
    for other in maps:
        add_cache(folder / "cache.jsonl", other / "cache.jsonl")
    earlier = () if preset is None else _earlier(folder, of_table(given))
    outcome, files = explored_into(folder, given, seconds, workers, earlier=earlier, as_json=as_json)
    map_ = outcome.map_
    if map_ is None:
        raise InfeasibleError(t("refusal.study_searches_may_not_published"))
    if as_json:
        searched = {} if outcome.frontier is None else {"search": frontier_values(outcome.frontier)}
        print_json({"study": given.name, **map_values(map_), **searched, "files": [str(file) for file in files]})
        return
    if outcome.frontier is not None:
        typer.echo("\n".join(search_lines(outcome.frontier)) + "\n")
    page = folder / "report.html"
    for line in (map_lines if details else map_brief)(map_, str(page) if page in files else None):
        typer.echo(line)
    if not details:
        typer.echo(t("brief.go_on", folder=folder))
    others = t("notice.internal_numbers_above", folder=folder)
    typer.echo(leaving(PUBLIC_FILES, others))
    typer.echo(t("map_line.records"))


def _folder(name: str, study: Study) -> Path:
    """Return the folder of a study's map: the study's own folder if that has a map, so that its search continues."""
    beside = Path(name).parent
    if Path(name).is_file() and getattr(study, "search", None) is not None and (beside / "points.json").is_file():
        return beside
    return folder_named(study.name, "-map")


def _earlier(folder: Path, given: Study) -> Sequence[Candidate]:
    """Return the candidates of an earlier run in a folder; raise if its map is of another search."""
    from sfumato.tradeoff.exploration.run import CHECKPOINT
    from sfumato.tradeoff.study.study import read_study

    kept = folder / "study.toml"
    if not kept.is_file():
        return ()
    before = read_study(str(kept))
    if before.name != given.name and (folder / CHECKPOINT).is_file():
        raise refusal("map_another_search", folder=folder, name=before.name)
    return before.candidates if before.scales == given.scales else ()
