"""`sfumato release`: publish a point of a map with its certificate."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from sfumato.commands._options import AsJson, Writing
from sfumato.commands._output import announce_first_run, report_steps, say, tell


def release(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    point: Annotated[str, typer.Option()],
    to: Annotated[Path, typer.Option()],
    writing: Writing,
    layout: str = "rows",
    mapping: Path | None = None,
    recipient: Annotated[str | None, typer.Option("--for")] = None,
    legend: str = "auto",
    as_json: AsJson = False,
) -> None:
    """Publish a point of a map: the data, and a certificate of what it promises, re-checked on the written file."""
    from sfumato.publish.pipeline import publish_point

    announce_first_run()
    started = time.perf_counter()
    escaped = writing.escape_formulas
    how = (layout, writing.force, mapping, escaped, recipient, legend)
    with report_steps():
        done = publish_point(folder, point, to, *how)  # type: ignore[arg-type]
    tell(done.notices)
    say({"point": point, **done.values(), "seconds": round(time.perf_counter() - started, 4)}, done.lines(), as_json)
