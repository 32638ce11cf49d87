"""What is said of a differentially private release that was written: its promise, its budget, its warnings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.anonymizers import Mechanism
from sfumato.phrases import counted
from sfumato.publish.noisy.cautions import alarms, columns_left_out, noisy_cautions, noisy_notices
from sfumato.publish.noisy.certificate import guarantee_values
from sfumato.release import NoisyRelease

ONE_DRAW = (
    "Publish one draw only: each further one adds its epsilon. If you settled on these settings by looking at\n"
    "results of this table, that looking is not covered by epsilon."
)


def drawn_values(release: NoisyRelease, maker: Mechanism) -> dict[str, Any]:
    """Return what a program reads of a noisy release."""
    warnings = noisy_cautions(release, maker)
    return {
        "table": release.table.engine.origin,
        "anonymizer": str(maker),
        "boxes": release.groups,
        "records_written": int(release.synthetic_counts.sum()),
        "epsilon": maker.epsilon,
        "guarantee": guarantee_values(release.guarantee, maker.epsilon),
        "warnings": [{"about": each.about, "text": each.text, "found": each.count} for each in warnings],
        "left_out": columns_left_out(release.table),
        "notices": noisy_notices(release.table),
    }


def drawn_lines(release: NoisyRelease, maker: Mechanism, path: Path) -> list[str]:
    """Say what was written of a noisy release and what it promises."""
    values = drawn_values(release, maker)
    boxes = counted(values["boxes"], "box", "boxes")
    rows = counted(values["records_written"], "synthetic record")
    lines = [f"Wrote {path}: {rows}, drawn from the noisy counts of {boxes}."]
    lines += promise_lines(values["guarantee"])
    lines += [f"WARNING: {each.text}" for each in alarms(release, maker)]
    for warning in values["warnings"]:
        if warning["found"] and warning["about"] != "other columns":
            lines.append(f"WARNING: {warning['text']} Found here (for your eyes only): {warning['found']}.")
    if values["left_out"]:
        lines.append(f"Not in the file, for nothing is published as it is: {', '.join(values['left_out'])}.")
    return [*lines, ONE_DRAW]


def promise_lines(promise: Mapping[str, Any]) -> list[str]:
    """Say what is promised, and where the budget went."""
    levels = ", ".join(f"{level}: {epsilon:.3g}" for level, epsilon in promise["by_level"].items())
    purposes = ", ".join(f"{what} {epsilon:.3g}" for what, epsilon in promise["by_purpose"].items())
    return [
        f"Promised: differential privacy with epsilon {promise['epsilon']:g}. {promise['in_words']}",
        f"Neighbouring tables: {promise['neighbours']}.",
        "",
        f"Where epsilon went, by level (0 is the whole domain): {levels}.",
        f"By purpose: {purposes}.",
        "Taken as known to everybody:",
        *(f"  {sentence}" for sentence in promise["public"]),
        "",
    ]
