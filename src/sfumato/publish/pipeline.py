"""Publishing a point of a map as a file with its certificate, all or nothing.

The release is made again from the point's settings and written to a draft. The draft is audited by code that shares
nothing with the anonymizers. Only then the files are renamed: mapping and certificates first, data last. So no data
file exists without its certificate.

Also the output of a publication, as values for programs and lines for people: after `release` the promise and the
audit, after `anonymize` also changes and measures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.anonymizers.dp.mechanism import Mechanism
from sfumato.anonymizers.external.external import ExternalRelease
from sfumato.anonymizers.perturbation.record_anonymizer import RecordMaker
from sfumato.auditing.question import STUDY
from sfumato.config.options import check_choice
from sfumato.data.dataset import MixedTable
from sfumato.data.declaration import ATTRIBUTES, BOTH, ITEMS, DataDeclaration, TableDeclaration
from sfumato.data.items import Baskets
from sfumato.data.reading import Table
from sfumato.engines._text_files import check_escaping
from sfumato.errors import BadInputError
from sfumato.measures.groups import measure
from sfumato.measures.items.losses import ItemLosses
from sfumato.measures.items.queries import fitting_queries
from sfumato.measures.scales import BasketScales, MixedScales, protected_risk
from sfumato.publish._written_file import promised_by
from sfumato.publish.audit_report import neutral_line
from sfumato.publish.board import Decision, board_file, recipient_named
from sfumato.publish.cautions import ALARMS, cautions_of, columns_left_out
from sfumato.publish.certificate import certificate_files, guarantee_values, not_published, notices_of_records
from sfumato.publish.certificate_facts import Drawn, drawn_from
from sfumato.publish.publication import (
    Clock,
    Origin,
    Publication,
    Publishable,
    Single,
    Target,
    basket_layout,
    left_out_lines,
    publish,
    written,
)
from sfumato.release.records import RecordRelease, unchanged_values
from sfumato.release.release import counts_people
from sfumato.release.writing import format_of, inputs_of
from sfumato.release.writing_items import MODES, laid_out
from sfumato.report.data_summary import basket_meanings, mixed_meanings
from sfumato.report.data_summary import meanings as meanings_of
from sfumato.report.measure_sentences import ARROWS, Subject, changes_sentence, measure_lines, sentences
from sfumato.requirements.items import KMAnonymity, known_in_words
from sfumato.requirements.requirement import KAnonymity
from sfumato.runtime.cancellation import step
from sfumato.runtime.staging import check_targets
from sfumato.texts.catalogue import counted, ended, listed, refusal, t, wrapped
from sfumato.tradeoff.exploration.details import item_changes
from sfumato.tradeoff.exploration.explore import made
from sfumato.tradeoff.exploration.folder import map_files, read_map
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.recipients import check_changed, check_published, check_shown, foreign_refusal
from sfumato.tradeoff.study.candidate import Candidate, files_of
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.study import Study

How = Mapping[str, Any]
"""How a release is written: layout, legend, escaped formulas; and its input files."""


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
    """Publish a point of the map in a folder; a noisy one is drawn again.

    `escape_formulas` writes a leading `'` in cells that a spreadsheet would run as formulas. With a `recipient`
    (public, partner, internal), a point beyond its bounds is refused. For baskets, `legend` determines whether sets of
    items are named in a legend: `auto`, `always` or `never`.
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
    """Raise if an option does not apply to the release."""
    maker = point.candidate.anonymizer
    if study.parts == ITEMS:
        return
    kind = "items"
    if study.parts == BOTH:
        pass
    elif legend != "auto":
        raise refusal("release.no_legend")
    else:
        kinds = {"noisy": Mechanism, "external": ExternalRelease, "records": RecordMaker}
        kind = next((name for name, own in kinds.items() if isinstance(maker, own)), "")
    places = {"id": point.id, "maker": maker.name, "layout": layout}
    if mapping is not None and kind in ("noisy", "external", "records"):
        raise BadInputError(t(f"release.no_mapping_{kind}", **places))
    if layout != "rows":
        raise refusal("release.no_layout", **places)


