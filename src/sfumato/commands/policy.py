"""`sfumato policy`: what an attacker may know of baskets, or what may be published together, made of the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.commands._options import AsJson, OfBaskets, TextFile
from sfumato.commands._output import announce_first_run, say, tell
from sfumato.errors import BadInputError


def policy(
    source: Annotated[str, typer.Argument(metavar="BASKETS")],
    baskets: OfBaskets,
    reading: TextFile,
    to: Annotated[Path, typer.Option()],
    rare: Annotated[int | None, typer.Option(min=2)] = None,
    chapter: list[str] | None = None,
    visits: Path | None = None,
    visit_columns: str = "id,visit,item",
    groups: int | None = None,
    force: bool = False,
    as_json: AsJson = False,
) -> None:
    """Make a file of privacy constraints (--rare, --chapter, --visits) or utility constraints (--groups) of baskets."""
    from sfumato.requirements.policy_files import joined, privacy_policy, utility_policy
    from sfumato.runtime.staging import check_targets

    known = {"--rare": rare, "--chapter": chapter, "--visits": visits}
    given = [name for name, value in known.items() if value]
    if groups is not None and given:
        raise BadInputError(f"--groups makes utility constraints, {given[0]} privacy constraints; write two files")
    is_study = source.lower().endswith(".toml")
    declared = baskets.declared_in(source, reading) if is_study else baskets.declaration(source, reading)
    inputs = [*declared.files, *([] if visits is None else [visits])]
    check_targets([to], force, inputs)
    announce_first_run()
    opened = declared.open()
    tell(opened.notices)
    if groups is not None:
        made = utility_policy(opened, groups)
    else:
        made = privacy_policy(opened, rare, chapter or (), visits, joined([visit_columns]))
    made.write(to, force, inputs)
    say(made.values(to), made.lines(to), as_json)
