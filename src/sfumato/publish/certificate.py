"""Certificates: what was promised, how, on which input, and what it does not protect against; for two readers.

One builder for everything that can be published: each part of a release contributes sections. The requirement says its
promise, the maker its procedure, the release its counts, the file what was measured on it. The public certificate is
made first, of a `PublicContext`, which holds settings and what the file shows by itself and nothing else. The
publisher's own is the same with a part `for_your_eyes`, which may read the release; nothing of it is safe to share.
"""

import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

from sfumato.auditing.ledger import file_digest
from sfumato.config.documents import fields, in_shape, json_text, listed, number, one_of, plain, read_json, text
from sfumato.data.reading import Table, Unit
from sfumato.engines._text_files import formula_notice
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES
from sfumato.publish import _written_file as written_file
from sfumato.publish.board import Decision, board_page
from sfumato.publish.cautions import Caution, cautions, columns_left_out, found_first, public_cautions
from sfumato.publish.certificate_facts import InternalContext, PublicContext
from sfumato.publish.plain_language import in_plain_words, promise_in_words
from sfumato.publish.publication import Publishable
from sfumato.publish.publication import certificate_files as certificate_files
from sfumato.release.changes import column_changes
from sfumato.release.content import Guarantee
from sfumato.release.release import Release
from sfumato.report.data_summary import unit_meaning
from sfumato.report.measure_sentences import changes_sentence
from sfumato.requirements.requirement import requirement
from sfumato.runtime.staging import parts_of
from sfumato.texts.catalogue import percent, t
from sfumato.texts.html import render
from sfumato.tradeoff.exploration.details import item_changes

LIBRARIES = ("sfumato", "numpy", "numba", "duckdb", "pyarrow")
SIZES = ("k", "smallest_group", "prosecutor", "marketer", "average_group", "weighted_k")
"""What can be said of rows that look alike, though their values are not those that were recorded."""

PUBLIC_MEANINGS = (
    *(unit_meaning(unit)[0] for unit in get_args(Unit)),
    "Groups",
    "Bucketization does not hide who is in the table",
    "Weights",
    "Published items",
    "What an attacker knows",
)
"""Meanings of a map that depend on nothing but the settings, and are needed to read a certificate."""

SAID_OTHERWISE = ("columns without a role", "neutral column", "identifier")
"""Notices of a table that speak of groups or of columns kept as they are; of noisy releases the cautions do."""


@dataclass(frozen=True)
class Section:
    """What one part of a release contributes to a certificate: plain values alone."""

    id: str
    content: Any


# -- for everybody -----------------------------------------------------------------------------------------------------


def _files(context: PublicContext) -> Iterator[Section]:
    """Say which files it speaks of, by their final names."""
    yield Section("kind", "sfumato certificate")
    yield Section("for", "the public")
    yield Section("made", datetime.now(UTC).date().isoformat())
    yield Section(
        "files",
        [
            {"name": name, "sha256": file_digest(path), "bytes": sum(part.stat().st_size for part in parts_of(path))}
            for name, path in context.files.items()
        ],
    )
    yield Section("rows", context.rows)


def _promise(context: PublicContext) -> Iterator[Section]:
    """Say what is promised, and who can check it."""
    content = context.shown.content
    by_content = {"noisy": _noisy_promise, "external": _claim, "records": _promise_of_records}
    yield Section("promise", by_content.get(content, _requirement)(context))


def _requirement(context: PublicContext) -> dict[str, Any]:
    """Say what a requirement promises of groups, of sets of items, or of both."""
    candidate, promised, columns = context.candidate, context.promised, context.columns
    group = "bucket" if context.bucketized else "group"
    named = () if context.shown.items else (group,)
    content: dict[str, Any] = {
        "requirement": str(promised),
        "parts": [
            _part(part, context.is_confirmed(part), _checked(context, part), named, columns.unit == "persons")
            for part in promised.parts
        ],
        "checked_on_the_file": True,
    }
    if context.shown.attributes:
        content |= {"form": candidate.form, "suppress_at_most": candidate.suppress}
    if context.shown.items:
        utility = candidate.utility
        content |= {"utility": None if utility is None else str(utility), "limit": str(candidate.limit)}
        content |= {"sets": candidate.sets} if context.shown.attributes else {}
        return content
    unit = columns.unit
    content["counted"] = {"unit": unit, "in_words": t(f"certificate.counted_{unit.replace(' ', '_')}")}
    if columns.household is not None:
        alone = t("certificate.left_alone") if candidate.suppress else ""
        content["households"] = {"in_words": t("certificate.households", alone=alone)}
    return content


