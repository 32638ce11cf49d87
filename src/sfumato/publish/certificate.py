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
from sfumato.config.documents import fields, in_shape, listed, number, one_of, plain, read_json, text
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES
from sfumato.publish._sections import INTERNAL, PUBLIC, for_publisher
from sfumato.publish.context import InternalContext, PublicContext
from sfumato.publish.plain_language import in_plain_words
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


def certificate_files(path: Path) -> list[Path]:
    """Name the certificates of a data file: the publisher's, and the public one, each as JSON and as a page."""
    names = ("certificate.json", "certificate.html", "certificate-public.json", "certificate-public.html")
    return [path.with_name(f"{path.name}.{name}") for name in names]


def internal(certificates: Sequence[Path]) -> Sequence[Path]:
    """Pick the publisher's own from the certificates of a data file: they tell what was suppressed."""
    return certificates[:2]


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