def check_unchanged(map_: Map, folder: Path, origin: str, digest: str) -> None:
    """Raise unless the data of a map are unchanged."""
    if digest != map_.about.get("digest"):
        raise refusal("release.changed", origin=origin, folder=folder, study=folder / "study.toml")


def prepared(map_: Map, point: Point, folder: Path, path: Path, origin: Origin, how: How) -> Publishable:
    """Make the release of a point again, ready to be published."""
    study, candidate, maker = map_.study, point.candidate, point.candidate.anonymizer
    items_alone = study.parts == ITEMS
    if items_alone:
        how = {**how, "layout": laid_out(how["layout"], format_of(path))}
    data = study.data.open()
    source = data.engine.origin if study.parts == ATTRIBUTES else data.origin
    check_unchanged(map_, folder, source, study.digest_of(data))
    origin = replace(origin, table=study.data.source if items_alone else source)
    if isinstance(maker, ExternalRelease):
        return external(point, maker, data, path, origin, how)
    step("make")
    if study.parts == ATTRIBUTES:
        meanings = meanings_of(Map(study, (point,), map_.about))
        return Publishable(made(point, data), candidate, path, origin, meanings, point.measures, **how)
    release = candidate.make(data)
    if not items_alone:
        check_shown(release.relational, point.id)
    scales = certified_scales(study.scales, candidate)
    meanings = basket_meanings(scales, map_.study.unit) if items_alone else mixed_meanings(scales)
    return Publishable(release, candidate, path, origin, meanings, declared=study.data, scales=scales, **how)


def external(
    point: Point, maker: ExternalRelease, table: Any, path: Path, origin: Origin, how: Mapping[str, Any]
) -> Publishable:
    """Prepare an external release for publication; raise if it may not be published.

    Texts are copied unchanged, only in the published columns of the study, and in random order: the order of the table
    would identify the records.
    """
    release, rows = maker.published(table)
    if why := foreign_refusal(release.details["brought"]):
        raise BadInputError(f"point {point.id} {why}")
    if isinstance(release, RecordRelease):
        check_changed(release, f"point {point.id}")
    on_the_map = {} if maker.draws_at_random else dict(point.measures)  # another draw has other measures
    measures = on_the_map | (dict(measure(release).values) if counts_people(release) else {})
    return Publishable(release, point.candidate, path, origin, (), measures, rows=rows, **how)


def certified_scales(scales: Any, candidate: Any) -> Any:
    """Return the scales of a certificate: the attacker knows as many items as the promise covers."""
    wanted = candidate.requirement
    known = getattr(wanted, "m", scales.known)
    if hasattr(scales, "constraints"):
        known = known if isinstance(wanted, KMAnonymity) else scales.known
        return replace(scales, known=known, constraints=None, losses=ItemLosses())
    return replace(scales, known=known)


VERDICTS = {"holds": "Confirmed on the file", "fails": "It does not hold", "unchecked": "It could not be checked"}
"""The verdict on a claim."""


def published_values(own: Publishable, found: Any) -> Mapping[str, Any]:
    """Return the values of the JSON output of a published release."""
    release, candidate, maker = own.release, own.candidate, own.maker
    if own.kind == "noisy":
        return drawn_values(release, maker)
    if own.kind == "records":
        return record_values(release, maker) | {"measures": dict(own.measures)}
    if own.kind == "external":
        findings = release.details["brought"]
        return {
            "anonymizer": str(maker),
            "rows": own.shown.rows,
            "claimed": maker.claimed,
            "verdict": findings.get("verdict"),
            "why": findings.get("why"),
            "truthful": findings["truthful"],
            "cautions": list(findings["cautions"]),
            "measures": {} if found is None else dict(found.measures),
        }
    values = {
        "requirement": str(candidate.requirement),
        "promise": str(promised_by(own, found)),
        "anonymizer": str(maker),
        "suppressed": suppressed_of(own),
        "measures": dict(found.measures),
    }
    if own.kind == "table":
        return values | {"form": candidate.form}
    if own.kind == "items":
        values |= {"items_with": str(candidate.item_anonymizer), "merging": str(candidate.merging)}
        values |= {"sets": candidate.sets, "groups": found.groups}
    legend = str(own.files[1]) if own.names.legend else None
    return values | {"published_items": found.published_items, "legend": legend}


