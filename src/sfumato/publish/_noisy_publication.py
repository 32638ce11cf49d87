"""Publishing a noisy point of a map: drawn afresh with noise nobody can repeat, as synthetic records.

The map's own draws came from seeds and are never published. As for every release, the certificates get their names
first and the data last, so there is never a data file without the certificate that fits it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfumato.anonymizers.dp.mechanism import Mechanism
from sfumato.engines import open_rows
from sfumato.engines.locations import input_files
from sfumato.engines.protocol import OWN_FILE
from sfumato.errors import BadInputError
from sfumato.publish._noisy_cautions import Drawn, alarms, columns_left_out, noisy_cautions, noisy_notices
from sfumato.publish._noisy_certificate import (
    drawn_from,
    guarantee_of,
    guarantee_values,
    noisy_certificate,
    public_noisy_certificate,
)
from sfumato.publish._written_file import written_formulas
from sfumato.publish.certificate import Origin
from sfumato.publish.plain_language import PlainWords, draw_in_plain_words
from sfumato.publish.publishable import Leaving
from sfumato.release.content import NoisyRelease
from sfumato.release.records import coded_columns
from sfumato.release.writing import format_of
from sfumato.runtime.arrays import Counts
from sfumato.texts.format import counted, ended

ONE_DRAW = (
    "Publish one draw only: each further one adds its epsilon. If you settled on these settings by looking at\n"
    "results of this table, that looking is not covered by epsilon."
)


def check_noisy_request(maker: Mechanism, id: str, layout: str, mapping: str | Path | None) -> None:
    """Raise where something is asked for that a noisy release has not."""
    if mapping is not None:
        raise BadInputError(
            f"point {id} ({maker.name}) is differentially private: its records are drawn at random and no value is "
            "recoded, so there is no mapping to apply to new data; leave out --mapping"
        )
    if layout != "rows":
        raise BadInputError(
            f"point {id} ({maker.name}) publishes synthetic records, which are rows; leave out --layout {layout}"
        )


@dataclass(frozen=True)
class LeavingDraw(Leaving):
    """A noisy release on its way out, as synthetic records."""

    template: ClassVar[str] = "certificate-noisy.html"
    only_yours: ClassVar[str] = "it tells what only you may know of the table"

    release: Drawn
    maker: Mechanism
    path: Path
    origin: Origin
    measures: Mapping[str, float]
    """Those of the map, for the publisher alone."""

    escape_formulas: bool = False

    @property
    def inputs(self) -> Sequence[Path]:
        """The table's file."""
        return tuple(input_files(self.release.table.engine.origin))

    def mapping(self) -> str:
        """Refuse: no value is recoded."""
        raise BadInputError(f"{self.maker.name} recodes no value, so there is no mapping")

    def write(self, drafts: Sequence[Path]) -> Mapping[str, int]:
        """Write the rows that were drawn."""
        self.release.write_draft(drafts[0], format_of(self.path), self.escape_formulas)
        return written_formulas(list(drafts), self.escape_formulas)

    def verify(self, drafts: Sequence[Path]) -> None:
        """Read the file back: nothing in it proves the promise, but it can have come out wrong."""
        check_draft(self.release, drafts[0], self.escape_formulas)

    def certificates(self, drafts: Sequence[Path], verdict: None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Make the public certificate of what went through the mechanism, and the publisher's beside it."""
        warnings = noisy_cautions(self.release, self.maker)
        outside = public_noisy_certificate(self.release, self.maker, self.path, drafts[0], warnings)
        return noisy_certificate(outside, self.release.table, self.origin, warnings, self.measures), outside

    def in_plain_words(self, outside: Mapping[str, Any]) -> PlainWords:
        """Say it of a noisy draw."""
        return draw_in_plain_words(outside)

    def values(self, verdict: None) -> Mapping[str, Any]:
        """Return what a program reads of it."""
        return drawn_values(self.release, self.maker)

    def lines(self, verdict: None) -> Sequence[str]:
        """Say what was drawn, and what it promises."""
        return drawn_lines(self.release, self.maker, self.path)


def check_draft(release: Drawn, draft: Path, escape_formulas: bool = False) -> None:
    """Read the written file back: declared values only, and as many rows of every value as were drawn.

    This proves nothing of the promise, which rests on the mechanism; it finds a file that came out wrong.
    """
    written = open_rows(draft, replace(OWN_FILE, escaped=escape_formulas))
    attributes = coded_columns(release.cells)
    domains = {attribute.name: attribute.hierarchy.leaves for attribute in attributes}
    if sorted(written.columns) != sorted(domains):
        raise AssertionError(f"the written file has the columns {list(written.columns)}, not {sorted(domains)}")
    for name, leaves in domains.items():
        strange = {value or "" for value in written.distinct(name).values} - set(leaves)
        if strange:
            raise AssertionError(f"the written file has {sorted(strange)[0]!r} in {name}, which is not declared")
    for name, wanted in _drawn_counts(release).items():
        values = written.distinct(name)
        numbers = {value or "": number for value, number in zip(values.values, values.counts.tolist(), strict=True)}
        if any(numbers.get(value, 0) != number for value, number in zip(domains[name], wanted.tolist(), strict=True)):
            raise AssertionError(f"the written file has other numbers of {name} than were drawn")


def _drawn_counts(release: Drawn) -> dict[str, Counts]:
    """Count what was drawn by the declared values of every column of which that is settled before it is written."""
    if isinstance(release, NoisyRelease):
        return {release.cells.sensitive[0].name: release.synthetic_counts.sum(axis=0)}
    columns = np.column_stack([release.lo, release.values])
    attributes = coded_columns(release.cells)
    return {
        attribute.name: np.bincount(columns[:, place], release.counts, attribute.hierarchy.size).astype(np.int64)
        for place, attribute in enumerate(attributes)
    }


def drawn_values(release: Drawn, maker: Mechanism) -> dict[str, Any]:
    """Return what a program reads of a noisy release."""
    warnings = noisy_cautions(release, maker)
    return {
        "table": release.table.engine.origin,
        "anonymizer": str(maker),
        **drawn_from(release),
        "records_written": release.rows_written,
        "epsilon": maker.epsilon,
        "guarantee": guarantee_values(guarantee_of(release)),
        "warnings": [{"about": each.about, "text": each.text, "found": each.count} for each in warnings],
        "left_out": columns_left_out(release.table),
        "notices": noisy_notices(release.table),
    }


def drawn_lines(release: Drawn, maker: Mechanism, path: Path) -> list[str]:
    """Say what was written of a noisy release and what it promises."""
    values = drawn_values(release, maker)
    rows = counted(values["records_written"], "synthetic record")
    lines = [f"Wrote {path}: {rows}, drawn from {values['drawn_from']}."]
    lines += promise_lines(values["guarantee"], maker)
    lines += [f"WARNING: {each.text}" for each in alarms(release, maker)]
    for warning in values["warnings"]:
        if warning["found"] and warning["about"] != "other columns":
            lines.append(f"WARNING: {warning['text']} Found here (for your eyes only): {warning['found']}.")
    if values["left_out"]:
        lines.append(ended(f"Not in the file, for nothing is published as it is: {', '.join(values['left_out'])}"))
    return [*lines, ONE_DRAW]


def promise_lines(promise: Mapping[str, Any], maker: Mechanism) -> list[str]:
    """Say what is promised, and where the budget went."""
    unit, first = promise["kept_in"], " (0 is the whole domain)" if maker.stage == "level" else ""
    levels = ", ".join(f"{level}: {amount:.3g}" for level, amount in promise["by_level"].items())
    purposes = ", ".join(f"{what} {amount:.3g}" for what, amount in promise["by_purpose"].items())
    delta = f" and delta {promise['delta']:g}" if "delta" in promise else ""
    return [
        f"Promised: differential privacy with epsilon {promise['epsilon']:g}{delta}. {promise['in_words']}",
        f"Neighbouring tables: {promise['neighbours']}.",
        "",
        f"Where {unit} went, by {maker.stage}{first}: {levels}.",
        f"By purpose: {purposes}.",
        "Taken as known to everybody:",
        *(f"  {sentence}" for sentence in promise["public"]),
        "",
    ]
