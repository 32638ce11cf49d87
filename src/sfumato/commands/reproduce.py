"""`sfumato reproduce`: one of the papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands._options import AsJson
from sfumato.commands._output import announce_first_run, make_folder, print_json, progress
from sfumato.errors import BadInputError

if TYPE_CHECKING:
    from sfumato.papers.claims import Claim


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(help="One of: li-li-2009, loukides-2012, brickell-shmatikov-2008, cormode-2013, dewri-2011."),
    ],
    out: Annotated[Path | None, typer.Option(help="The folder to write to; by default named after the paper.")] = None,
    frontier: Annotated[
        bool,
        typer.Option("--frontier", help="li-li-2009: also let all makers loose, and score them against the limit."),
    ] = False,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="loukides-2012: baskets to use instead of the bundled ones, one per line; may be repeated.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce a paper: its figures with our points, its claims with our numbers. Exit 1 if a required one fails."""
    from sfumato.papers import PAPERS
    from sfumato.papers import reproduce as reproduced
    from sfumato.texts.render import need_room

    if paper not in PAPERS:
        raise BadInputError(f"unknown paper {paper!r}; there are {', '.join(PAPERS)}")
    need_room()  # its figures are drawn at the end
    folder = out or Path(paper)
    make_folder(folder)
    announce_first_run()
    with progress("steps") as report:
        results = reproduced(paper, report, frontier=frontier, data=data)
    files = results.write(folder)
    if as_json:
        print_json(
            {"paper": paper, "claims": [claim.content() for claim in results.claims], "files": list(map(str, files))}
        )
    else:
        for claim in results.claims:
            _print_claim(claim)
        typer.echo(f"\nWrote {folder / 'results.json'} and {len(files) - 1} figures.")
    if not results.holds:
        raise typer.Exit(1)


def _print_claim(claim: Claim) -> None:
    """Print what came of a claim and over which range; where it does not hold, both numbers and the reason."""
    mark = "DOES NOT HOLD" if claim.verdict == "differs" and claim.status == "required" else claim.verdict
    typer.echo(f"{mark:14} {claim.id:36} {claim.claim}")
    if claim.tested_over:
        typer.echo(f"{'':14} tested over: {claim.tested_over}")
    if not claim.holds:
        reason = f" ({claim.reason})" if claim.reason else ""
        typer.echo(f"{'':14} paper: {claim.paper}; ours: {claim.ours}{reason}")
