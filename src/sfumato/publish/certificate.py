"""Certificates: promise, procedure, input and limits of protection, in a public and an internal version.

One builder for all kinds of releases: each part of a release contributes sections. The requirement contributes its
promise, the maker its procedure, the release its counts, the file its measures. The public certificate is made first,
from a `PublicContext`, which contains only settings and what the file alone shows. The publisher's certificate adds a
part `internal`, which may read the release; nothing of this part is safe to share.
"""

import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

from sfumato import __version__
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

LIBRARIES = ("numpy", "numba", "duckdb", "pyarrow")
SIZES = ("k", "smallest_group", "prosecutor", "marketer", "average_group", "weighted_k")
"""The measures of perturbed or synthetic rows: those of equal rows, whose values are not the recorded ones."""

PUBLIC_MEANINGS = (
    *(unit_meaning(unit)[0] for unit in get_args(Unit)),
    "Groups",
    "Bucketization does not hide who is in the table",
    "Weights",
    "Published items",
    "What an attacker knows",
)
"""Meanings of a map that depend only on the settings and are needed to read a certificate."""

SAID_OTHERWISE = ("columns without a role", "neutral column", "identifier")
"""Notices of a table about groups or unchanged columns; for noisy releases the cautions replace them."""


@dataclass(frozen=True)
class Section:
    """A part of a certificate: plain values only."""

    id: str
    content: Any


# -- public ------------------------------------------------------------------------------------------------------------


def _files(context: PublicContext) -> Iterator[Section]:
    """Name the certified files by their final names."""
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
    """State the promise and the possible verifiers."""
    content = context.shown.content
    by_content = {"noisy": _noisy_promise, "external": _claim, "records": _promise_of_records}
    yield Section("promise", by_content.get(content, _requirement)(context))


def _requirement(context: PublicContext) -> dict[str, Any]:
    """State the promise of a requirement about groups, sets of items, or both."""
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
    unit = columns.unit
    if not context.shown.items or unit == "persons":
        content["counted"] = {"unit": unit, "in_words": t(f"certificate.counted_{unit.replace(' ', '_')}")}
    if columns.household is not None:
        alone = t("certificate.left_alone") if candidate.suppress else ""
        content["households"] = {"in_words": t("certificate.households", alone=alone)}
    return content


def _part(
    part: Any, confirmed: bool, checked: str, group: Sequence[str] = ("group",), persons: bool = False
) -> dict[str, Any]:
    """State the promise of a part and its possible verifiers."""
    return {
        "requirement": str(part),
        "in_words": part.words_of_persons() if persons else part.rule_in_words(*group),
        "confirmed_by_the_file": confirmed,
        "checked": t(f"certificate.{checked}"),
    }


def _checked(context: PublicContext, part: Any) -> str:
    """Return the text that names who has checked a part."""
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
    """Return a guarantee as plain values; the sum of its parts does not exceed its epsilon."""
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
    """State the claim about an external file, and whether the file confirms it."""
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
    """List the columns by their roles, with the published form of each."""
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
    """State the measures of the file alone."""
    content, alone = context.shown.content, context.alone
    if content == "noisy":
        return
    measures = {} if alone is None else dict(alone.measures)
    if content == "records":
        promised = context.maker.promises
        yield Section("measures", {name: value for name, value in measures.items() if promised and name in SIZES})
        return
    if context.shown.items:
        persons = context.columns.unit == "persons"  # whom the file does not show
        measures = {name: value for name, value in measures.items() if name in MEASURES and not persons}
    yield Section("relative_to", "the file")
    yield Section("measures", measures)
    yield Section("meaning", meaning_of(measures))
    if content == "groups" and not context.shown.items:
        yield Section("by_sensitive", {name: dict(values) for name, values in alone.by_sensitive.items()})
        yield Section("baselines", {name: {"file": dict(shares)} for name, shares in alone.shares.items()})


def meaning_of(measures: Mapping[str, float]) -> dict[str, str]:
    """Return the meanings of measures."""
    return {name: MEASURES[name].meaning for name in measures if name in MEASURES}


def _maker(context: PublicContext) -> Iterator[Section]:
    """Name the maker in its public form, with its procedure."""
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
    """Return the public name of a maker, without results of a search over all records."""
    return str(maker.name) if getattr(maker, "is_found", False) else str(maker.public)


def _foot(context: PublicContext) -> Iterator[Section]:
    """State meanings, cautions, versions, and the command that checks the file again."""
    libraries = (*LIBRARIES, *(["opendp"] if context.is_noisy else []))
    versions = {"python": platform.python_version(), "sfumato": __version__}
    versions |= {library: version(library) for library in libraries}
    yield Section("versions", versions)
    yield Section("meanings", named_texts(public_meanings(context)))
    yield Section("warnings", [{"about": own.about, "text": own.text} for own in public_cautions(context)])
    yield Section("verify_in", f"the folder that contains {next(iter(context.files))}")
    yield Section("verify", written_file.public_check(context))