def _part(
    part: Any, confirmed: bool, checked: str, group: Sequence[str] = ("group",), persons: bool = False
) -> dict[str, Any]:
    """Say what a part promises, and who can check it."""
    return {
        "requirement": str(part),
        "in_words": part.words_of_persons() if persons else part.rule_in_words(*group),
        "confirmed_by_the_file": confirmed,
        "checked": t(f"certificate.{checked}"),
    }


def _checked(context: PublicContext, part: Any) -> str:
    """Name the text that says who checked a part."""
    if context.is_confirmed(part):
        return "confirmed" if context.baskets else "alone"
    shown = context.columns.sensitive or context.shown.items or not part.about_sensitive
    return "rests" if shown else "not_shown"


def _noisy_promise(context: PublicContext) -> dict[str, Any]:
    assert context.shown.guarantee is not None
    return {
        "differential_privacy": guarantee_values(context.shown.guarantee),
        "selection": t(f"certificate.selection{'' if context.on_a_map else '_alone'}"),
        "checked_on_the_file": False,
        "why_not_checked": t("certificate.not_audited"),
    }


def guarantee_values(guarantee: Guarantee) -> dict[str, Any]:
    """Write a guarantee as plain values; its parts together do not exceed its budget."""
    budget = guarantee.budget
    delta: dict[str, Any] = {"delta": budget.delta, "rho": budget.amount} if budget.delta else {}
    if budget.contribution:
        delta["contribution"] = budget.contribution
    return {
        "epsilon": budget.epsilon,
        **delta,
        "in_words": promise_in_words(budget.epsilon, budget.delta, "persons" if budget.contribution else "records"),
        "kept_in": budget.unit,
        "by_level": {str(level): spent for level, spent in guarantee.by_level.items()},
        "by_purpose": guarantee.by_purpose,
        "parts": [{"what": part.what, "level": part.level, budget.unit: part.amount} for part in guarantee.spent],
        "neighbours": guarantee.neighbours,
        "public": list(guarantee.public),
    }


def _promise_of_records(context: PublicContext) -> dict[str, Any]:
    parts = context.maker.promises
    return {
        "requirement": " & ".join(map(str, parts)) or "nothing",
        "parts": [_part(part, True, "alone") for part in parts],
        "form": "changed records" if context.shown.people else "synthetic records",
        "suppress_at_most": 0,
        "checked_on_the_file": bool(parts),
        **({} if parts else {"why_not_checked": t("certificate.unproved")}),
    }


def _claim(context: PublicContext) -> dict[str, Any]:
    """Say what is claimed for a file that was made elsewhere, and whether the file confirms it."""
    maker, confirmed = context.maker, context.confirmed
    parts = () if maker.claim is None else requirement(maker.claim).parts
    group = ("bucket" if context.bucketized else "group",)
    why = "no_proof" if maker.epsilon is not None else "nothing_claimed" if maker.claim is None else ""
    why = why or ("" if maker.people else "nobody")
    reason = t(f"certificate.{why}") if why else ""
    if not reason and len(confirmed) < len(parts):
        reason = t("certificate.not_alone").capitalize() + "."
    return {
        "claimed": maker.claimed,
        "made_by": maker.label or "",
        "records": "people" if maker.people else "nobody",
        "parts": [
            _part(part, known := str(part) in confirmed, "alone" if known else "not_alone", group) for part in parts
        ],
        "checked_on_the_file": bool(confirmed),
        "why_not_checked": reason,
    }


def _columns(context: PublicContext) -> Iterator[Section]:
    """Name the columns by their roles, and how each is shown."""
    columns, alone = context.columns, context.alone
    if context.baskets:
        return
    roles: dict[str, Any] = {"quasi": list(columns.quasi), "sensitive": list(columns.sensitive)}
    roles |= {"neutral": list(columns.neutral)} if columns.items is None else {"items": columns.items}
    yield Section("columns", roles | ({"weights": dict(columns.weights)} if columns.weights else {}))
    if context.is_external or (context.in_groups and not context.shown.items):
        yield Section("shown", {} if alone is None else dict(alone.shown))
    if context.in_groups and getattr(alone, "with_neutral", None) is not None:
        yield Section("including_neutral", dict(zip(("k", "alone"), alone.with_neutral, strict=True)))


