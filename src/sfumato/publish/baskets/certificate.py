"""The certificate of a release of baskets: what was promised, what the written file achieves, what it does not protect.

Two of them as for tables: the public one, made of the settings and of what the written file shows by itself, and the
publisher's own, which is the same with a part `for_your_eyes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from sfumato.configuration import without_seed
from sfumato.measures import MEASURES
from sfumato.publish.baskets.audit import BasketAudit
from sfumato.publish.baskets.mapping import legend_of
from sfumato.publish.cautions import Caution, found_first
from sfumato.publish.certificate import (
    EYES,
    LIBRARIES,
    RESTS,
    Origin,
    described_file,
    made_now,
    versions,
    warning,
)
from sfumato.publish.check_command import argument, seen_from, where_to_run
from sfumato.publish.page import (
    check_yourself,
    definitions,
    digests,
    framed,
    inputs,
    measures_table,
    rows_of,
    sentence,
    warnings_list,
)
from sfumato.transactions import BasketRelease, BasketRequirement, KMAnonymity, PrivacyConstraints
from sfumato.transactions.files.writing import LONG
from sfumato.transactions.study import BasketCandidate

PUBLIC_MEANINGS = ("One record is one person", "Published items", "What an attacker knows")
"""Meanings of a map that depend on nothing but the settings, and are needed to read a certificate."""

CONFIRMED = "confirmed by the file alone"


def confirmed_alone(wanted: BasketRequirement) -> str | None:
    """Return what the file alone can be asked for: of listed items a reader needs the original."""
    return None if isinstance(wanted, PrivacyConstraints) else str(wanted)


def public_basket_certificate(
    candidate: BasketCandidate,
    file: tuple[str, Path],
    layout: str,
    legend: Mapping[str, Sequence[str]],
    alone: BasketAudit,
    found: Sequence[Caution],
    meanings: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """Write the certificate for everybody, of the settings and of what the file shows by itself.

    `file` is the final name and where it stands now, `alone` its audit without the original.
    """
    asked = confirmed_alone(candidate.requirement)
    return {
        "kind": "sfumato certificate",
        "for": "the public",
        "made": made_now(),
        "files": [described_file(*file)],
        "rows": alone.records,
        "promise": _promised(candidate.public),
        "baskets": {"published_items": alone.published_items, "empty": alone.empty, "layout": layout},
        "legend": {label: list(items) for label, items in legend.items()},
        "relative_to": "the file",
        "measures": dict(alone.measures),
        "meaning": {name: MEASURES[name].meaning for name in alone.measures},
        "anonymizer": str(without_seed(candidate.anonymizer)),
        "versions": versions(LIBRARIES),
        "meanings": [{"name": name, "text": text} for name, text in meanings if name in PUBLIC_MEANINGS],
        "warnings": [{"about": own.about, "text": own.text} for own in found],
        "verify_in": where_to_run(file[0]),
        "verify": [*_verify(file[0], layout, candidate.requirement, alone.known), *_required(asked)],
    }


def _promised(candidate: BasketCandidate) -> dict[str, Any]:
    """Say what was promised, and who can check it."""
    alone = confirmed_alone(candidate.requirement) is not None
    part = {
        "requirement": str(candidate.requirement),
        "in_words": candidate.requirement.rule_in_words(),
        "confirmed_by_the_file": alone,
        "checked": CONFIRMED if alone else RESTS,
    }
    return {
        "requirement": str(candidate.requirement),
        "parts": [part],
        "utility": None if candidate.utility is None else str(candidate.utility),
        "limit": str(candidate.limit),
        "checked_on_the_file": True,
    }


def basket_certificate(
    outside: Mapping[str, Any],
    release: BasketRelease,
    candidate: BasketCandidate,
    origin: Origin,
    path: Path,
    checked: BasketAudit,
    measures: Mapping[str, float],
    found: Sequence[Caution],
    meanings: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """Write the publisher's certificate: the public one, and beside it what the publisher alone may see.

    `checked` is the audit against the original, `measures` are the maker's own, `path` is the data file.
    """
    baskets = release.baskets
    known = {**measures, **checked.measures}
    ordered = {name: known[name] for name in MEASURES if name in known}
    return {
        **outside,
        "for": "the publisher",
        "promise": _promised(candidate),
        "anonymizer": str(candidate.anonymizer),
        "warnings": [warning(caution) for caution in found_first(found)],
        "verify": [
            *_verify(path.name, outside["baskets"]["layout"], candidate.requirement, checked.known),
            *_against(release, origin, path),
            *_required(_seen_from(path.parent, candidate.requirement)),
        ],
        "for_your_eyes": {
            "note": EYES,
            "measures": ordered,
            "meaning": {name: MEASURES[name].meaning for name in ordered},
            "details": {"pieces": len(release.recodings), "weakest": [list(own.items) for own in checked.weakest]},
            "suppressed": {
                "items": [baskets.items[code] for code in release.suppressed],
                "of": len(baskets.items),
                "occurrences": release.suppressed_occurrences,
                "of_occurrences": baskets.occurrences,
            },
            "input": {"table": origin.table, "sha256": origin.digest, "records": baskets.size},
            "study": {"name": origin.study, "sha256": origin.study_digest, "point": origin.point},
            "meanings": [{"name": name, "text": text} for name, text in meanings],
            "notices": list(checked.notices),
        },
    }


def _verify(name: str, layout: str, wanted: BasketRequirement, known: int) -> list[str]:
    """Return the words that read the file; how much an attacker knows, unless the requirement says it."""
    columns = ["--id", LONG["who"], "--item", LONG["item"]] if layout == "long" else []
    more = [] if isinstance(wanted, KMAnonymity) else ["--known", str(known)]
    return ["sfumato", "audit", argument(name), "--baskets", *columns, *more]


def _required(wanted: str | None) -> list[str]:
    return [] if wanted is None else ["--require", wanted]


def _seen_from(folder: Path, wanted: BasketRequirement) -> str:
    """Write a requirement with its file as seen from the folder of a release."""
    if isinstance(wanted, PrivacyConstraints):
        wanted = replace(wanted, file=seen_from(folder, wanted.file))
    return str(wanted)


def _against(release: BasketRelease, origin: Origin, path: Path) -> list[str]:
    """Return what the publisher adds to compare the file with the original, as the study declares it."""
    words = [] if release.is_global else ["--local"]
    words += ["--legend", argument(f"{path.name}.certificate.json")] if legend_of(release) else []
    return [*words, "--original", argument(seen_from(path.parent, origin.study_file))]


def basket_certificate_page(content: Mapping[str, Any]) -> str:
    """Write a certificate of baskets as HTML."""
    meanings = definitions((own["name"], own["text"]) for own in content["meanings"])
    limit = escape(content["promise"]["limit"])
    sections = [
        ("What is promised", _promise(content)),
        ("What it does not protect against", f"<dl>{warnings_list(content['warnings'])}</dl>"),
        ("What the file achieves", f"<table>{measures_table(content['measures'])}</table>"),
        (
            "What was left out",
            f"<p>Every record is in the file. Of items this was allowed to be left out: <code>{limit}</code>.</p>",
        ),
        ("What the words mean", f"<dl>{meanings}</dl>"),
        ("Which files this is about", f"<table>{digests(content)}</table>"),
        ("Check it yourself", check_yourself(content)),
    ]
    if content["legend"]:
        entries = ((label, ", ".join(items)) for label, items in content["legend"].items())
        sections.insert(2, ("What published items stand for", f"<table>{rows_of(entries)}</table>"))
    if "for_your_eyes" in content:
        sections.append(("For your eyes only", _eyes(content["for_your_eyes"])))
    return framed(content, sections)


def _promise(content: Mapping[str, Any]) -> str:
    promise, own = content["promise"], content["baskets"]
    items = "".join(
        f"<li>{sentence(part['in_words'])} <code>{escape(part['requirement'])}</code><br>"
        f"<small>{sentence(part['checked'])}</small></li>"
        for part in promise["parts"]
    )
    empty = f", {own['empty']:,} of them without an item" if own["empty"] else ""
    return (
        f"<p>Re-checked on the written file, record by record:</p><ul>{items}</ul><p>Published as "
        f"{content['rows']:,} records{empty}, with {own['published_items']:,} different published items. An item is "
        "itself, or stands for several (a set in braces, or a group of items) and then says that the record has one or "
        "more of them.</p>"
    )


def _eyes(content: Mapping[str, Any]) -> str:
    """Show what the publisher alone may see."""
    own = content["suppressed"]
    names = (
        f": {escape(', '.join(own['items'][:20]))}{' ...' if len(own['items']) > 20 else ''}" if own["items"] else ""
    )
    notices = "".join(f"<p>{sentence(notice)}</p>" for notice in content["notices"])
    meanings = definitions((entry["name"], entry["text"]) for entry in content["meanings"])
    return (
        f"<p><b>{escape(content['note'])}</b></p><p>{len(own['items']):,} of {own['of']:,} items are published nowhere"
        f"{names}; {own['occurrences']:,} of {own['of_occurrences']:,} items of records are left out.</p>"
        f"<table>{measures_table(content['measures'])}</table>{notices}<table>{rows_of(inputs(content))}</table>"
        f"<dl>{meanings}</dl>"
    )
