"""`sfumato choose`: the recommendation, and why."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.common import print_json
from sfumato.errors import BadInputError

if TYPE_CHECKING:
    from sfumato.tradeoff import Choice, Map


def choose(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `sfumato explore` wrote.")],
    knee: Annotated[bool, typer.Option("--knee", help="The same as --by knee.")] = False,
    largest: Annotated[
        list[str], typer.Option("--max", metavar="MEASURE=NUMBER", help="The largest value of a measure; repeat.")
    ] = [],  # noqa: B006
    least: Annotated[
        list[str], typer.Option("--min", metavar="MEASURE=NUMBER", help="The least value of a measure; repeat.")
    ] = [],  # noqa: B006
    prefer: Annotated[
        str | None, typer.Option(metavar="MEASURE", help="What to have as good as possible within the bounds.")
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
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Recommend one point of a map and say why: the knee; with bounds or a recipient, the best point within them."""
    from sfumato.tradeoff import NothingFitsError, read_bounds, read_map

    if knee and by not in (None, "knee"):
        raise BadInputError(f"--knee and --by {by} contradict each other; give one of them")
    limits = {"max": read_bounds(largest, "--max"), "min": read_bounds(least, "--min")}
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
    command = shlex.join(
        ["sfumato", "release", str(folder), "--point", choice.point.id, "--to", f"release-{choice.point.id}.csv"]
    )
    if as_json:
        print_json(choice.to_dict() | {"command": command})
    else:
        _print_choice(choice, shown, command)


def _print_choice(choice: Choice, shown: Map, command: str) -> None:
    """Say in words which point, why, what is around it, and how to publish it."""
    from sfumato.measures import MEASURES
    from sfumato.tradeoff.bounds import number
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
    from sfumato.tradeoff.choice_words import next_step, stretch

    steps = [next_step(step, choice.axes) for step in choice.slope if step.start == choice.point.id]
    return [*steps, *(stretch(own, choice.axes) for own in choice.stretches)]


def _print_list(title: str, lines: Sequence[str]) -> None:
    """Print a title with its lines, wrapped; nothing where there are none."""
    from textwrap import fill

    if lines:
        typer.echo(f"\n{title}:")
        for line in lines:
            typer.echo(fill(line, 110, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False))