def _items(context: PublicContext) -> Iterator[Section]:
    """Count published items, and name the legend."""
    if not context.shown.items:
        return
    found = {"published_items": context.alone.published_items, "empty": context.alone.empty}
    if context.baskets:
        yield Section("baskets", found | {"layout": context.layout})
    else:
        yield Section(
            "items", found | {"groups": context.alone.groups, "sets_list_items_of_groups": context.lists_items}
        )
    if legends := list(context.files)[1:]:
        yield Section("legend", {"file": legends[0], "entries": context.entries})


def _measured(context: PublicContext) -> Iterator[Section]:
    """Say what was measured on the file alone."""
    content, alone = context.shown.content, context.alone
    if content == "noisy":
        return
    measures = {} if alone is None else dict(alone.measures)
    if content == "records":
        promised = context.maker.promises
        yield Section("measures", {name: value for name, value in measures.items() if promised and name in SIZES})
        return
    if context.shown.items:
        measures = {name: value for name, value in measures.items() if name in MEASURES}
    yield Section("relative_to", "the file")
    yield Section("measures", measures)
    yield Section("meaning", meaning_of(measures))
    if content == "groups" and not context.shown.items:
        yield Section("by_sensitive", {name: dict(values) for name, values in alone.by_sensitive.items()})
        yield Section("baselines", {name: {"file": dict(shares)} for name, shares in alone.shares.items()})


def meaning_of(measures: Mapping[str, float]) -> dict[str, str]:
    """Say what measures are."""
    return {name: MEASURES[name].meaning for name in measures if name in MEASURES}


def _maker(context: PublicContext) -> Iterator[Section]:
    """Name the maker as everybody may know it, and how it works."""
    content, maker, shown = context.shown.content, context.maker, context.shown
    beside = f" with {public_maker(context.candidate.item_anonymizer)}" if shown.items and shown.attributes else ""
    yield Section("anonymizer", maker.described_in_words if content == "external" else public_maker(maker) + beside)
    if content == "external":
        yield Section("form", context.candidate.form)
    if content == "records":
        yield Section("in_words", maker.in_words())
    if content == "noisy":
        yield from (Section(name, value) for name, value in shown.drawn.items())
        yield Section("mechanism", {"procedure": maker.procedure, "noise": maker.noise_in_words})


def public_maker(maker: Any) -> str:
    """Name who made a release as everybody may know it, and without what a search found by looking at all records."""
    return str(maker.name) if getattr(maker, "is_found", False) else str(maker.public)


def _foot(context: PublicContext) -> Iterator[Section]:
    """Say what words mean, what is not protected, and how the file is checked again."""
    libraries = (*LIBRARIES, *(["opendp"] if context.is_noisy else []))
    versions = {"python": platform.python_version()} | {library: version(library) for library in libraries}
    yield Section("versions", versions)
    yield Section("meanings", named_texts(public_meanings(context)))
    yield Section("warnings", [{"about": own.about, "text": own.text} for own in public_cautions(context)])
    yield Section("verify_in", f"the folder that holds {next(iter(context.files))}")
    yield Section("verify", written_file.public_check(context))


