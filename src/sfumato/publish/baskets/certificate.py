"""The certificate of a release of baskets: what was promised, what the written file achieves, what it does not protect.

Two of them as for tables: the public one, made of the settings and of what the written file shows by itself, and the
publisher's own, which is the same with a part `for_your_eyes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.engines.items.files import LONG
from sfumato.measures import MEASURES
from sfumato.publish.baskets.audit import BasketAudit
from sfumato.publish.cautions import Caution
from sfumato.publish.certificate import EYES, RESTS, Origin, foot, head, inside, public_maker
from sfumato.publish.check_command import argument, seen_from
from sfumato.tradeoff.exploration._item_details import item_changes
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.transactions import BasketRelease, BasketRequirement, KMAnonymity
from sfumato.words.columns import changes_sentence

PUBLIC_MEANINGS = ("Records are counted", "Published items", "What an attacker knows")
"""Meanings of a map that depend on nothing but the settings, and are needed to read a certificate."""

CONFIRMED = "confirmed by the file alone"


def confirmed_alone(wanted: BasketRequirement) -> str | None:
    """Return what the file alone can be asked for: of listed items a reader needs the original."""
    return None if wanted.names_items else str(wanted)


def public_basket_certificate(
    candidate: Candidate,
    files: Mapping[str, Path],
    layout: str,
    entries: int,
    alone: BasketAudit,
    cautions: Sequence[Caution],
    meanings: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """Write the certificate for everybody, of the settings and of what the file shows by itself.

    `files` are the data and perhaps the legend with its `entries`, by their final names, where they stand now; `alone`
    is the audit of the data without the original.
    """
    asked, (name, *legends) = confirmed_alone(candidate.requirement), files
    return {
        **head(files, alone.records),
        "promise": _promised(candidate.public),
        "baskets": {"published_items": alone.published_items, "empty": alone.empty, "layout": layout},
        **({"legend": {"file": legends[0], "entries": entries}} if legends else {}),
        "relative_to": "the file",
        "measures": dict(alone.measures),
        "meaning": {name: MEASURES[name].meaning for name in alone.measures},
        "anonymizer": public_maker(candidate.anonymizer),
        **foot([meaning for meaning in meanings if meaning[0] in PUBLIC_MEANINGS], cautions, name),
        "verify": [*_verify(name, layout, candidate.requirement, alone.known), *_required(asked)],
    }


def _promised(candidate: Candidate) -> dict[str, Any]:
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
    candidate: Candidate,
    origin: Origin,
    path: Path,
    checked: BasketAudit,
    measures: Mapping[str, float],
    cautions: Sequence[Caution],
    meanings: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """Write the publisher's certificate: the public one, and beside it what the publisher alone may see.

    `checked` is the audit against the original, `measures` are the maker's own, `path` is the data file.
    """
    baskets = release.baskets
    known = {**measures, **checked.measures}
    ordered = {name: known[name] for name in MEASURES if name in known}
    return {
        **inside(outside, str(candidate.anonymizer), cautions),
        "promise": _promised(candidate),
        "verify": [
            *_verify(path.name, outside["baskets"]["layout"], candidate.requirement, checked.known),
            *_against(release, origin, path),
            *_required(_seen_from(path.parent, candidate.requirement)),
        ],
        "for_your_eyes": {
            "note": EYES,
            "done": changes_sentence({"items": item_changes(release)}),
            "measures": ordered,
            "meaning": {name: MEASURES[name].meaning for name in ordered},
            "details": {
                "pieces": len(release.recodings),
                "weakest": [list(rare_set.items) for rare_set in checked.weakest],
            },
            "suppressed": {
                "items": [baskets.items[code] for code in release.suppressed],
                "of": len(baskets.items),
                "occurrences": release.suppressed_occurrences,
                "of_occurrences": baskets.occurrences,
            },
            **origin.content(baskets.size),
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
    file = getattr(wanted, "file", None)
    return str(wanted if file is None else replace(wanted, file=seen_from(folder, file)))  # type: ignore[type-var]


def _against(release: BasketRelease, origin: Origin, path: Path) -> list[str]:
    """Return what the publisher adds to compare the file with the original, as the study declares it."""
    words = [] if release.is_global else ["--local"]
    return [*words, "--original", argument(seen_from(path.parent, origin.study_file))]