def suppressed_of(own: Publishable) -> int:
    """Count the suppressed records; for baskets the suppressed items."""
    if own.kind == "baskets":
        return len(own.release.unpublished)
    return int(own.release.data.records - own.release.records if own.kind == "items" else own.release.suppressed)


def published_lines(own: Publishable, found: Any) -> Sequence[str]:
    """Return the printed lines about the publication and its audit."""
    if own.kind == "noisy":
        return drawn_lines(own.release, own.maker, own.path)
    if own.kind == "records":
        return record_lines(own.release, own.maker, own.path, audited=True)
    if own.kind == "external":
        return _external_lines(own)
    promised, release, table = promised_by(own, found), own.release, own.kind == "table"
    groups = f" in {counted(found.groups, 'group')}" if found.quasi else ""
    items = f" with {counted(found.published_items, 'published item')}" if found.has_items else ""
    counting = ", counting persons" if table and release.cells.persons is not None else ""
    lines = [
        *([t("release.exact")] if table and release.is_exact and release.histograms is not None else []),
        f"Published {own.path}: {counted(found.records, 'record')}{groups}{items}.",
        f"Re-checked on the written file{counting}: {promised}",
    ]
    if not table:
        return [*lines, f"  That is: {promised.rule_in_words()}.", *own.legend_lines()]
    neutral: tuple[int, int] | None = found.with_neutral
    return [*lines, *([] if neutral is None else [neutral_line(*neutral, found.records)]), *own.end_lines()]


def _external_lines(own: Publishable) -> list[str]:
    maker, findings = own.maker, own.release.details["brought"]
    lines = [f"Published {own.path}: {counted(own.shown.rows, 'row')} of {maker.made_of}.", t("caution.origin")]
    if maker.claimed:
        lines.append(f"Claimed: {maker.claimed}. {VERDICTS[findings['verdict']]}: {findings['why']}")
    lines += [f"WARNING: {text}" for text in findings["cautions"]]
    left_out = not_published(maker, findings)
    return [*lines, ended(f"Left out of the file: {listed(left_out)}")] if left_out else lines


def _warnings(release: Drawn, maker: Any) -> list[dict[str, str]]:
    return [
        {"about": each.about, "text": each.text, "found": each.count}
        for each in cautions_of(release, Candidate(maker, KAnonymity(1)))
    ]


def record_values(release: RecordRelease, maker: RecordMaker) -> dict[str, Any]:
    """Return the values of the JSON output of perturbed or synthetic records."""
    return {
        "table": release.table.engine.origin,
        "anonymizer": str(maker),
        "promised": " & ".join(map(str, maker.promises)) or None,
        "records_written": release.records,
        "synthetic": not release.people,
        "unchanged_values": unchanged_values(release),
        "warnings": _warnings(release, maker),
        "left_out": columns_left_out(release.table),
    }


def record_lines(release: RecordRelease, maker: RecordMaker, path: Path, audited: bool) -> list[str]:
    """Return lines about the file and its promise; `audited` is whether the written file was audited."""
    kind = "record" if release.people else "synthetic record"
    parts = maker.promises
    rules = "; ".join(part.rule_in_words("group") for part in parts)
    checked = "re-checked on the written file" if audited else "checked before it was written"
    promise = f"Promised and {checked}: {rules}." if parts else "Nothing is promised of it by proof."
    lines = [f"Wrote {path}: {counted(release.records, kind)}, made by {maker.in_words()}.", promise]
    lines += map(wrapped, maker.account(release))
    for caution in cautions_of(release, Candidate(maker, KAnonymity(1))):
        if caution.count or caution.about == "how it was made":
            remark = f" Found here (for your eyes only): {caution.count}." if caution.count else ""
            lines.append(wrapped(f"WARNING: {caution.text}{remark}").lstrip())
    return lines


