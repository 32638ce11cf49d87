"""`sfumato choose`: the recommendation, and why."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.common import print_json
from sfumato.commands.groups import AsJson
from sfumato.errors import BadInputError

if TYPE_CHECKING:
    from sfumato.tradeoff import Choice, Map


def choose(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `explore` or `frontier` wrote.")],
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
        typer.Option(help="knee (by angle), kneedle, ideal (the closest to the ideal corner), best (see --prefer)."),
    ] = None,
    axes: Annotated[
        str | None, typer.Option(metavar="RISK,UTILITY", help="Two measures, instead of those of the study.")
    ] = None,
    sensitivity: Annotated[
        float | None, typer.Option(help="Of Kneedle: how far the curve must fall beyond a knee, in mean steps.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recommend one point of a map and say why: the knee; with bounds, a recipient or a loss, the best within them."""
    from sfumato.tradeoff import NothingFitsError, read_bounds, read_map

    if knee and by not in (None, "knee"):
        raise BadInputError(f"--knee and --by {by} contradict each other; give one of them")
    limits = {"max": read_bounds(largest, "--max"), "min": read_bounds(least, "--min")}
    if loss is not None:
        others = {"--knee": knee or None, "--for": recipient, "--by": by, "--axes": axes, "--sensitivity": sensitivity}
        for option, value in others.items():
            if value is not None:
                raise BadInputError(f"--loss and {option} are two ways to choose; give one of them")
        _ask(folder, loss, relaxed, suppress, prefer, limits, as_json)
        return
    for option, value in {"--relaxed": relaxed, "--suppress": suppress}.items():
        if value is not None:
            raise BadInputError(f"{option} belongs to a question about a loss; give --loss too, such as --loss 0.25")
    shown = read_map(folder)
    try:
        choice = shown.choose(
            **limits,
            prefer=prefer,
            by="knee" if knee else by,
            recipient=recipient,
            axes=None if axes is None else [name.strip() for name in axes.split(",")],
            sensitivity=sensitivity,
        )
    except NothingFitsError as error:
        if not as_json:
            raise
        print_json(error.to_dict())
        raise typer.Exit(1) from None
    command = _release_command(folder, choice.point.id)
    if as_json:
        print_json(choice.to_dict() | {"command": command})
    else:
        _print_choice(choice, shown, command)


def _ask(
    folder: Path,
    loss: float,
    relaxed: float | None,
    suppress: float | None,
    prefer: str | None,
    limits: dict[str, dict[str, float]],
    as_json: bool,
) -> None:
    """Answer a question about a loss: the best releases within it, their neighbours, how to publish the first."""
    from sfumato.errors import InfeasibleError
    from sfumato.tradeoff import ask, read_map
    from sfumato.tradeoff.choice.bounds import given_bounds

    names = [name.strip() for name in (prefer or "").split(",") if name.strip()]
    bounds = given_bounds(limits["max"], limits["min"])
    answer = ask(read_map(folder), loss, relaxed, suppress, names, bounds)
    command = [_release_command(folder, own.point.id) for own in answer.best]
    if as_json:
        plain = {"best": answer.best, "bought": answer.bought}
        sides = {"less_private": answer.cheaper, "next_step": answer.dearer}
        print_json(
            {"question": answer.question}
            | {name: [own.to_dict() for own in points] for name, points in plain.items()}
            | {name: None if own is None else own.to_dict() for name, own in sides.items()}
            | {"commands": command}
        )
        if not answer.best:
            raise typer.Exit(1)
        return
    if not answer.best:
        raise InfeasibleError(answer.text(str))
    typer.echo(answer.text(str))
    typer.echo(f"\nTo publish {'it' if len(command) == 1 else 'the first of them'}:\n  {command[0]}")


def _release_command(folder: Path, id: str) -> str:
    """Write the command that publishes a point."""
    return shlex.join(["sfumato", "release", str(folder), "--point", id, "--to", f"release-{id}.csv"])


def _print_choice(choice: Choice, shown: Map, command: str) -> None:
    """Say in words which point, why, what is around it, and how to publish it."""
    from sfumato.measures import MEASURES
    from sfumato.phrases import number
    from sfumato.tradeoff.words import settings

    point = choice.point
    typer.echo(f"Point {point.id}: {settings(point)}.\n")
    told = dict.fromkeys(
        [*choice.axes, *([choice.prefer] if choice.prefer else []), *(b.measure for b in choice.bounds)]
    )
    for name in [name for name in told if point.has([name])]:
        arrow = "^" if MEASURES[name].better == "higher" else "v"
        typer.echo(f"  {name:18} {number(point.measures[name]):>10} {arrow} {MEASURES[name].meaning}")
    _print_list("Why this one", choice.why)
    _print_list("Is it worth it", [choice.worth] if choice.worth else [])
    _print_list("Do the axes agree", choice.disagreements)
    _print_list("Before you publish it", choice.warnings)
    _print_list(
        f"Its neighbours on the frontier of {' and '.join(choice.axes)}",
        [f"{own.side}: {own.said} [{settings(shown[own.point])}]" for own in choice.neighbours],
    )
    _print_list("What privacy costs along the frontier", _costs(choice))
    others = [f"{by}: {id}" for by, id in choice.landmarks.items() if id not in (None, point.id)]
    _print_list("Other ways to choose (--by) recommend within the same bounds", others)
    _print_list("The quadrant, points within the bounds on both axes", [choice.quadrant.said])
    typer.echo(f"\nTo publish it:\n  {command}")


def _costs(choice: Choice) -> list[str]:
    """Say what the next step costs, and where privacy is almost free or expensive."""
    from sfumato.tradeoff.choice.choice_words import next_step, stretch

    steps = [next_step(step, choice.axes) for step in choice.slope if step.start == choice.point.id]
    return [*steps, *(stretch(own, choice.axes) for own in choice.stretches)]


def _print_list(title: str, lines: Sequence[str]) -> None:
    """Print a title with its lines, wrapped; nothing where there are none."""
    from textwrap import fill

    if lines:
        typer.echo(f"\n{title}:")
        for line in lines:
            typer.echo(fill(line, 110, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False))
