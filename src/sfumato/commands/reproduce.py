"""`sfumato reproduce`: one of the papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands._options import AsJson
from sfumato.commands._output import announce_first_run, make_folder, print_json, progress
from sfumato.texts.catalogue import refusal, t

if TYPE_CHECKING:
    from sfumato.papers.claims import Claim


def reproduce(
    paper: str,
    out: Path | None = None,
    frontier: bool = False,
    data: Annotated[list[Path] | None, typer.Option(metavar="FILE")] = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce a paper: its figures with our points, its claims with our numbers. Exit 1 if a required one fails."""
    from sfumato.papers import PAPERS
    from sfumato.papers import reproduce as reproduced
    from sfumato.texts.html import need_room

    if paper not in PAPERS:
        raise refusal("unknown_paper", paper=paper, PAPERS=", ".join(PAPERS))
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
        typer.echo(t("notice.wrote_figures", folder=folder / "results.json", files=len(files) - 1))
    if not results.holds:
        raise typer.Exit(1)


def _print_claim(claim: Claim) -> None:
    """Print the result of a claim with its range; if it does not hold, both numbers and the reason."""
    mark = "DOES NOT HOLD" if claim.verdict == "differs" and claim.status == "required" else claim.verdict
    typer.echo(f"{mark:14} {claim.id:36} {claim.claim}")
    if claim.tested_over:
        typer.echo(f"{'':14} tested over: {claim.tested_over}")
    if not claim.holds:
        reason = f" ({claim.reason})" if claim.reason else ""
        typer.echo(f"{'':14} paper: {claim.paper}; ours: {claim.ours}{reason}")
