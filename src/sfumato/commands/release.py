"""`sfumato release`: publish a point of a map with its certificate.

`sfumato apply`: recode new data by the mapping of an earlier release.
"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.commands._options import AsJson, OfBaskets, TextReading, Writing, refuse
from sfumato.commands._output import announce_first_run, report_steps, say, tell
from sfumato.texts.catalogue import t


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
    """Publish a point of a map: the data, and a certificate of the promise, verified on the written file."""
    from sfumato.publish.pipeline import publish_point

    announce_first_run()
    started = time.perf_counter()
    escaped = writing.escape_formulas
    how = (layout, writing.force, mapping, escaped, recipient, legend)
    with report_steps():
        done = publish_point(folder, point, to, *how)
    tell(done.notices)
    say({"point": point, **done.values(), "seconds": round(time.perf_counter() - started, 4)}, done.lines(), as_json)


if TYPE_CHECKING:
    pass


def apply(
    mapping: Path,
    table: str,
    to: Annotated[Path, typer.Option()],
    reading: TextReading,
    writing: Writing,
    baskets: OfBaskets,
    rest: str = "refuse",
    ledger: Path | None = None,
    items_file: str | None = None,
    layout: str = "rows",
    as_json: AsJson = False,
) -> None:
    """Recode new data by an existing release; refuses unknown values and groups that fail."""
    from sfumato.auditing.ledger import ledger_of
    from sfumato.publish.apply import apply as applied
    from sfumato.publish.mapping import ItemMapping, read_mapping
    from sfumato.release.writing import format_of

    format_of(to)
    known, files = read_mapping(mapping), [mapping]
    of_items = isinstance(known, ItemMapping)
    if not of_items or known.boxes is None:
        refuse({"--set items-file": items_file}, t("notice.about_mapping_table_items"))
    if of_items and known.boxes is None:
        declared = baskets.declaration(table, reading, known.person)
        files += declared.files
        announce_first_run()
        recoded = applied(known, declared.open(), rest)  # type: ignore[arg-type]
    else:
        baskets.refuse_for_table({"--set layout": layout != "rows"})
        announce_first_run()
        recoded = applied(known, table, rest, items_file, **reading.declared())  # type: ignore[arg-type]
    kept = ledger_of(mapping) if ledger is None else ledger
    written = recoded.write(to, writing.force, writing.escape_formulas, files, kept, layout)
    tell(written.notices)
    for warning in recoded.left_out.warning():
        typer.echo(warning, err=True)
    say(recoded.values(written), recoded.lines(written), as_json)