def drawn_values(release: Drawn, maker: Mechanism) -> dict[str, Any]:
    """Return the values of the JSON output of a noisy release."""
    assert release.guarantee is not None
    return {
        "table": release.table.engine.origin,
        "anonymizer": str(maker),
        **drawn_from(release),
        "records_written": release.rows_written,
        "epsilon": maker.epsilon,
        "guarantee": guarantee_values(release.guarantee),
        "warnings": _warnings(release, maker),
        "left_out": columns_left_out(release.table),
        "notices": notices_of_records(release.table),
    }


def drawn_lines(release: Drawn, maker: Mechanism, path: Path) -> list[str]:
    """Return lines about the file of a noisy release and its promise."""
    values = drawn_values(release, maker)
    rows = counted(values["records_written"], "synthetic record")
    lines = [f"Wrote {path}: {rows}, drawn from {values['drawn_from']}."]
    lines += promise_lines(values["guarantee"], maker)
    lines += [f"WARNING: {each['text']}" for each in values["warnings"] if each["about"] in ALARMS]
    for warning in values["warnings"]:
        if warning["found"] and warning["about"] != "other columns":
            lines.append(f"WARNING: {warning['text']} Found here (for your eyes only): {warning['found']}.")
    if values["left_out"]:
        lines.append(ended(f"Not in the file, because nothing is published unchanged: {', '.join(values['left_out'])}"))
    return [*lines, t("release.one_draw")]


def promise_lines(promise: Mapping[str, Any], maker: Mechanism) -> list[str]:
    """Return lines about the guarantee, and how epsilon was spent."""
    first = " (0 is the whole domain)" if maker.stage == "level" else ""
    levels = ", ".join(f"{level}: {amount:.3g}" for level, amount in promise["by_level"].items())
    purposes = ", ".join(f"{what} {amount:.3g}" for what, amount in promise["by_purpose"].items())
    delta = f" and delta {promise['delta']:g}" if "delta" in promise else ""
    places = {"delta": delta, "stage": f"{maker.stage}{first}", "levels": levels, "purposes": purposes}
    told = t("release.noisy_promise", promise=promise, **places).split("\n")
    return [*told, *(f"  {sentence}" for sentence in promise["public"]), ""]


# -- one release in one line -------------------------------------------------------------------------------------------


def single_records(table: Table, candidate: Candidate, origin: Origin, target: Target, clock: Clock) -> Single:
    """Make perturbed, synthetic or noisy records from a table, and write them."""
    maker, path, wanted = candidate.anonymizer, target.path, candidate.requirement
    if isinstance(maker, Mechanism):
        maker.check(table, wanted, candidate.form, 0.0)
        drawn = maker.draw(table)
        clock.end("draw")
        own = Publishable(drawn, candidate, path, origin, **target.how)
        values = drawn_values(drawn, maker)
        return written(own, target, clock, values, drawn_lines(drawn, maker, path), values["notices"])
    release = candidate.make(table)
    check_changed(release, str(maker))
    clock.end("anonymize")
    own = Publishable(release, candidate, path, origin, **target.how)
    lines = record_lines(release, maker, path, target.certificate)  # type: ignore[arg-type]
    return written(own, target, clock, record_values(release, maker), lines, table.notices)  # type: ignore[arg-type]


def publish_release(release: Any, path: Path, force: bool, escape_formulas: bool) -> Publication:
    """Publish a release of `anonymize` or `draw` in Python."""
    if not release.made:
        raise refusal("release.unknown_maker")
    check_escaping(escape_formulas, path, format_of(path))
    candidate, table, roles = Candidate(*release.made), release.table, release.table.roles
    persons = {"person": roles.person, "one_record_per_person": roles.unit == "one each"}
    declared = TableDeclaration("table", quasi=roles.quasi, **persons)
    meanings = meanings_alone(table, candidate, declared) if release.kind == "table" else ()
    how: dict[str, Any] = {"escape_formulas": escape_formulas, "inputs": inputs_of(release)}
    origin = Origin(table.engine.origin, table.digest(()))
    return publish(Publishable(release, candidate, path, origin, meanings, **how), force)