def named_texts(meanings: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Return meanings as plain values."""
    return [{"name": name, "text": text} for name, text in meanings]


def public_meanings(context: PublicContext) -> list[tuple[str, str]]:
    """Return the meanings by the settings alone, and those of a map that depend on nothing else."""
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
    """Look up the name and the text of each meaning."""
    parted = (t(f"word.{name}", **places).split(" | ", 1) for name in names)
    return [(name, text) for name, text in parted]


PUBLIC = (_files, _promise, _columns, _items, _measured, _maker, _foot)


# -- internal ----------------------------------------------------------------------------------------------------------


def for_publisher(outside: Mapping[str, Any], inside: InternalContext) -> dict[str, Any]:
    """Return the parts of a public certificate that differ for the publisher: all settings, and findings."""
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
    """Return a caution with its finding for the publisher."""
    content = {"about": caution.about, "text": caution.text}
    return content | ({"found": caution.count} if caution.count else {})


def _required(inside: InternalContext) -> Iterator[Section]:
    """State the recipient, and the requirement."""
    content = inside.public.shown.content
    alone = "_alone" if content in ("noisy", "records") and not inside.public.on_a_map else ""
    yield Section("note", t(f"certificate.note_{content}{alone}"))
    if content == "groups":
        yield Section("required", str(inside.candidate.requirement))


def _groups(inside: InternalContext) -> Iterator[Section]:
    """State the changes of a table in groups, and suppressed records."""
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
    """Return Q, the table's distribution of each sensitive attribute, and the file's."""
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
    """State the changes of sets of items, and suppressed ones."""
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
    """State the internal facts of perturbed, synthetic or noisy records."""
    if inside.public.shown.content not in ("noisy", "records"):
        return
    table: Table = inside.release.table
    yield Section("dropped", table.dropped)
    yield Section("measures_on_the_map", dict(inside.measures))
    yield Section("meaning", meaning_of(inside.measures))
    yield Section("columns_left_out", columns_left_out(table))
    yield Section("notices", notices_of_records(table))


def notices_of_records(table: Table) -> list[str]:
    """Return the notices of a table that apply to perturbed, synthetic or noisy records."""
    return [notice for notice in table.notices if not notice.startswith(SAID_OTHERWISE)]


def _external(inside: InternalContext) -> Iterator[Section]:
    """State the comparison of an external file with the table."""
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
    """Return the columns of an external file that are not published."""
    notices = [notice for notice in findings["notices"] if notice.startswith("not looked at")]
    return [*notices, *([f"the id {maker.id}"] if maker.id else [])]


def _origin(inside: InternalContext) -> Iterator[Section]:
    """State the origin; the number of records is internal, because it reveals the number of suppressed ones."""
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
"""The shape of a certificate that is read."""


def public_certificate(context: PublicContext) -> dict[str, Any]:
    """Return the public certificate, from the settings and the file alone."""
    outside = {section.id: section.content for contribute in PUBLIC for section in contribute(context)}
    return {**outside, "in_plain_words": in_plain_words(outside)}


def internal_certificate(outside: Mapping[str, Any], inside: InternalContext) -> dict[str, Any]:
    """Return the publisher's certificate: the public one with the internal part."""
    eyes = {section.id: section.content for contribute in INTERNAL for section in contribute(inside)}
    return {**outside, **for_publisher(outside, inside), "internal": eyes}


def certificate_page(content: Mapping[str, Any]) -> str:
    """Render a certificate as HTML."""
    template = "certificate-internal.html" if "internal" in content else "certificate.html"
    return render(template, certificate=content, measures=MEASURES, command=shlex.join(content["verify"]))


def read_certificate(path: Path) -> dict[str, Any]:
    """Read a certificate."""
    head = fields({"kind": one_of("sfumato certificate"), "schema": plain})
    content: dict[str, Any] = read_json(path, WHAT, head)
    if content["schema"] != SCHEMA:
        raise BadInputError(f"{path}: this version does not know schema {content['schema']!r}")
    in_shape(content, str(path), WHAT, CERTIFICATE)
    return content


def check_certificate(content: Mapping[str, Any], certified: Path, data: Path) -> None:
    """Raise unless a data file equals the certified one, byte by byte."""
    named = {file["name"]: file["sha256"] for file in content["files"]}
    digest = file_digest(data)
    if digest not in named.values():
        raise BadInputError(
            f"{data} is not the file that {certified} certifies (it names {', '.join(named)} with SHA-256 "
            f"{next(iter(named.values()))[:12]}..., this is {digest[:12]}...): it was changed or exchanged; "
            "publish it again, or audit it without the certificate"
        )


def contexts_of(own: Publishable, drafts: Sequence[Path], findings: Any) -> tuple[PublicContext, InternalContext]:
    """Return the contents of the public and of the publisher's certificate."""
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
    """Return the texts of the publisher's certificate, the public one (made first) and the board page."""
    public, inside = contexts_of(own, drafts, findings)
    outside = public_certificate(public)
    for_publisher, texts = internal_certificate(outside, inside), []
    for content in (for_publisher, outside):
        note_formulas(content, cells, own.escape_formulas)
        texts += [json_text(content), certificate_page(content)]
    return [*texts, *([] if decision is None else [board_page(for_publisher, decision, own.files[0])])]


FLAG = "--escaped-formulas"
VERB = 3
"""The words of a check command before its options: `sfumato audit FILE`."""


def note_formulas(content: dict[str, Any], cells: Mapping[str, int], escape: bool) -> None:
    """Add to a certificate how formulas were written, and how to read the file."""
    notice = formula_notice(dict(cells), escape)
    content["formulas"] = {"escaped": escape, "cells": dict(cells)}
    content["warnings"] = [
        *content["warnings"],
        *({"about": "Formulas", "text": f"{sentence}."} for sentence in notice),
    ]
    if escape:
        content["verify"] = [*content["verify"][:VERB], FLAG, *content["verify"][VERB:]]
