"""The certificate of a release of baskets: what was promised, what the written file achieves, what it does not protect.

Two of them as for tables: the publisher's own, and a public one that says nothing but what the file shows anyway.
"""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.measures import MEASURES
from sfumato.publish.basket_audit import BasketAudit
from sfumato.publish.basket_mapping import legend_of
from sfumato.publish.cautions import Caution
from sfumato.publish.certificate import LIBRARIES, Origin, described_file, without_seed
from sfumato.publish.page import definitions, digests, framed, measures_table, rows_of, sentence, warnings_list
from sfumato.transactions import BasketRelease
from sfumato.transactions.basket_words import basket_rule
from sfumato.transactions.study import BasketCandidate
from sfumato.transactions.writing import LONG

OWN = ("input", "study", "suppressed", "details", "notices")
"""Parts of the publisher's certificate that are not for the public."""

OF_THE_FILE = ("itemset_risk", "itemset_risk_99", "itemset_risk_95", "least_support")
"""Measures that everybody can count in the file."""


def basket_certificate(
    release: BasketRelease,
    candidate: BasketCandidate,
    origin: Origin,
    file: tuple[str, Path],
    layout: str,
    found: BasketAudit,
    measures: Mapping[str, float],
    cautions: Sequence[Caution],
    meanings: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """Write the publisher's certificate. `file` is the final name and where it stands now, `found` its audit."""
    baskets = release.baskets
    told = {**measures, **found.measures}
    ordered = {name: told[name] for name in MEASURES if name in told}
    return {
        "kind": "sfumato certificate",
        "for": "the publisher",
        "made": datetime.now(UTC).replace(microsecond=0).isoformat(),
        "files": [described_file(*file)],
        "rows": found.records,
        "promise": {
            "requirement": str(candidate.requirement),
            "parts": [{"requirement": str(candidate.requirement), "in_words": basket_rule(candidate.requirement)}],
            "utility": None if candidate.utility is None else str(candidate.utility),
            "limit": str(candidate.limit),
            "checked_on_the_file": True,
        },
        "baskets": {"published_items": found.published_items, "empty": found.empty, "layout": layout},
        "legend": legend_of(release),
        "measures": ordered,
        "meaning": {name: MEASURES[name].meaning for name in ordered},
        "anonymizer": str(candidate.anonymizer),
        "details": {"pieces": len(release.recodings), "weakest": [list(own.items) for own in found.weakest]},
        "suppressed": {
            "items": [baskets.items[code] for code in release.suppressed],
            "of": len(baskets.items),
            "occurrences": release.suppressed_occurrences,
            "of_occurrences": baskets.occurrences,
        },
        "input": {"table": origin.table, "sha256": origin.digest, "records": baskets.size},
        "study": {"name": origin.study, "sha256": origin.study_digest, "point": origin.point},
        "versions": {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES},
        "meanings": [{"name": name, "text": text} for name, text in meanings],
        "warnings": [
            {"about": own.about, "text": own.text} | ({"found": own.count} if own.count else {}) for own in cautions
        ],
        "notices": list(found.notices),
        "verify": [*_verify(file[0], layout, candidate), *_against(release, origin, file[0])],
    }


def public_basket_certificate(content: Mapping[str, Any], candidate: BasketCandidate) -> dict[str, Any]:
    """Leave out of a certificate what is not for the public."""
    kept = {key: value for key, value in content.items() if key not in OWN}
    kept["for"] = "the public"
    kept["anonymizer"] = str(without_seed(candidate.anonymizer))
    for key in ("measures", "meaning"):
        kept[key] = {name: value for name, value in content[key].items() if name in OF_THE_FILE}
    kept["warnings"] = [{key: value for key, value in own.items() if key != "found"} for own in content["warnings"]]
    kept["verify"] = _verify(content["files"][0]["name"], content["baskets"]["layout"], candidate)
    about_file = ("One record is one person", "Published items", "What an attacker knows")
    kept["meanings"] = [own for own in content["meanings"] if own["name"] in about_file]
    return kept


def _verify(name: str, layout: str, candidate: BasketCandidate) -> list[str]:
    """Return the words of the command that checks the promise on the file."""
    columns = ["--id", LONG["who"], "--item", LONG["item"]] if layout == "long" else []
    return ["sfumato", "audit", name, "--baskets", *columns, "--require", str(candidate.requirement)]


def _against(release: BasketRelease, origin: Origin, name: str) -> list[str]:
    """Return what the publisher adds to compare the file with the original."""
    words = [] if release.is_global else ["--local"]
    words += ["--legend", f"{name}.certificate.json"] if legend_of(release) else []
    return [*words, "--original", origin.table]


def basket_certificate_page(content: Mapping[str, Any]) -> str:
    """Write a certificate of baskets as HTML."""
    meanings = definitions((own["name"], own["text"]) for own in content["meanings"])
    sections = [
        ("What is promised", _promise(content)),
        ("What it does not protect against", f"<dl>{warnings_list(content['warnings'])}</dl>"),
        ("What the file achieves", f"<table>{measures_table(content['measures'])}</table>"),
        ("What was left out", _left_out(content)),
        ("What the words mean", f"<dl>{meanings}</dl>"),
        ("Which files this is about", f"<table>{digests(content)}</table>"),
        ("Check it yourself", f"<pre>{escape(shlex.join(content['verify']))}</pre>"),
    ]
    if content["legend"]:
        entries = ((label, ", ".join(items)) for label, items in content["legend"].items())
        sections.insert(2, ("What published items stand for", f"<table>{rows_of(entries)}</table>"))
    return framed(content, sections)


def _promise(content: Mapping[str, Any]) -> str:
    promise, own = content["promise"], content["baskets"]
    items = "".join(
        f"<li>{sentence(part['in_words'])} <code>{escape(part['requirement'])}</code></li>" for part in promise["parts"]
    )
    empty = f", {own['empty']:,} of them without an item" if own["empty"] else ""
    return (
        f"<p>Re-checked on the written file, record by record:</p><ul>{items}</ul><p>Published as "
        f"{content['rows']:,} records{empty}, with {own['published_items']:,} different published items. An item is "
        "itself, or stands for several (a set in braces, or a group of items) and then says that the record has one or "
        "more of them.</p>"
    )


def _left_out(content: Mapping[str, Any]) -> str:
    if "suppressed" not in content:
        limit = escape(content["promise"]["limit"])
        return f"<p>Every record is in the file. Of items this was allowed to be left out: <code>{limit}</code>.</p>"
    own = content["suppressed"]
    names = (
        f": {escape(', '.join(own['items'][:20]))}{' ...' if len(own['items']) > 20 else ''}" if own["items"] else ""
    )
    return (
        f"<p>Every record is in the file. {len(own['items']):,} of {own['of']:,} items are published nowhere{names}; "
        f"{own['occurrences']:,} of {own['of_occurrences']:,} items of records are left out.</p>"
    )
