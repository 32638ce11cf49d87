"""`sfumato ask`: the publisher's questions, answered over a map; a study is explored first, and searched if wanted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.commands.common import explored_into, folder_named, print_json
from sfumato.commands.groups import AsJson, Workers
from sfumato.errors import BadInputError, InfeasibleError

if TYPE_CHECKING:
    from sfumato.tradeoff import Map, Question, Reply
    from sfumato.tradeoff.study.study import Study


def ask(
    source: Annotated[
        str,
        typer.Argument(metavar="DIR|STUDY", help="The folder of a map; or a study, which is explored first."),
    ],
    question: Annotated[
        str,
        typer.Argument(
            help='Such as "k within loss 0.25", "k, l_frequency within loss 0.25 and suppressed 5% or loss 0.3", '
            '"u_loss within p_loss 0.3 by maker"; or "knee", or a recipient ("public"), which `choose` answers too.'
        ),
    ],
    search: Annotated[
        str | None,
        typer.Option(help="A time such as 60s: look for something better first; what is found stays on the map."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Of a study: the folder of its map; by default named after the study.")
    ] = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question over all releases on a map: the best measure within bounds, its neighbours, how to publish it.

    Exit code 1 where nothing fits.
    """
    from sfumato.tradeoff import read_map, read_question, read_study
    from sfumato.tradeoff.choice.reply import check_subject
    from sfumato.tradeoff.search.tuner import read_budget

    chosen = _chosen_by(question)
    wanted = None if chosen else read_question(question)
    seconds = None if search is None else read_budget(search)
    folder = Path(source)
    if folder.is_dir():
        if out is not None:
            raise BadInputError("--out names the folder of a study's map, and this is a map already; leave it out")
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
        tell_choice(map_, folder, as_json, **chosen)
    else:
        tell_reply(map_.ask(wanted), map_, folder, as_json)


def _chosen_by(question: str) -> dict[str, str]:
    """Return how one release of a map is chosen, where the question is such a way or a recipient."""
    from sfumato.tradeoff import RECIPIENTS

    word = question.strip()
    return {"by": word} if word in ("knee", "ideal") else {"recipient": word} if word in RECIPIENTS else {}


def tell_choice(map_: Map, folder: Path, as_json: bool, **asked: Any) -> None:
    """Print the release that is recommended; where nothing fits, that and what to relax, exit code 1."""
    from sfumato.tradeoff import NothingFitsError
    from sfumato.words.choice import choice_lines, choice_values
    from sfumato.words.command import release_command

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
        typer.echo("\n".join(choice_lines(choice, map_, command)))


def tell_reply(reply: Reply, map_: Map, folder: Path, as_json: bool) -> None:
    """Print a reply; where nothing fits, that and what to relax, exit code 1."""
    from sfumato.words.question import nothing_fits, reply_lines, reply_values

    if as_json:
        print_json(reply_values(reply, map_, folder))
        if reply.answer is None:
            raise typer.Exit(1)
    elif reply.answer is None:
        raise InfeasibleError("\n  ".join(nothing_fits(reply)))
    else:
        typer.echo("\n".join(reply_lines(reply, map_, folder)))


def _asked_of(study: Study, folder: Path, question: Question | None, seconds: float | None, workers: int | None) -> Map:
    """Explore a study into a folder, with what answers the question best."""
    outcome, _ = explored_into(folder, study, seconds, workers, question)
    if outcome.map_ is None:
        raise InfeasibleError("what this study searches for may not be published, so there is no map to ask")
    return outcome.map_


def _grown(given: Study, folder: Path, question: Question | None) -> Study:
    """Return a study with what earlier searches have added to its map in this folder, so that nothing gets lost.

    What the question is about is measured, and so is what earlier ones were about; where those have added noisy
    releases, the map stays on axes that these have too.
    """
    from sfumato.tradeoff import read_study

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
