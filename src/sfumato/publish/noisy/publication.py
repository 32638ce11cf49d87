"""Publishing a noisy point of a map: drawn afresh with noise nobody can repeat, as synthetic records.

The map's own draws came from seeds and are never published. As for every release, the certificates get their names
first and the data last, so there is never a data file without the certificate that fits it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from sfumato.anonymizers import Mechanism
from sfumato.engines.formulas import formula_notice
from sfumato.errors import BadInputError
from sfumato.publish.certificate import Origin, certificate_files, internal
from sfumato.publish.draft_reading import read_draft
from sfumato.publish.formulas import note_formulas, written_formulas
from sfumato.publish.noisy.cautions import noisy_cautions
from sfumato.publish.noisy.certificate import noisy_certificate, public_noisy_certificate
from sfumato.publish.noisy.page import noisy_certificate_page
from sfumato.publish.page import write_certificates
from sfumato.quiet import Quiet
from sfumato.release import Format, NoisyRelease, check_targets, format_of, staged
from sfumato.table import Table


@dataclass(frozen=True, repr=False)
class NoisyPublication(Quiet):
    """What was published of a noisy release, and where."""

    spoken: ClassVar[tuple[str, ...]] = ("release", "files")

    release: NoisyRelease
    maker: Mechanism
    rows: int
    files: tuple[Path, ...]
    """Data first, then the certificates."""

    notices: tuple[str, ...] = ()
    """What who opens the file should know, in sentences."""


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


def publish_noisy(
    maker: Mechanism,
    table: Table,
    path: Path,
    origin: Origin,
    measures: Mapping[str, float],
    force: bool = False,
    escape_formulas: bool = False,
) -> NoisyPublication:
    """Draw a release and write it with its certificates; `measures` are those of the map, for the publisher."""
    certificates = certificate_files(path)
    targets = [path, *certificates]
    check_targets(targets, force, [Path(table.engine.origin)])
    release = maker.draw(table)
    format = format_of(path)
    with staged(targets, private=internal(certificates)) as drafts:
        rows = release.write_draft(drafts[0], format, escape_formulas)
        cells = written_formulas(drafts[:1], escape_formulas)
        check_draft(release, drafts[0], format, escape_formulas)
        found = noisy_cautions(release, maker)
        outside = public_noisy_certificate(release, maker, path, drafts[:1], found)
        own = noisy_certificate(outside, table, origin, found, measures)
        for content in (own, outside):
            note_formulas(content, cells, escape_formulas)
        write_certificates(own, outside, drafts[1:], noisy_certificate_page)
    return NoisyPublication(release, maker, rows, tuple(targets), tuple(formula_notice(cells, escape_formulas)))


def check_draft(release: NoisyRelease, draft: Path, format: Format, escape_formulas: bool = False) -> None:
    """Read the written file back: declared values only, and as many rows of every sensitive value as the counts say.

    This proves nothing of the promise, which rests on the mechanism; it finds a file that came out wrong.
    """
    written = read_draft(draft, format, escape_formulas)
    sensitive = release.cells.sensitive[0]
    domains = {own.name: own.hierarchy.leaves for own in release.cells.quasi}
    domains[sensitive.name] = sensitive.hierarchy.leaves
    if sorted(written.column_names) != sorted(domains):
        raise AssertionError(f"the written file has the columns {written.column_names}, not {sorted(domains)}")
    for name, leaves in domains.items():
        strange = {value or "" for value in written.column(name).unique().to_pylist()} - set(leaves)
        if strange:
            raise AssertionError(f"the written file has {sorted(strange)[0]!r} in {name}, which is not declared")
    wanted = dict(zip(sensitive.hierarchy.leaves, release.synthetic_counts.sum(axis=0).tolist(), strict=True))
    counted = {own["values"] or "": own["counts"] for own in written.column(sensitive.name).value_counts().to_pylist()}
    if any(counted.get(value, 0) != number for value, number in wanted.items()):
        raise AssertionError(f"the written file has other numbers of {sensitive.name} than the noisy counts say")
