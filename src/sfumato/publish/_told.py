"""What is told of a release that was written: values for a program, lines for a person.

After `release` it is what was published and re-checked; after `anonymize` also what was done and measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.anonymizers.dp.mechanism import Mechanism
from sfumato.anonymizers.perturbation.record_anonymizer import RecordMaker
from sfumato.publish._sections import guarantee_values, not_published, notices_of_records
from sfumato.publish._written_file import promised_by
from sfumato.publish.audit_report import neutral_line
from sfumato.publish.cautions import ALARMS, cautions_of, columns_left_out
from sfumato.publish.context import Drawn, drawn_from
from sfumato.release.records import RecordRelease, unchanged_values
from sfumato.requirements.requirement import KAnonymity
from sfumato.texts.catalogue import t
from sfumato.texts.format import counted, ended, listed, wrapped
from sfumato.tradeoff.study.candidate import Candidate

if TYPE_CHECKING:
    from sfumato.publish.publishable import Publishable

VERDICTS = {"holds": "Confirmed on the file", "fails": "It does not hold", "unchecked": "It could not be checked"}
"""What became of a claim."""


def published_values(own: Publishable, found: Any) -> Mapping[str, Any]:
    """Return what a program reads of a release that was published."""
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
    """Count the records, of baskets the items, that are not published."""
    if own.kind == "baskets":
        return len(own.release.unpublished)
    return int(own.release.data.records - own.release.records if own.kind == "items" else own.release.suppressed)


def published_lines(own: Publishable, found: Any) -> Sequence[str]:
    """Say to a person what was published, and what was re-checked."""
    if own.kind == "noisy":
        return drawn_lines(own.release, own.maker, own.path)
    if own.kind == "records":
        return record_lines(own.release, own.maker, own.path, audited=True)
    if own.kind == "external":
        return _external_lines(own)
    promised = promised_by(own, found)
    if own.kind == "table":
        return _table_lines(own, found, promised)
    items = counted(found.published_items, "published item")
    groups = f" in {counted(found.groups, 'group')}" if own.kind == "items" else ""
    return [
        f"Published {own.path}: {counted(found.records, 'record')}{groups} with {items}.",
        f"Re-checked on the written file: {promised}",
        f"  That is: {promised.rule_in_words()}.",
        *own.legend_lines(),
    ]


def _table_lines(own: Publishable, found: Any, promised: Any) -> list[str]:
    release = own.release
    rows, groups = counted(release.assignment.records, "record"), counted(release.groups, "group")
    counting = ", counting persons" if release.cells.persons is not None else ""
    first = [t("release.exact")] if release.is_exact and release.histograms is not None else []
    neutral = (
        []
        if found.with_neutral is None
        else [neutral_line(found.with_neutral[0], found.with_neutral[1], found.records)]
    )
    return [
        *first,
        f"Published {own.path}: {rows} in {groups}.",
        f"Re-checked on the written file{counting}: {promised}",
        *neutral,
        *own.end_lines(),
    ]


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
    """Return what a program reads of records in place of records."""
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
    """Say what was written and what is promised of it; `audited` says whether the written file was asked."""
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
    """Return what a program reads of a noisy release."""
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
    """Say what was written of a noisy release and what it promises."""
    values = drawn_values(release, maker)
    rows = counted(values["records_written"], "synthetic record")
    lines = [f"Wrote {path}: {rows}, drawn from {values['drawn_from']}."]
    lines += promise_lines(values["guarantee"], maker)
    lines += [f"WARNING: {each['text']}" for each in values["warnings"] if each["about"] in ALARMS]
    for warning in values["warnings"]:
        if warning["found"] and warning["about"] != "other columns":
            lines.append(f"WARNING: {warning['text']} Found here (for your eyes only): {warning['found']}.")
    if values["left_out"]:
        lines.append(ended(f"Not in the file, for nothing is published as it is: {', '.join(values['left_out'])}"))
    return [*lines, t("release.one_draw")]


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
