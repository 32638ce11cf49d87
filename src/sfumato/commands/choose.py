"""`sfumato choose`: the recommendation, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.ask import tell_choice, tell_reply
from sfumato.commands.groups import AsJson
from sfumato.errors import BadInputError

if TYPE_CHECKING:
    from sfumato.tradeoff import Map, Question


def choose(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `explore` wrote.")],
    knee: Annotated[bool, typer.Option("--knee", help="The same as --by knee.")] = False,
    largest: Annotated[
        list[str], typer.Option("--max", metavar="MEASURE=NUMBER", help="The largest value of a measure; repeat.")
    ] = [],  # noqa: B006
    least: Annotated[
        list[str], typer.Option("--min", metavar="MEASURE=NUMBER", help="The least value of a measure; repeat.")
    ] = [],  # noqa: B006
    prefer: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="What to have as good as possible within the bounds; with --loss also several, as k,l_frequency.",
        ),
    ] = None,
    loss: Annotated[
        float | None,
        typer.Option(help="How much k (or k and l: --prefer) is there within this loss, such as 0.25?"),
    ] = None,
    relaxed: Annotated[float | None, typer.Option(help="And what would this larger loss buy?")] = None,
    suppress: Annotated[
        float | None,
        typer.Option(help="With --loss: at most this share of the records suppressed, such as 0.1; 0 for none."),
    ] = None,
    recipient: Annotated[
        str | None, typer.Option("--for", help="Bounds for a recipient: public, partner or internal.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="knee (of the whole frontier), ideal (the closest to the ideal corner), best (see --prefer)."
        ),
    ] = None,
    axes: Annotated[
        str | None, typer.Option(metavar="RISK,UTILITY", help="Two measures, instead of those of the study.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recommend one point of a map and say why: the knee; with bounds, a recipient or a loss, the best within them."""
    from sfumato.tradeoff import read_bounds, read_map

    if knee and by not in (None, "knee"):
        raise BadInputError(f"--knee and --by {by} contradict each other; give one of them")
    limits = {"max": read_bounds(largest, "--max"), "min": read_bounds(least, "--min")}
    if loss is not None:
        others = {"--knee": knee or None, "--for": recipient, "--by": by, "--axes": axes}
        for option, value in others.items():
            if value is not None:
                raise BadInputError(f"--loss and {option} are two ways to choose; give one of them")
        map_ = read_map(folder)
        tell_reply(map_.ask(_question(map_, loss, relaxed, suppress, prefer, limits)), map_, folder, as_json)
        return
    for option, given in {"--relaxed": relaxed, "--suppress": suppress}.items():
        if given is not None:
            raise BadInputError(f"{option} belongs to a question about a loss; give --loss too, such as --loss 0.25")
    map_ = read_map(folder)
    tell_choice(
        map_,
        folder,
        as_json,
        **limits,
        prefer=prefer,
        by="knee" if knee else by,
        recipient=recipient,
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
    """Put a question about a loss into the grammar; where nothing is preferred, what every release requires."""
    from sfumato.tradeoff import Bound, Question
    from sfumato.tradeoff.choice.bounds import given_bounds
    from sfumato.tradeoff.choice.question import SHARE
    from sfumato.tradeoff.choice.reply import required

    names = tuple(dict.fromkeys(name.strip() for name in (prefer or "").split(",") if name.strip()))
    shares = [] if suppress is None else [Bound(SHARE, "max", suppress)]
    bounds = (Bound("loss", "max", loss), *shares, *given_bounds(limits["max"], limits["min"]))
    more = () if relaxed is None else (Bound("loss", "max", relaxed),)
    return Question(names or required(map_), bounds, more)
