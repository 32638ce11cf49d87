"""`sfumato ask`: the publisher's questions, answered over a map; a study is first explored, and optionally searched.

`sfumato choose`: the recommendation with reasons.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.commands._options import OUTPUT, AsJson, Details
from sfumato.commands._output import explored_into, folder_named, print_json, tell
from sfumato.errors import InfeasibleError
from sfumato.texts.catalogue import refusal, t

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map
    from sfumato.tradeoff.question.answer import Reply
    from sfumato.tradeoff.question.question import Question
    from sfumato.tradeoff.study.study import Study


USUAL = "24"
"""How many candidates `ask` tries: about 10 seconds on a table of 45,000 records."""


def ask(
    source: Annotated[str, typer.Argument(metavar="DIR|STUDY")],
    question: str,
    search: str = USUAL,
    out: Path | None = None,
    workers: int | None = None,
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question over all releases on a map: the best measure within bounds, its neighbours, how to publish it.

    Exit code 1 if nothing fits.
    """
    from sfumato.tradeoff.exploration.folder import read_map
    from sfumato.tradeoff.question.answer import check_subject
    from sfumato.tradeoff.question.question import read_question
    from sfumato.tradeoff.search.tuner import read_budget
    from sfumato.tradeoff.study.study import read_study

    chosen = _chosen_by(question)
    wanted = None if chosen else read_question(question)
    tries = int(search) if search.isdecimal() else 0
    seconds = None if search.isdecimal() else read_budget(search)
    folder = Path(source)
    if folder.is_dir():
        if out is not None:
            raise refusal("out_names_folder_study")
        map_ = read_map(folder)
        sought = wanted or _sought(map_.study, **chosen)
        tries = _tries(map_.study, sought, tries, folder) if search == USUAL else tries
        if seconds is not None or tries:
            study = map_.study if sought is None else _measuring(map_.study, sought)
            map_ = _asked_of(study, folder, sought, seconds, workers, tries)
    else:
        given = read_study(source)
        folder = out or folder_named(given.name, "-map")
        if wanted is not None:
            check_subject(wanted, given)
        sought = wanted or _sought(given, **chosen)
        tries = _tries(given, sought, tries, folder) if search == USUAL else tries
        map_ = _asked_of(_grown(given, folder, sought), folder, sought, seconds, workers, tries)
    if wanted is None:
        tell_choice(map_, folder, as_json, details, **chosen)
    else:
        tell_reply(map_.ask(wanted), map_, folder, as_json, details)


def _tries(study: Study, question: Question | None, usual: int, folder: Path) -> int:
    """Return how many candidates to try where nobody said it: the usual number on a table that can be read.

    None for a method of choice, and none if this question was searched before into the folder.
    """
    from sfumato.tradeoff.exploration.folder import searched_questions

    if question is None or study.section != "table":
        return 0
    if missing := [path for path in study.data.files if not path.exists()]:
        tell([t("reply.table_missing", file=missing[0])])
        return 0
    return 0 if str(question) in searched_questions(folder) else usual


KEEPS_ANALYSIS = ("analysis", "safest release that keeps analysis", "safest release that keeps the analysis")
"""The questions about the user's own analysis."""


def _chosen_by(question: str) -> dict[str, str]:
    """Return the method of choice, if the question is a method or a recipient."""
    from sfumato.tradeoff.question.recipients import RECIPIENTS

    word = " ".join(question.split())
    if word.lower().removeprefix("the ") in KEEPS_ANALYSIS:
        return {"by": "analysis"}
    return {"by": word} if word in ("knee", "ideal") else {"recipient": word} if word in RECIPIENTS else {}


def _sought(study: Study, by: str = "", recipient: str = "") -> Question | None:
    """Return the question to search for a recipient: the utility of the map within the bounds; None for a method."""
    from sfumato.tradeoff.question.question import Question
    from sfumato.tradeoff.question.recipients import RECIPIENTS

    if not recipient or study.section != "table":
        return None
    bounds = RECIPIENTS[recipient].bounds_of(study, bool(study.table.roles.sensitive))
    return Question(study.axes[1:2], bounds)


