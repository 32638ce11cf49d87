"""`sfumato ask`: the publisher's questions, answered over a map; a study is first explored, and optionally searched.

`sfumato choose`: the recommendation with reasons.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.commands._options import OUTPUT, AsJson, Details
from sfumato.commands._output import explored_into, folder_named, print_json
from sfumato.errors import InfeasibleError
from sfumato.texts.catalogue import refusal, t

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map
    from sfumato.tradeoff.question.answer import Reply
    from sfumato.tradeoff.question.question import Question
    from sfumato.tradeoff.study.study import Study


def ask(
    source: Annotated[str, typer.Argument(metavar="DIR|STUDY")],
    question: str,
    search: str | None = None,
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
    seconds = None if search is None else read_budget(search)
    folder = Path(source)
    if folder.is_dir():
        if out is not None:
            raise refusal("out_names_folder_study")
        map_ = read_map(folder)
        if seconds is not None:
            map_ = _asked_of(map_.study, folder, wanted, seconds, workers)
    else:
        given = read_study(source)
        folder = out or folder_named(given.name, "-map")
        if wanted is not None:
            check_subject(wanted, given)
        map_ = _asked_of(_grown(given, folder, wanted), folder, wanted, seconds, workers)
    if wanted is None:
        tell_choice(map_, folder, as_json, details, **chosen)
    else:
        tell_reply(map_.ask(wanted), map_, folder, as_json, details)


def _chosen_by(question: str) -> dict[str, str]:
    """Return the method of choice, if the question is a method or a recipient."""
    from sfumato.tradeoff.question.recipients import RECIPIENTS

    word = question.strip()
    return {"by": word} if word in ("knee", "ideal") else {"recipient": word} if word in RECIPIENTS else {}


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


def _asked_of(study: Study, folder: Path, question: Question | None, seconds: float | None, workers: int | None) -> Map:
    """Explore a study into a folder, with candidates for the question."""
    outcome, _ = explored_into(folder, study, seconds, workers, question)
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
    if study.data.items is None and question is not None:
        study = replace(study, scales=study.scales.having(question.measures))
    return study


def choose(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    knee: bool = False,
    largest: Annotated[list[str], typer.Option("--max", metavar="MEASURE=NUMBER")] = [],  # noqa: B006
    least: Annotated[list[str], typer.Option("--min", metavar="MEASURE=NUMBER")] = [],  # noqa: B006
    prefer: Annotated[str | None, typer.Option(metavar="MEASURE")] = None,
    loss: float | None = None,
    relaxed: float | None = None,
    suppress: float | None = None,
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
    if loss is not None:
        others = {"--knee": knee or None, "--for": recipient, "--by": by, "--axes": axes}
        for option, value in others.items():
            if value is not None:
                raise refusal("loss_two_ways_choose", option=option)
        map_ = read_map(folder)
        tell_reply(map_.ask(_question(map_, loss, relaxed, suppress, prefer, limits)), map_, folder, as_json, details)
        return
    for option, given in {"--relaxed": relaxed, "--suppress": suppress}.items():
        if given is not None:
            raise refusal("belongs_question_about_loss", option=option)
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


def _question(
    map_: Map,
    loss: float,
    relaxed: float | None,
    suppress: float | None,
    prefer: str | None,
    limits: dict[str, dict[str, float]],
) -> Question:
    """Return the question about a loss; without a preference, about the measure that all releases require."""
    from sfumato.tradeoff.question.answer import required
    from sfumato.tradeoff.question.question import SHARE, Bound, Question, given_bounds

    names = tuple(dict.fromkeys(name.strip() for name in (prefer or "").split(",") if name.strip()))
    shares = [] if suppress is None else [Bound(SHARE, "max", suppress)]
    bounds = (Bound("loss", "max", loss), *shares, *given_bounds(limits["max"], limits["min"]))
    more = () if relaxed is None else (Bound("loss", "max", relaxed),)
    return Question(names or required(map_), bounds, more)