def meanings_alone(table: Table, candidate: Candidate, declared: TableDeclaration) -> list[tuple[str, str]]:
    """Return the meanings as on a map of this one release."""
    grid = Grid((candidate.anonymizer,), (candidate.requirement,), (candidate.form,), (candidate.suppress,))
    study = Study("anonymize", DataDeclaration(declared), (grid,), axes=("k", "loss"))
    about = {"weights": dict(table.roles.weights), "dropped": table.dropped}
    return meanings_of(Map(study, (candidate.point(),), about))


def single_items(
    data: Baskets | MixedTable, candidate: Candidate, declared: DataDeclaration, target: Target, clock: Clock
) -> Single:
    """Make a release of baskets, or of a table with items, measure it and write it."""
    candidate.check(data)
    release, wanted, maker = candidate.make(data), candidate.requirement, candidate.anonymizer
    clock.end("anonymize")
    scales, beside = _usual_scales(data, wanted), isinstance(data, MixedTable)
    measured = scales.prepare(data).measure(release)
    clock.end("measure")
    origin = Origin(data.origin if beside else declared.source, data.digest, study_file=target.study)
    certified = certified_scales(scales, candidate)
    how = target.how | {"declared": declared, "scales": certified}
    how |= {} if beside else {"layout": basket_layout(target)}
    unit: Any = "records" if release.persons is None else "persons"
    meanings = mixed_meanings(certified) if beside else basket_meanings(certified, unit)
    own = Publishable(release, candidate, target.path, origin, meanings, **how)
    shown, records, suppressed = dict(measured.by_sensitive), release.baskets.size, 0
    measures = dict(measured.values) if beside else protected_risk(release, wanted) | dict(measured.values)
    values: dict[str, Any] = {"table" if beside else "baskets": data.origin, "records": records}
    values |= {"anonymizer": str(maker), "requirement": str(wanted), "changes": item_changes(release)}
    rows, items = counted(release.baskets.size, "record"), len(release.baskets.items)
    wrote = f"{rows}, {counted(items, 'item')} published as {len(release.labels):,}, by {maker.in_words()}"
    left_out: list[str] = []
    if isinstance(data, MixedTable):
        shown.pop(data.column, None)
        records, groups, suppressed = data.records, release.relational.groups, data.records - release.records
        left_out = left_out_lines(suppressed, data.table.dropped)
        rows = f"{counted(release.records, 'record')} in {counted(groups, 'group')}"
        wrote = f"{rows}, with the published form of {items:,} items"
        values |= {"records": records, "dropped": data.table.dropped, "items": data.column, "groups": groups}
        values |= {"items_with": str(candidate.item_anonymizer), "merging": str(candidate.merging)}
        values |= {"sets": candidate.sets}
    promised = wanted.strengthen(measures, shown) if beside else wanted.strengthen(measures)
    values |= {"promise": str(promised), "published_items": len(own.names.texts) if beside else len(release.labels)}
    values |= {"suppressed": suppressed if beside else len(release.unpublished), "measures": measures}
    about = f"{'the quasi-identifiers and ' * beside}{known_in_words(scales.known)} of"
    sensitive, below = tuple(measured.by_sensitive), scales.linking.below
    subject = Subject(sensitive, records=records, known=about, below=below, unit=unit)
    done = changes_sentence(item_changes(release), suppressed, records)
    lines = [
        f"Wrote {target.path}: {wrote}.",
        f"In it {promised.rule_in_words()}.",
        *left_out,
        *own.legend_lines(),
        wrapped(f"What was done: {done}").lstrip(),
        "",
        f"Measured {ARROWS}:",
        *measure_lines(measures, sentences(measures, subject, measured.by_sensitive)),
    ]
    return written(own, target, clock, values, lines, data.notices)


def _usual_scales(data: Baskets | MixedTable, wanted: Any) -> Any:
    """Return the scales of a release without a study: the attacker knows as many items as the promise covers."""
    if isinstance(data, MixedTable):
        return MixedScales(known=wanted.m, item_queries=fitting_queries(data.baskets))
    known = wanted.m if isinstance(wanted, KMAnonymity) else BasketScales().known
    return BasketScales(known=known, queries=fitting_queries(data))
