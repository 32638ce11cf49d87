"""Publishing: a point of a map becomes a file with its certificate, all or nothing.

The release is made anew from the point's settings, written to a draft, audited there by code that shares nothing with
the anonymizers, and only then everything gets its name: mapping and certificates first, data last. So there is never a
data file without the certificate that fits it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.anonymizers.dp.mechanism import Mechanism
from sfumato.anonymizers.external.external import Brought
from sfumato.anonymizers.perturbation.record_anonymizer import RecordMaker
from sfumato.auditing.question import STUDY
from sfumato.config.options import check_choice
from sfumato.data.declaration import ATTRIBUTES, BOTH, ITEMS
from sfumato.engines.formulas import check_escaping
from sfumato.errors import BadInputError
from sfumato.measures.groups import measure
from sfumato.measures.items.losses import ItemLosses
from sfumato.publish.board import Decision, board_file, recipient_named
from sfumato.publish.certificate import certificate_files
from sfumato.publish.publishable import Origin, Publication, Publishable, publish
from sfumato.release.records import RecordRelease
from sfumato.release.release import counts_people
from sfumato.release.writing import format_of
from sfumato.release.writing_items import MODES, laid_out
from sfumato.report.data_summary import basket_meanings, mixed_meanings
from sfumato.report.data_summary import meanings as meanings_of
from sfumato.requirements.items import KMAnonymity
from sfumato.runtime.cancellation import step
from sfumato.runtime.staging import check_targets
from sfumato.texts.catalogue import t
from sfumato.tradeoff.exploration.explore import made
from sfumato.tradeoff.exploration.folder import map_files, read_map
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.recipients import check_changed, check_published, check_shown, foreign_refusal
from sfumato.tradeoff.study.candidate import files_of
from sfumato.tradeoff.study.study import Study

How = Mapping[str, Any]
"""How a release is written: layout, legend, escaped formulas; and the files that it is made of."""


def publish_point(
    folder: str | Path,
    id: str,
    to: str | Path,
    layout: str = "rows",
    force: bool = False,
    mapping: str | Path | None = None,
    escape_formulas: bool = False,
    recipient: str | None = None,
    legend: str = "auto",
) -> Publication:
    """Publish a point of the map in a folder; a noisy one is drawn afresh.

    `escape_formulas` writes cells that a spreadsheet would run as formulas with `'` in front. Where a `recipient` is
    named (public, partner, internal), a point that is beyond its bounds is refused. Of baskets, `legend` says whether
    sets of items are named in a legend: `auto`, `always` or `never`.
    """
    folder, path = Path(folder), Path(to)
    check_escaping(escape_formulas, path, format_of(path))
    map_ = read_map(folder)
    point, declared = map_[id], str(folder / STUDY)
    check_published(point)
    decision = Decision(map_, point, recipient_named(recipient))
    decision.check()
    study = sha256(Path(declared).read_bytes()).hexdigest()
    origin = Origin("", str(map_.about.get("digest")), map_.study.name, study, id, declared)
    others = [board_file(path), *([] if mapping is None else [Path(mapping)])]
    step("read")
    check_choice("legend", legend, MODES)
    inputs = [*map_.study.data.files, *map(Path, files_of(point.candidate)), *map_files(folder)]
    check_targets([path, *certificate_files(path), *others], force, inputs)
    check_request(map_.study, point, layout, mapping, legend)
    how: dict[str, Any] = {"layout": layout, "escape_formulas": escape_formulas, "legend": legend, "inputs": inputs}
    return publish(prepared(map_, point, folder, path, origin, how), force, mapping, decision)


def check_request(study: Study, point: Point, layout: str, mapping: object, legend: str) -> None:
    """Raise where something is asked for that a release has not."""
    maker = point.candidate.anonymizer
    if study.parts == ITEMS:
        return
    kind = "items"
    if study.parts == BOTH:
        pass
    elif legend != "auto":
        raise BadInputError(t("release.no_legend"))
    else:
        kinds = {"noisy": Mechanism, "external": Brought, "records": RecordMaker}
        kind = next((name for name, own in kinds.items() if isinstance(maker, own)), "")
    places = {"id": point.id, "maker": maker.name, "layout": layout}
    if mapping is not None and kind in ("noisy", "external", "records"):
        raise BadInputError(t(f"release.no_mapping_{kind}", **places))
    if layout != "rows":
        raise BadInputError(t("release.no_layout", **places))


def check_unchanged(map_: Map, folder: Path, origin: str, digest: str) -> None:
    """Raise unless the data of a map are still those that were measured."""
    if digest != map_.about.get("digest"):
        raise BadInputError(t("release.changed", origin=origin, folder=folder, study=folder / "study.toml"))


def prepared(map_: Map, point: Point, folder: Path, path: Path, origin: Origin, how: How) -> Publishable:
    """Make the release of a point anew, ready to be published."""
    study, candidate, maker = map_.study, point.candidate, point.candidate.anonymizer
    items_alone = study.parts == ITEMS
    if items_alone:
        how = {**how, "layout": laid_out(how["layout"], format_of(path))}
    data = study.data.open()
    source = data.engine.origin if study.parts == ATTRIBUTES else data.origin
    check_unchanged(map_, folder, source, study.digest_of(data))
    origin = replace(origin, table=study.data.source if items_alone else source)
    if isinstance(maker, Brought):
        return external(point, maker, data, path, origin, how)
    step("make")
    if study.parts == ATTRIBUTES:
        meanings = meanings_of(Map(study, (point,), map_.about))
        return Publishable(made(point, data), candidate, path, origin, meanings, point.measures, **how)
    release = candidate.make(data)
    if not items_alone:
        check_shown(release.relational, point.id)
    scales = certified_scales(study.scales, candidate)
    meanings = basket_meanings(scales) if items_alone else mixed_meanings(scales)
    return Publishable(release, candidate, path, origin, meanings, declared=study.data, scales=scales, **how)


def external(
    point: Point, maker: Brought, table: Any, path: Path, origin: Origin, how: Mapping[str, Any]
) -> Publishable:
    """Bring what was made elsewhere to be published; raise where it may not be.

    Texts are copied as they are, in the columns that the study publishes and no others, and in an order that tells
    nothing: a file that was brought in the order of the table would say by it who is who.
    """
    release, rows = maker.published(table)
    if why := foreign_refusal(release.details["brought"]):
        raise BadInputError(f"point {point.id} {why}")
    if isinstance(release, RecordRelease):
        check_changed(release, f"point {point.id}")
    on_the_map = {} if maker.draws_at_random else dict(point.measures)  # those of another draw say nothing of this
    measures = on_the_map | (dict(measure(release).values) if counts_people(release) else {})
    return Publishable(release, point.candidate, path, origin, (), measures, rows=rows, **how)


def certified_scales(scales: Any, candidate: Any) -> Any:
    """Return the scales of a certificate: an attacker knows as many items as the promise speaks of."""
    wanted = candidate.requirement
    known = getattr(wanted, "m", scales.known)
    if hasattr(scales, "constraints"):
        known = known if isinstance(wanted, KMAnonymity) else scales.known
        return replace(scales, known=known, constraints=None, losses=ItemLosses())
    return replace(scales, known=known)
