"""Publishing: a point of a map becomes a file with its certificate, all or nothing.

The release is made anew from the point's settings, written to a draft, audited there by code that shares nothing with
the anonymizers, and only then everything gets its name: certificates first, data last. So there is never a data file
without the certificate that fits it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from sfumato.anonymizers import Mechanism, anonymizer, assigned
from sfumato.errors import BadInputError
from sfumato.measures import measure
from sfumato.publish.audit import Audit, audit
from sfumato.publish.basket_releasing import BasketPublication, publish_basket_point
from sfumato.publish.certificate import Origin, certificate, certificate_files, public
from sfumato.publish.mapping import mapping_of
from sfumato.publish.noisy_releasing import NoisyPublication, check_noisy_request, publish_noisy
from sfumato.publish.page import write_certificates
from sfumato.quiet import Quiet
from sfumato.release import Form, Release, RowLayout, format_of, staged
from sfumato.release.writing import COUNT, GROUP, check_target, release_files, writable, write_drafts
from sfumato.requirements import KAnonymity, Requirement, requirement
from sfumato.requirements.predicates import SIZE
from sfumato.table import Table
from sfumato.tradeoff import Candidate, Map, Point, read_map
from sfumato.tradeoff.study import of_table
from sfumato.transactions.study import BasketStudy

AGREE = 1e-9
"""How far a measure of the audit may lie from the maker's own."""


@dataclass(frozen=True, repr=False)
class Publication(Quiet):
    """What was published, and where."""

    spoken: ClassVar[tuple[str, ...]] = ("audit", "files")

    release: Release
    candidate: Candidate
    audit: Audit
    files: tuple[Path, ...]
    """Data first, then the certificates, then the mapping."""


def publish_point(
    folder: str | Path,
    id: str,
    to: str | Path,
    layout: RowLayout = "rows",
    force: bool = False,
    mapping: str | Path | None = None,
) -> Publication | NoisyPublication | BasketPublication:
    """Publish a point of the map in a folder; a noisy one is drawn afresh."""
    folder, path = Path(folder), Path(to)
    shown = read_map(folder)
    point, study = shown[id], sha256((folder / "study.toml").read_bytes()).hexdigest()
    if isinstance(shown.study, BasketStudy):
        own = shown.study.baskets
        source = own.source if own.is_bundled else str(folder / "study.toml")
        origin = Origin(source, str(shown.about["digest"]), shown.study.name, study, id)
        return publish_basket_point(shown, shown.study, point, folder, path, origin, layout, force, mapping)
    candidate = candidate_of(point)
    format_of(path)
    maker = candidate.anonymizer
    if isinstance(maker, Mechanism):
        check_noisy_request(maker, id, layout, mapping)
    table = opened(shown, folder)
    origin = Origin(table.engine.origin, str(shown.about["digest"]), shown.study.name, study, id)
    if isinstance(maker, Mechanism):
        return publish_noisy(maker, table, path, origin, point.measures, force)
    release = assigned(maker.anonymize(table, candidate.requirement, candidate.form, candidate.suppress))
    return publish(release, candidate, path, origin, Map(shown.study, (point,), shown.about), layout, force, mapping)


def candidate_of(point: Point) -> Candidate:
    """Read a point's settings back; only a release that was made and measured can be published."""
    if point.status != "measured":
        raise BadInputError(f"point {point.id} was not made ({point.status}: {point.reason}); choose another")
    if point.anonymizer == "original":
        raise BadInputError(
            f"point {point.id} is the original table, the other end of the map: not a release to publish"
        )
    form: Form = "bucketization" if point.form == "bucketization" else "generalization"
    suppress = float(point.parameters.get("suppress", 0.0))
    return Candidate(anonymizer(point.anonymizer), requirement(point.requirement), form, suppress)


