"""Publishing a noisy point of a map: drawn afresh with noise nobody can repeat, as synthetic records.

The map's own draws came from seeds and are never published. As for every release, the certificates get their names
first and the data last, so there is never a data file without the certificate that fits it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyarrow import csv, parquet

from sfumato.anonymizers import Mechanism
from sfumato.errors import BadInputError
from sfumato.publish.certificate import Origin, certificate_files
from sfumato.publish.noisy_cautions import noisy_cautions
from sfumato.publish.noisy_certificate import noisy_certificate, public_noisy_certificate
from sfumato.publish.noisy_page import noisy_certificate_page
from sfumato.publish.page import write_certificates
from sfumato.quiet import Quiet
from sfumato.release import NoisyRelease, format_of, staged
from sfumato.release.writing import Format, check_not_original, check_target, writable
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
) -> NoisyPublication:
    """Draw a release and write it with its certificates; `measures` are those of the map, for the publisher."""
    certificates = certificate_files(path)
    for target in (path, *certificates):
        check_target(target, force)
    release = maker.draw(table)
    check_not_original(release, path)
    format = format_of(path)
    with writable(path), staged([path, *certificates]) as drafts:
        rows = release.write_draft(drafts[0], format)
        check_draft(release, drafts[0], format)
        found = noisy_cautions(release, maker)
        outside = public_noisy_certificate(release, maker, path, drafts[:1], found)
        own = noisy_certificate(outside, table, origin, found, measures)
        write_certificates(own, outside, drafts[1:], noisy_certificate_page)
        path.unlink(missing_ok=True)  # an older release must not stand beside the new certificate
    return NoisyPublication(release, maker, rows, (path, *certificates))


def check_draft(release: NoisyRelease, draft: Path, format: Format) -> None:
    """Read the written file back: declared values only, and as many rows of every sensitive value as the counts say.

    This proves nothing of the promise, which rests on the mechanism; it finds a file that came out wrong.
    """
    written = _read(draft, format)
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


def _read(path: Path, format: Format) -> pa.Table:
    if format == "parquet":
        return parquet.read_table(path)
    parsed = csv.ParseOptions(newlines_in_values=True)
    names = csv.open_csv(path, parse_options=parsed).schema.names
    texts = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
    )
    return csv.read_csv(path, parse_options=parsed, convert_options=texts)
