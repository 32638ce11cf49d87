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
    full: bool = False,
    frontier: bool = False,
    data: Annotated[list[Path] | None, typer.Option(metavar="FILE")] = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce a paper: its figures with our points, its statements with our numbers. Exit 1 if our checks fail."""
    from sfumato.papers import PAPERS
    from sfumato.papers import reproduce as reproduced
    from sfumato.papers.claims import KINDS, tally
    from sfumato.texts.html import need_room

    if paper not in PAPERS:
        raise refusal("unknown_paper", paper=paper, PAPERS=", ".join(PAPERS))
    need_room()  # its figures are drawn at the end
    folder = out or Path(paper)
    make_folder(folder)
    announce_first_run()
    with progress("steps") as report:
        results = reproduced(paper, report, full=full, frontier=frontier, data=data)
    files = results.write(folder)
    claims = [claim.content() for claim in results.claims]
    if as_json:
        print_json({"paper": paper, "claims": claims, "files": list(map(str, files))})
    else:
        for sentence in [*tally(claims), *([t("paper.short")] if results.made_of.get("full") is False else [])]:
            typer.echo(sentence)
        for claim in sorted(results.claims, key=lambda claim: KINDS.index(claim.kind)):
            _print_claim(claim)
        typer.echo(t("notice.wrote_figures", folder=folder / "results.json", files=len(files) - 1))
    if not results.sound:
        raise typer.Exit(1)


def _print_claim(claim: Claim) -> None:
    """Print the result of a claim with its range; if it is not reproduced, both numbers and the reason."""
    typer.echo(f"\n{claim.verdict:11} {claim.id}: {claim.claim}")
    lines = (
        ("tested_over", "erratum", "reading")
        if claim.holds
        else ("tested_over", "ours", "reason", "erratum", "reading")
    )
    if claim.paper is not None and not claim.holds:
        typer.echo(f"{'':11} {t('paper.paper', paper=claim.paper, place=claim.place)}")
    for name in lines:
        if (value := getattr(claim, name)) is not None:
            typer.echo(f"{'':11} {t(f'paper.{name}', **{name: value})}")