def opened(shown: Map, folder: Path) -> Table:
    """Open the table of a map, and make sure that it is still the one that was measured."""
    table = of_table(shown.study).table.open()
    if table.engine.digest() != shown.about["digest"]:
        raise BadInputError(
            f"{table.engine.origin} has changed since the map in {folder} was made, so its points say nothing of it "
            f"any more; run `sfumato explore {folder / 'study.toml'} --out {folder}` again"
        )
    return table


def publish(
    release: Release,
    candidate: Candidate,
    path: Path,
    origin: Origin,
    shown: Map,
    layout: RowLayout = "rows",
    force: bool = False,
    mapping: str | Path | None = None,
) -> Publication:
    """Write a release with its certificates; certificates get their names first, the rows of data last."""
    data = release_files(release, path, layout, force)
    certificates = certificate_files(path)
    for target in certificates:
        check_target(target, force)
    recoding = None if mapping is None else mapping_of(release, candidate.requirement)
    if mapping is not None:
        check_target(Path(mapping), force)
    with writable(path), staged([*data, *certificates]) as drafts:
        write_drafts(release, drafts[: len(data)], layout, format_of(path))
        found = audited(release, candidate, drafts[: len(data)])
        files = dict(zip((target.name for target in data), drafts, strict=False))
        content = certificate(
            release,
            candidate.anonymizer,
            candidate.requirement,
            candidate.suppress,
            origin,
            files,
            {"measures": found.measures, "by_sensitive": found.by_sensitive, "households": found.households},
            shown.study.meanings(shown),
        )
        write_certificates(content, public(content, candidate.anonymizer), drafts[len(data) :])
        for target in data:  # an older release must not stand beside the new certificate
            target.unlink(missing_ok=True)
    extra = [] if recoding is None or mapping is None else [recoding.to_json(mapping, force)]
    return Publication(release, candidate, found, (*data, *certificates, *extra))


def _on_the_file(release: Release, wanted: Requirement) -> str | None:
    """Return what can be required of the file: without sensitive values, what is said of sizes."""
    if release.histograms is not None:
        return str(wanted)
    sizes = [KAnonymity(int(k)) for part in wanted.parts for kind, k, _ in part.rules() if kind == SIZE]
    return " & ".join(map(str, sizes)) or None


def _joined(drafts: list[Path]) -> pa.Table:
    """Put Anatomy's two tables together as rows: within a group any pairing says the same."""
    rows, values = (_read(draft) for draft in drafts)
    rows = rows.sort_by(GROUP)
    place = np.repeat(np.arange(len(values)), values.column(COUNT).to_numpy())
    values = values.take(pa.array(place)).sort_by(GROUP)
    for name in values.column_names:
        if name not in (GROUP, COUNT):
            rows = rows.append_column(name, values.column(name))
    return rows


def _read(path: Path) -> pa.Table:
    if format_of(path) == "parquet":
        return parquet.read_table(path)
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types={GROUP: pa.int64(), COUNT: pa.int64()}))


def audited(release: Release, candidate: Candidate, drafts: list[Path]) -> Audit:
    """Audit the written draft; refuse to publish where it fails or differs from what the maker measured."""
    roles, bucketized = release.table.roles, release.form == "bucketization"
    found = audit(
        drafts[0] if len(drafts) == 1 else _joined(drafts),
        roles.quasi,
        roles.sensitive if release.histograms is not None else (),
        original=release.table,
        group=GROUP if bucketized else None,
        require=_on_the_file(release, candidate.requirement),
        suppressed="keep",
        household=roles.household,
    )
    if found.failures:
        raise AssertionError(f"the audit of the written file failed: {found.failures[0]}")
    measured = measure(release).values
    for name, value in found.measures.items():
        if name in measured and not math.isclose(value, measured[name], rel_tol=AGREE, abs_tol=AGREE):
            raise AssertionError(
                f"{name} is {value!r} in the written file and {measured[name]!r} by the maker's measure"
            )
    return found