def named_texts(meanings: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Write meanings as plain values."""
    return [{"name": name, "text": text} for name, text in meanings]


def public_meanings(context: PublicContext) -> list[tuple[str, str]]:
    """Say what words mean by the settings alone, and pick from the meanings of a map what depends on nothing else."""
    maker, drops, noisy = context.maker, context.missing == "drop", context.is_noisy
    removed = ["missing_dropped"] if drops else []
    if context.is_external:
        return _meanings("persons", "buckets" if context.bucketized else "groups", "confirmed")
    if context.is_records:
        return _meanings("records", "changed" if context.shown.people else "synthetic", *removed)
    if noisy:
        missing = f"missing_noisy_{'dropped' if drops else 'value'}"
        stage = [(maker.stage.capitalize(), maker.stages)]
        delta, of = ["delta", "rho"] if maker.budget.delta else [], "_persons" if maker.counts_persons else ""
        return [*_meanings(f"epsilon{of}", *delta), *stage, *_meanings(f"neighbours{of}", missing)]
    known = dict(context.meanings)
    first = [(name, known[name]) for name in PUBLIC_MEANINGS if name in known]
    if context.shown.items:
        return [*first, *_meanings(*removed)] if context.shown.attributes else first
    suppressed = f"suppressed{'' if context.candidate.suppress else '_none'}"
    missing = f"missing_{'dropped' if drops else 'value'}"
    return [*first, *_meanings("known", missing, suppressed, share=percent(context.candidate.suppress, 3))]


def _meanings(*names: str, **places: str) -> list[tuple[str, str]]:
    """Look up the name and the text of every meaning."""
    parted = (t(f"word.{name}", **places).split(" | ", 1) for name in names)
    return [(name, text) for name, text in parted]


PUBLIC = (_files, _promise, _columns, _items, _measured, _maker, _foot)


# -- for the publisher -------------------------------------------------------------------------------------------------


def for_publisher(outside: Mapping[str, Any], inside: InternalContext) -> dict[str, Any]:
    """Write what a public certificate says otherwise to the publisher: all settings, and what was found."""
    content, candidate = inside.public.shown.content, inside.candidate
    found = cautions(inside)
    found = found if content in ("noisy", "external") else found_first(found)
    warnings = [_warning(caution) for caution in found]
    if content == "external":
        warnings += [{"about": "measures", "text": text} for text in inside.release.details["brought"]["cautions"]]
    changed: dict[str, Any] = {
        "for": "the publisher",
        "warnings": warnings,
        "verify": written_file.internal_check(outside, inside),
    }
    if content != "noisy":
        both = inside.public.in_groups and inside.public.shown.items
        changed["anonymizer"] = str(candidate if both else candidate.anonymizer)
    if inside.public.shown.items:
        changed["promise"] = _requirement(inside.named)
    return changed


def _warning(caution: Caution) -> dict[str, str]:
    """Write a caution for the publisher, with what was found."""
    content = {"about": caution.about, "text": caution.text}
    return content | ({"found": caution.count} if caution.count else {})


def _required(inside: InternalContext) -> Iterator[Section]:
    """Say for whom this is, and what was required."""
    content = inside.public.shown.content
    alone = "_alone" if content in ("noisy", "records") and not inside.public.on_a_map else ""
    yield Section("note", t(f"certificate.note_{content}{alone}"))
    if content == "groups":
        yield Section("required", str(inside.candidate.requirement))


def _groups(inside: InternalContext) -> Iterator[Section]:
    """Say what was done to a table in groups, and what was left out."""
    if not inside.public.in_groups or inside.public.shown.items:
        return
    release: Release = inside.release
    table, checked, records = release.table, inside.findings, release.cells.records
    yield Section("done", changes_sentence(column_changes(release), release.suppressed, records))
    yield Section("relative_to", "the table")
    yield Section("measures", dict(checked.measures))
    yield Section("by_sensitive", {name: dict(measures) for name, measures in checked.by_sensitive.items()})
    yield Section("meaning", meaning_of(checked.measures))
    yield Section("baselines", _baselines(release))
    yield Section("details", dict(release.details))
    left_out: dict[str, Any] = {"records": release.suppressed, "of": records, "dropped": table.dropped}
    if release.group_persons is not None:
        left_out |= release.group_persons.suppressed
    yield Section("suppressed", left_out)
    if checked.households is not None:
        shared = {"same_value_of": table.shared_names, "confirmed_on_the_file": checked.households.holds}
        yield Section("households", shared)
    yield Section("notices", [*table.notices, *table.household_notices()])


def _baselines(release: Release) -> dict[str, Any]:
    """Say Q, the table's distribution of every sensitive attribute, and the file's."""
    if release.histograms is None:
        return {}
    baselines = {}
    for place, attribute in enumerate(release.histograms.sensitive):
        published = zip(attribute.labels, release.histograms.of(place).sum(axis=0), strict=True)
        baselines[attribute.name] = {
            "table": dict(zip(attribute.labels, attribute.q.tolist(), strict=True)),
            "file": {label: int(n) / release.assignment.records for label, n in published if n},
        }
    return baselines


def _sets_of_items(inside: InternalContext) -> Iterator[Section]:
    """Say what was done to sets of items, and which were left out."""
    if not inside.public.shown.items:
        return
    release, checked = inside.release, inside.findings
    known = {**inside.measures, **checked.measures}
    measures = {name: known[name] for name in MEASURES if name in known}
    yield Section("measures", measures)
    yield Section("meaning", meaning_of(measures))
    baskets, left_out = release.baskets, {}
    if inside.public.baskets:
        yield Section("done", changes_sentence(item_changes(release)))
        weakest = [list(rare_set.items) for rare_set in checked.weakest]
        yield Section("details", {"pieces": len(release.recodings), "weakest": weakest})
        items = [baskets.items[code] for code in release.unpublished]
        yield Section("notices", list(checked.notices))
    else:
        records = release.data.records
        left_out = {"records": records - release.records, "of_records": records}
        yield Section("done", changes_sentence(item_changes(release), *left_out.values()))
        yield Section("sensitive_items", list(release.data.sensitive))
        items = [baskets.items[code] for code in release.suppressed_items.tolist()]
        yield Section("notices", [*release.data.notices, *checked.notices])
    left_out |= {
        "items": items,
        "of": len(baskets.items),
        "occurrences": release.suppressed_occurrences,
        "of_occurrences": baskets.occurrences,
    }
    yield Section("suppressed", left_out)


def _records(inside: InternalContext) -> Iterator[Section]:
    """Say what the publisher alone may see of records that are not the table's own."""
    if inside.public.shown.content not in ("noisy", "records"):
        return
    table: Table = inside.release.table
    yield Section("dropped", table.dropped)
    yield Section("measures_on_the_map", dict(inside.measures))
    yield Section("meaning", meaning_of(inside.measures))
    yield Section("columns_left_out", columns_left_out(table))
    yield Section("notices", notices_of_records(table))


def notices_of_records(table: Table) -> list[str]:
    """Return what there is to notice about a table, as far as it is true of records that are not its own."""
    return [notice for notice in table.notices if not notice.startswith(SAID_OTHERWISE)]


def _external(inside: InternalContext) -> Iterator[Section]:
    """Say what reading a file that was made elsewhere against the table found."""
    if not inside.public.is_external:
        return
    maker: Any = inside.candidate.anonymizer
    findings, coverage = inside.release.details["brought"], getattr(inside.findings, "coverage", None)
    yield Section("made_of", maker.made_of)
    yield Section("digest", maker.digest)
    yield Section("verdict", {key: findings[key] for key in ("claim", "verdict", "why") if key in findings})
    yield from (Section(key, findings[key]) for key in ("truthful", "rows"))
    yield Section("columns_left_out", not_published(maker, findings))
    yield Section("relative_to", "the table")
    yield Section("measures", dict(inside.measures))
    yield Section("meaning", meaning_of(inside.measures))
    found = {} if coverage is None else {"holds": coverage.holds, "checked": coverage.checked}
    yield Section("coverage", found)
    yield Section("dropped", inside.release.table.dropped)
    yield Section("notices", [*findings["notices"], *inside.release.table.notices])


def not_published(maker: Any, findings: Mapping[str, Any]) -> list[str]:
    """Say what stands in a file that was made elsewhere and is not published."""
    notices = [notice for notice in findings["notices"] if notice.startswith("not looked at")]
    return [*notices, *([f"the id {maker.id}"] if maker.id else [])]


def _origin(inside: InternalContext) -> Iterator[Section]:
    """Say where it comes from; how many records there are tells of those that are not published."""
    origin = inside.origin
    yield Section("input", {"table": origin.table, "sha256": origin.digest, "records": inside.records})
    yield Section("study", {"name": origin.study, "sha256": origin.study_digest, "point": origin.point})
    if inside.public.shown.content == "groups":
        yield Section("meanings", named_texts(inside.meanings))


INTERNAL = (_required, _groups, _sets_of_items, _records, _external, _origin)


SCHEMA = 1
WHAT = "a certificate of sfumato"
FILE = fields({"name": text, "sha256": text})
NOISY = fields({"epsilon": number, "in_words": text}, {"delta": number})
CERTIFICATE = fields(
    {"files": listed(FILE, least=1), "promise": fields({}, {"differential_privacy": NOISY, "why_not_checked": text})}
)
"""What is read of a certificate when it comes back."""


def public_certificate(context: PublicContext) -> dict[str, Any]:
    """Write the certificate for everybody, of the settings and of what the file shows by itself."""
    outside = {section.id: section.content for contribute in PUBLIC for section in contribute(context)}
    return {**outside, "in_plain_words": in_plain_words(outside)}


def internal_certificate(outside: Mapping[str, Any], inside: InternalContext) -> dict[str, Any]:
    """Write the publisher's certificate: the public one, and beside it what the publisher alone may see."""
    eyes = {section.id: section.content for contribute in INTERNAL for section in contribute(inside)}
    return {**outside, **for_publisher(outside, inside), "for_your_eyes": eyes}


def certificate_page(content: Mapping[str, Any]) -> str:
    """Write a certificate as HTML."""
    template = "certificate-internal.html" if "for_your_eyes" in content else "certificate.html"
    return render(template, certificate=content, measures=MEASURES, command=shlex.join(content["verify"]))


def read_certificate(path: Path) -> dict[str, Any]:
    """Read a certificate back."""
    head = fields({"kind": one_of("sfumato certificate"), "schema": plain})
    content: dict[str, Any] = read_json(path, WHAT, head)
    if content["schema"] != SCHEMA:
        raise BadInputError(f"{path}: schema {content['schema']!r} is not known to this version")
    in_shape(content, str(path), WHAT, CERTIFICATE)
    return content


def check_certificate(content: Mapping[str, Any], certified: Path, data: Path) -> None:
    """Raise unless a data file is the one that a certificate speaks of, byte by byte."""
    named = {file["name"]: file["sha256"] for file in content["files"]}
    digest = file_digest(data)
    if digest not in named.values():
        raise BadInputError(
            f"{data} is not the file that {certified} certifies (it speaks of {', '.join(named)} with SHA-256 "
            f"{next(iter(named.values()))[:12]}..., this is {digest[:12]}...): it was changed or exchanged; "
            "publish it again, or audit it without the certificate"
        )


def contexts_of(own: Publishable, drafts: Sequence[Path], findings: Any) -> tuple[PublicContext, InternalContext]:
    """Collect what the public certificate is made of, and what the publisher's is."""
    release = own.release
    alone = findings if own.kind == "records" else written_file.alone_of(own, drafts)
    promised = written_file.promised_by(own, alone)
    public = PublicContext(
        own.candidate.public,
        written_file.columns_of(release, own.rows),
        own.shown,
        own.shown.rows or getattr(alone, "records", 0),
        "value" if own.kind == "baskets" else getattr(release, "data", release).table.missing,
        dict(zip((target.name for target in own.files), drafts, strict=True)),
        promised.public if own.kind == "baskets" else promised,
        written_file.confirmed_of(own, promised, alone),
        alone,
        own.meanings,
        own.layout,
        len(own.names.legend) if own.shown.items else 0,
        bool(own.origin.point),
    )
    prepared = own.scales.prepare(release.data) if own.shown.items else None
    return public, InternalContext(
        public,
        release,
        own.candidate,
        own.origin,
        own.path,
        findings,
        own.measures if prepared is None else prepared.measure(release).values,
        own.meanings,
        prepared,
        promised,
        tuple(map(str, written_file.parts_on_the_file(release, promised))) if own.kind == "table" else (),
    )


def certified_texts(
    own: Publishable, drafts: Sequence[Path], findings: Any, cells: Mapping[str, int], decision: Decision | None
) -> list[str]:
    """Write the publisher's certificate and the public one, which comes first, and the page for the board."""
    public, inside = contexts_of(own, drafts, findings)
    outside = public_certificate(public)
    for_publisher, texts = internal_certificate(outside, inside), []
    for content in (for_publisher, outside):
        note_formulas(content, cells, own.escape_formulas)
        texts += [json_text(content), certificate_page(content)]
    return [*texts, *([] if decision is None else [board_page(for_publisher, decision, own.files[0])])]


FLAG = "--escaped-formulas"
VERB = 3
"""The words of a command to check a file before its options: `sfumato audit FILE`."""


def note_formulas(content: dict[str, Any], cells: Mapping[str, int], escape: bool) -> None:
    """Say in a certificate how formulas were written, and how to read the file back."""
    notice = formula_notice(dict(cells), escape)
    content["formulas"] = {"escaped": escape, "cells": dict(cells)}
    content["warnings"] = [
        *content["warnings"],
        *({"about": "Formulas", "text": f"{sentence}."} for sentence in notice),
    ]
    if escape:
        content["verify"] = [*content["verify"][:VERB], FLAG, *content["verify"][VERB:]]
