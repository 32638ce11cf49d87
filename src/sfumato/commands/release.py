"""`sfumato release`: publish a point of a map with its certificate."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands.common import announce_first_run, print_json
from sfumato.commands.noisy import print_drawn
from sfumato.phrases import counted

if TYPE_CHECKING:
    from sfumato.publish import Publication
    from sfumato.publish.baskets.publication import LeavingBaskets


def release(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `sfumato explore` wrote.")],
    point: Annotated[str, typer.Option(help="The id of the point to publish, as the report and `choose` name it.")],
    to: Annotated[Path, typer.Option("--to", help="The file to write: .csv or .parquet.")],
    layout: Annotated[
        str,
        typer.Option(help="rows, or anatomy: a bucketization as two tables; of baskets lines, or long: an item a row."),
    ] = "rows",
    mapping: Annotated[
        Path | None, typer.Option(help="Also write the mapping of values, to recode new data with `sfumato apply`.")
    ] = None,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas", help="Write cells that a spreadsheet would run as formulas with ' in front of them."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output and its certificates.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Publish a point of a map: the data, and a certificate of what it promises, re-checked on the written file."""
    from sfumato.publish import publish_point
    from sfumato.publish.baskets.publication import LeavingBaskets
    from sfumato.publish.noisy.publication import LeavingDraw
    from sfumato.publish.publication import LeavingTable

    announce_first_run()
    started = time.perf_counter()
    done = publish_point(folder, point, to, layout, force, mapping, escape_formulas)  # type: ignore[arg-type]
    for notice in done.notices:
        typer.echo(f"note: {notice}", err=True)
    leaving = done.leaving
    if isinstance(leaving, LeavingDraw):
        seconds = round(time.perf_counter() - started, 4)
        more = {"point": point, "files": [str(file) for file in done.files], "seconds": seconds}
        print_drawn(leaving.release, leaving.maker, more, as_json)
        if not as_json:
            _print_certificates(to, "it tells what only you may know of the table")
        return
    if isinstance(leaving, LeavingBaskets):
        _print_baskets(done, leaving, point, to, mapping, as_json)
        return
    assert isinstance(leaving, LeavingTable)
    candidate, release = leaving.candidate, leaving.release
    if as_json:
        print_json(
            {
                "point": point,
                "requirement": str(candidate.requirement),
                "anonymizer": str(candidate.anonymizer),
                "form": candidate.form,
                "suppressed": release.suppressed,
                "measures": dict(done.audit.measures),
                "files": [str(file) for file in done.files],
            }
        )
        return
    rows, groups = counted(release.assignment.records, "record"), counted(release.groups, "group")
    typer.echo(f"Published {to}: {rows} in {groups}.")
    typer.echo(f"Re-checked on the written file: {candidate.requirement}")
    _print_certificates(to, "it tells what was suppressed")
    if mapping is not None:
        typer.echo(f"To recode new data: sfumato apply {mapping} NEW.csv --to FILE (keep the mapping to yourself)")


def _print_baskets(
    done: Publication, leaving: LeavingBaskets, point: str, to: Path, mapping: Path | None, as_json: bool
) -> None:
    """Say what was published of baskets."""
    own, audit = leaving.candidate, done.audit
    if as_json:
        print_json(
            {
                "point": point,
                "requirement": str(own.requirement),
                "anonymizer": str(own.anonymizer),
                "published_items": audit.published_items,
                "suppressed": len(leaving.release.suppressed),
                "measures": dict(audit.measures),
                "files": [str(file) for file in done.files],
            }
        )
        return
    typer.echo(
        f"Published {to}: {counted(audit.records, 'record')} with {counted(audit.published_items, 'published item')}."
    )
    typer.echo(f"Re-checked on the written file: {own.requirement}")
    typer.echo(f"  That is: {own.requirement.rule_in_words()}.")
    _print_certificates(to, "it tells what was left out")
    if mapping is not None:
        typer.echo(f"What stands for what: {mapping} (keep it to yourself)")


def _print_certificates(to: Path, why_yours: str) -> None:
    typer.echo(f"\nFor you:        {to}.certificate.html (and .json) - keep it; {why_yours}")
    typer.echo(f"For the public: {to}.certificate-public.html (and .json) - hand it out with the data")
