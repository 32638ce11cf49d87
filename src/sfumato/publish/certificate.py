"""Certificates: what was promised, how, on which input, and what it does not protect against; for two readers.

One builder for everything that can be published: each part of a release contributes sections (`_sections`). The public
certificate is made first, of a `PublicContext`, which holds settings and what the file shows by itself and nothing
else. The publisher's own is the same with a part `for_your_eyes`, and nothing of that part may leave the house.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.auditing.ledger import file_digest
from sfumato.config.documents import fields, in_shape, json_text, listed, number, one_of, plain, read_json, text
from sfumato.engines.formulas import formula_notice
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES
from sfumato.publish._sections import INTERNAL, PUBLIC, for_publisher
from sfumato.publish._written_file import alone_of, columns_of, confirmed_of, parts_on_the_file, promised_by
from sfumato.publish.board import Decision, board_page
from sfumato.publish.context import InternalContext, PublicContext
from sfumato.publish.plain_language import in_plain_words
from sfumato.publish.publishable import Publishable
from sfumato.publish.publishable import certificate_files as certificate_files
from sfumato.texts.render import render

SCHEMA = 1
WHAT = "a certificate of sfumato"
FILE = fields({"name": text, "sha256": text})
NOISY = fields({"epsilon": number, "in_words": text}, {"delta": number})
CERTIFICATE = fields(
    {
        "files": listed(FILE, least=1),
        "promise": fields({}, {"differential_privacy": NOISY, "why_not_checked": text}),
    }
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
    alone = findings if own.kind == "records" else alone_of(own, drafts)
    promised = promised_by(own, alone)
    public = PublicContext(
        own.candidate.public,
        columns_of(release, own.rows),
        own.shown,
        own.shown.rows or getattr(alone, "records", 0),
        "value" if own.kind == "baskets" else getattr(release, "data", release).table.missing,
        dict(zip((target.name for target in own.files), drafts, strict=True)),
        promised.public if own.kind == "baskets" else promised,
        confirmed_of(own, promised, alone),
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
        tuple(map(str, parts_on_the_file(release, promised))) if own.kind == "table" else (),
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
