"""What `anonymize` and `release` say of a differentially private release: its promise, its budget, its warnings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.commands.common import print_json
from sfumato.phrases import counted

if TYPE_CHECKING:
    from sfumato.anonymizers import Mechanism
    from sfumato.release import Format, NoisyRelease
    from sfumato.table import Table

BOXES = "box", "boxes"


def write_drawn(
    maker: Mechanism, table: Table, to: Path, force: bool, format: Format, escape_formulas: bool = False
) -> NoisyRelease:
    """Draw a release and write records drawn from it."""
    release = maker.draw(table)
    if format == "csv":
        release.to_csv(to, force, escape_formulas)
    else:
        release.to_parquet(to, force)
    return release


def drawn_values(release: NoisyRelease, maker: Mechanism) -> dict[str, Any]:
    """Return what both commands say of a noisy release, as plain values."""
    from sfumato.publish.noisy.cautions import columns_left_out, noisy_cautions, noisy_notices
    from sfumato.publish.noisy.certificate import guarantee_values

    found = noisy_cautions(release, maker)
    return {
        "table": release.table.engine.origin,
        "anonymizer": str(maker),
        "boxes": release.groups,
        "records_written": int(release.synthetic_counts.sum()),
        "epsilon": maker.epsilon,
        "guarantee": guarantee_values(release.guarantee, maker.epsilon),
        "warnings": [{"about": own.about, "text": own.text, "found": own.count} for own in found],
        "left_out": columns_left_out(release.table),
        "notices": noisy_notices(release.table),
    }


def print_drawn(release: NoisyRelease, maker: Mechanism, more: dict[str, Any], as_json: bool) -> None:
    """Say what was written of a noisy release and what it promises; `more` has at least `files` and `seconds`."""
    said = drawn_values(release, maker) | more
    for notice in said["notices"]:
        typer.echo(f"note: {notice}", err=True)
    if as_json:
        print_json(said)
        return
    boxes = f"{said['boxes']:,} {BOXES[said['boxes'] != 1]}"
    rows = counted(said["records_written"], "synthetic record")
    typer.echo(f"Wrote {said['files'][0]}: {rows}, drawn from the noisy counts of {boxes}, in {said['seconds']:.1f} s.")
    print_promise(said["guarantee"])
    _print_warnings(release, maker, said)
    typer.echo(
        "Publish one draw only: each further one adds its epsilon. If you settled on these settings by looking at\n"
        "results of this table, that looking is not covered by epsilon."
    )


def print_promise(promise: dict[str, Any]) -> None:
    """Say what is promised, and where the budget went."""
    typer.echo(f"Promised: differential privacy with epsilon {promise['epsilon']:g}. {promise['in_words']}")
    typer.echo(f"Neighbouring tables: {promise['neighbours']}.")
    levels = ", ".join(f"{level}: {own:.3g}" for level, own in promise["by_level"].items())
    typer.echo(f"\nWhere epsilon went, by level (0 is the whole domain): {levels}.")
    typer.echo(f"By purpose: {', '.join(f'{what} {own:.3g}' for what, own in promise['by_purpose'].items())}.")
    typer.echo("Taken as known to everybody:")
    for sentence in promise["public"]:
        typer.echo(f"  {sentence}")
    typer.echo("")


def _print_warnings(release: NoisyRelease, maker: Mechanism, said: dict[str, Any]) -> None:
    """Print what is alarming, and what was found in this table."""
    from sfumato.publish.noisy.cautions import alarms

    for own in alarms(release, maker):
        typer.echo(f"WARNING: {own.text}")
    for warning in said["warnings"]:
        if warning["found"] and warning["about"] != "other columns":
            typer.echo(f"WARNING: {warning['text']} Found here (for your eyes only): {warning['found']}.")
    if said["left_out"]:
        typer.echo(f"Not in the file, for nothing is published as it is: {', '.join(said['left_out'])}.")
