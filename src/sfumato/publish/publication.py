"""Publishing: a point of a map becomes a file with its certificate, all or nothing.

The release is made anew from the point's settings, written to a draft, audited there by code that shares nothing with
the anonymizers, and only then everything gets its name: mapping and certificates first, data last. So there is never a
data file without the certificate that fits it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from sfumato.anonymizers import Mechanism, Mondrian, anonymizer, assigned
from sfumato.engines.formulas import check_escaping, formula_notice
from sfumato.errors import BadInputError
from sfumato.measures import measure
from sfumato.publish.audit.anatomy_tables import joined_tables
from sfumato.publish.audit.audit import Audit, audit
from sfumato.publish.audit.original import STUDY
from sfumato.publish.baskets.publication import BasketPublication, publish_basket_point
from sfumato.publish.cautions import cautions
from sfumato.publish.certificate import (
    Origin,
    certificate,
    certificate_files,
    internal,
    public_certificate,
    public_meanings,
)
from sfumato.publish.check_command import Columns
from sfumato.publish.file_alone import read_alone
from sfumato.publish.formulas import note_formulas, written_formulas
from sfumato.publish.mapping import mapping_of
from sfumato.publish.noisy.publication import NoisyPublication, check_noisy_request, publish_noisy
from sfumato.publish.page import write_certificates
from sfumato.quiet import Quiet
from sfumato.release import Form, Release, RowLayout, check_targets, format_of, staged
from sfumato.release.writing import GROUP, inputs_of, release_files, write_drafts
from sfumato.requirements import KAnonymity, Requirement, requirement
from sfumato.requirements.predicates import SIZE
from sfumato.table import Table
from sfumato.tradeoff import Candidate, Map, Point, read_map
from sfumato.tradeoff.exploration.folder import map_files
from sfumato.tradeoff.study.study import of_table
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

    notices: tuple[str, ...] = ()
    """What who opens the file should know, in sentences."""


def publish_point(
    folder: str | Path,
    id: str,
    to: str | Path,
    layout: RowLayout = "rows",
    force: bool = False,
    mapping: str | Path | None = None,
    escape_formulas: bool = False,
) -> Publication | NoisyPublication | BasketPublication:
    """Publish a point of the map in a folder; a noisy one is drawn afresh.

    `escape_formulas` writes cells that a spreadsheet would run as formulas with `'` in front.
    """
    folder, path = Path(folder), Path(to)
    check_escaping(escape_formulas, path, format_of(path))
    shown = read_map(folder)
    point, declared = shown[id], str(folder / STUDY)
    study = sha256(Path(declared).read_bytes()).hexdigest()
    if isinstance(shown.study, BasketStudy):
        origin = Origin(
            shown.study.baskets.source, str(shown.about.get("digest")), shown.study.name, study, id, declared
        )
        check_targets([path, *([] if mapping is None else [Path(mapping)])], force, map_files(folder))
        return publish_basket_point(
            shown, shown.study, point, folder, path, origin, layout, force, mapping, escape_formulas
        )
    candidate = candidate_of(point)
    format_of(path)
    wanted = [path, *certificate_files(path), *([] if mapping is None else [Path(mapping)])]
    check_targets(wanted, force, [*of_table(shown.study).table.files, *map_files(folder)])
    maker = candidate.anonymizer
    if isinstance(maker, Mechanism):
        check_noisy_request(maker, id, layout, mapping)
    table = opened(shown, folder)
    origin = Origin(table.engine.origin, str(shown.about.get("digest")), shown.study.name, study, id, declared)
    if isinstance(maker, Mechanism):
        return publish_noisy(maker, table, path, origin, point.measures, force, escape_formulas)
    release = assigned(maker.anonymize(table, candidate.requirement, candidate.form, candidate.suppress))
    map_ = Map(shown.study, (point,), shown.about)
    return publish(release, candidate, path, origin, map_, layout, force, mapping, escape_formulas)


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
    if table.engine.digest() != shown.about.get("digest"):
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
    escape_formulas: bool = False,
) -> Publication:
    """Write a release with its certificates and its mapping: these get their names first, the rows of data last."""
    data, certificates = release_files(release, path, layout), certificate_files(path)
    mappings = {} if mapping is None else {Path(mapping): mapping_of(release, candidate.requirement).to_text()}
    targets = [*data, *certificates, *mappings]
    check_targets(targets, force, inputs_of(release))
    with staged(targets, private=[*internal(certificates), *mappings]) as drafts:
        write_drafts(release, drafts[: len(data)], layout, format_of(path), escape_formulas)
        cells = written_formulas(drafts[: len(data)], escape_formulas)
        found = audited(release, candidate, drafts[: len(data)], escape_formulas)
        files = dict(zip((target.name for target in data), drafts, strict=False))
        meanings = shown.study.meanings(shown)
        own, outside = certificates_of(release, candidate, origin, path, files, found, meanings, escape_formulas)
        for certified in (own, outside):
            note_formulas(certified, cells, escape_formulas)
        ends = len(data) + len(certificates)
        write_certificates(own, outside, drafts[len(data) : ends])
        for draft, text in zip(drafts[ends:], mappings.values(), strict=True):
            draft.write_text(text, encoding="utf-8")
    return Publication(release, candidate, found, tuple(targets), tuple(formula_notice(cells, escape_formulas)))


def certificates_of(
    release: Release,
    candidate: Candidate,
    origin: Origin,
    path: Path,
    files: Mapping[str, Path],
    found: Audit,
    meanings: Sequence[tuple[str, str]],
    escape_formulas: bool = False,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Make the publisher's certificate and the public one, which comes first and sees nothing but the files."""
    columns, parts = columns_of(release), parts_on_the_file(release, candidate.requirement)
    maker = candidate.anonymizer
    target, stop = (maker.target, maker.stop) if isinstance(maker, Mondrian) else (None, None)
    warnings = cautions(release, candidate.requirement, target, stop, getattr(maker, "dealing", ""))
    source = source_of(list(files.values()), escape_formulas)
    alone = read_alone(source, columns, release.form, parts, delimiter_of(path), escape_formulas and len(files) == 1)
    public = public_meanings(candidate, release.table.missing, meanings)
    outside = public_certificate(candidate, columns, files, alone, warnings, public)
    asked = [str(part) for part in parts]
    own = certificate(outside, release, candidate, origin, path, asked, found, warnings, meanings)
    return own, outside