def tell_choice(map_: Map, folder: Path, as_json: bool, details: bool, **asked: Any) -> None:
    """Print the recommended release; if nothing fits, the necessary relaxations, exit code 1."""
    from sfumato.report.answer_summary import choice_brief, choice_lines, choice_values
    from sfumato.report.point_summary import release_command
    from sfumato.tradeoff.question.answer import NothingFitsError

    try:
        choice = map_.choose(**asked)
    except NothingFitsError as error:
        if not as_json:
            raise
        print_json(error.to_dict())
        raise typer.Exit(1) from None
    command = release_command(folder, map_, choice.point, choice.recipient)
    if as_json:
        print_json(choice_values(choice, map_) | {"command": command})
    else:
        lines = choice_lines if details else choice_brief
        typer.echo("\n".join(lines(choice, map_, command)))


def tell_reply(reply: Reply, map_: Map, folder: Path, as_json: bool, details: bool) -> None:
    """Print a reply; if nothing fits, the necessary relaxations, exit code 1."""
    from sfumato.report.answer_summary import nothing_fits, reply_brief, reply_lines, reply_values

    if as_json:
        print_json(reply_values(reply, map_, folder))
        if reply.answer is None:
            raise typer.Exit(1)
    elif reply.answer is None:
        raise InfeasibleError("\n  ".join(nothing_fits(reply)))
    else:
        lines = reply_lines if details else reply_brief
        typer.echo("\n".join(lines(reply, map_, folder)))


def _asked_of(
    study: Study, folder: Path, question: Question | None, seconds: float | None, workers: int | None, tries: int
) -> Map:
    """Explore a study into a folder, with candidates for the question.

    A time limit is for the search alone: kept points that another version made are first measured again, all of them.
    """
    if seconds is not None and study.search is None:
        explored_into(folder, study, None, workers)
    outcome, _ = explored_into(folder, study, seconds, workers, question, tries=tries)
    if outcome.map_ is None:
        raise InfeasibleError(t("refusal.study_searches_may_not"))
    return outcome.map_


def _grown(given: Study, folder: Path, question: Question | None) -> Study:
    """Return a study with the candidates that earlier searches have added to its map in this folder.

    It measures what this question and earlier ones need. If earlier searches have added noisy releases, the map remains
    on axes that these have.
    """
    from sfumato.tradeoff.study.study import read_study

    kept, study = folder / "study.toml", given
    before = read_study(str(kept)) if kept.is_file() else None
    if before is not None and before.section != study.section:
        before = None
    scales = study.scales
    if given.data.items is None:
        earlier = before.scales if before is not None else scales
        scales = replace(
            scales, fidelity=scales.fidelity or earlier.fidelity, attacks=scales.attacks or earlier.attacks
        )
    if before is not None and before.scales == scales and before.grids[: len(study.grids)] == study.grids:
        peopled = all(one.anonymizer.people for one in before.candidates)
        study = replace(study, grids=before.grids, scales=scales, axes=study.axes if peopled else before.axes)
    return study if question is None else _measuring(study, question)


def _measuring(study: Study, question: Question) -> Study:
    """Return a study of a table that measures what a question needs."""
    return study if study.data.items is not None else replace(study, scales=study.scales.having(question.measures))


def choose(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    knee: bool = False,
    largest: Annotated[list[str], typer.Option("--max", metavar="MEASURE=NUMBER")] = [],  # noqa: B006
    least: Annotated[list[str], typer.Option("--min", metavar="MEASURE=NUMBER")] = [],  # noqa: B006
    prefer: Annotated[str | None, typer.Option(metavar="MEASURE")] = None,
    recipient: Annotated[str | None, typer.Option("--for")] = None,
    by: Annotated[str | None, typer.Option(rich_help_panel=OUTPUT)] = None,
    axes: Annotated[str | None, typer.Option(metavar="RISK,UTILITY", rich_help_panel=OUTPUT)] = None,
    allow: Annotated[list[str], typer.Option(metavar="exact")] = [],  # noqa: B006
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Recommend one point of a map with reasons: for the most careful recipient, or within the given bounds."""
    from sfumato.tradeoff.exploration.folder import read_map
    from sfumato.tradeoff.question.question import read_bounds

    if knee and by not in (None, "knee"):
        raise refusal("knee_contradict_each_other", by=by)
    limits = {"max": read_bounds(largest, "--max"), "min": read_bounds(least, "--min")}
    map_ = read_map(folder)
    tell_choice(
        map_,
        folder,
        as_json,
        details,
        **limits,
        prefer=prefer,
        by="knee" if knee else by,
        recipient=recipient,
        allow=allow,
        axes=None if axes is None else [name.strip() for name in axes.split(",")],
    )