def columns_of(release: Release) -> Columns:
    """Return the columns of a released file; the order of sensitive values that were declared is not in it."""
    roles = release.table.roles
    sensitive = roles.sensitive if release.histograms is not None else ()
    ordered = tuple(name for name in sensitive if release.table.hierarchies[name].observed)
    return Columns(roles.quasi, sensitive, roles.neutral, roles.household, ordered)


def parts_on_the_file(release: Release, wanted: Requirement) -> tuple[Requirement, ...]:
    """Return what can be required of the file: without sensitive values, what is said of sizes."""
    if release.histograms is not None:
        return wanted.parts
    return tuple(KAnonymity(int(k)) for part in wanted.parts for kind, k, _ in part.rules() if kind == SIZE)


def source_of(drafts: Sequence[Path], escape_formulas: bool = False) -> Path | pa.Table:
    """Return what an audit reads: the file, or the rows that Anatomy's two tables stand for."""
    if len(drafts) == 1:
        return drafts[0]
    return joined_tables(drafts[0], drafts[1], GROUP, escaped_formulas=escape_formulas)


def delimiter_of(path: Path) -> str | None:
    """Return what separates the fields of a released file."""
    return "," if format_of(path) == "csv" else None


def audited(release: Release, candidate: Candidate, drafts: list[Path], escape_formulas: bool = False) -> Audit:
    """Audit the written draft; refuse to publish where it fails or differs from what the maker measured."""
    roles, bucketized = release.table.roles, release.form == "bucketization"
    found = audit(
        source_of(drafts, escape_formulas),
        roles.quasi,
        roles.sensitive if release.histograms is not None else (),
        original=release.table,
        group=GROUP if bucketized else None,
        require=" & ".join(map(str, parts_on_the_file(release, candidate.requirement))) or None,
        suppressed="keep",
        household=roles.household,
        delimiter=delimiter_of(drafts[0]),
        escaped_formulas=escape_formulas and len(drafts) == 1,
    )
    if found.failures:
        raise AssertionError(f"the audit of the written file failed: {found.failures[0]}")
    if found.coverage is None or not found.coverage.holds:
        raise AssertionError(f"the rows of the written file are not those of the table: {found.coverage}")
    measured = measure(release).values
    for name, value in found.measures.items():
        if name in measured and not math.isclose(value, measured[name], rel_tol=AGREE, abs_tol=AGREE):
            raise AssertionError(
                f"{name} is {value!r} in the written file and {measured[name]!r} by the maker's measure"
            )
    return found
