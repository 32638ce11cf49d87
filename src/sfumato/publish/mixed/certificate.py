"""The certificate of a release of a table with items: what was promised, what the written file achieves, what it lacks.

Two of them as for tables: the public one, made of the settings and of what the written file shows by itself, and the
publisher's own, which is the same with a part `for_your_eyes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.measures import MEASURES
from sfumato.mixed.mixed_table import MixedTable
from sfumato.mixed.policy import MixedRequirement
from sfumato.mixed.release import MixedRelease
from sfumato.phrases import counted, ended
from sfumato.publish.cautions import Caution
from sfumato.publish.certificate import ALONE, DROPPED, EYES, RESTS, Origin, dropped, foot, head, inside, public_maker
from sfumato.publish.check_command import argument
from sfumato.publish.mixed.audit import MixedAudit
from sfumato.publish.mixed.cautions import lists_items_of_groups
from sfumato.publish.plain_words import FAR_COUNTS, PlainWords, named
from sfumato.tradeoff.exploration._item_details import mixed_changes
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.words.columns import changes_sentence

PUBLIC_MEANINGS = ("Records are counted", "Groups", "Published items", "What an attacker knows")
"""Meanings of a map that depend on nothing but the settings, and are needed to read a certificate."""


def confirmed_alone(wanted: MixedRequirement, data: MixedTable) -> MixedRequirement:
    """Return what the file alone can be asked for: whether people have sensitive items it does not say."""
    only = None if data.declared.roles.sensitive else data.column
    kept = (part for part in wanted.further if not part.about_sensitive or (part.on or only) != data.column)
    return MixedRequirement(wanted.linking, tuple(kept))


def public_mixed_certificate(
    candidate: Candidate,
    release: MixedRelease,
    files: Mapping[str, Path],
    entries: int,
    alone: MixedAudit,
    cautions: Sequence[Caution],
    meanings: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """Write the certificate for everybody, of the settings and of what the file shows by itself."""
    name, *legends = files
    data = release.data
    sensitive = [each.name for each in data.cells.sensitive if each.name != data.column]
    return {
        **head(files, alone.records),
        "promise": _promised(candidate.public, data),
        "columns": {"quasi": [quasi.name for quasi in data.cells.quasi], "sensitive": sensitive, "items": data.column},
        "items": {
            "published_items": alone.published_items,
            "empty": alone.empty,
            "groups": alone.groups,
            "sets_list_items_of_groups": lists_items_of_groups(release, candidate),
        },
        **({"legend": {"file": legends[0], "entries": entries}} if legends else {}),
        "relative_to": "the file",
        "measures": {name: value for name, value in alone.measures.items() if name in MEASURES},
        "meaning": {name: MEASURES[name].meaning for name in alone.measures if name in MEASURES},
        "anonymizer": f"{public_maker(candidate.anonymizer)} with {public_maker(candidate.item_anonymizer)}",
        **foot(
            [*(each for each in meanings if each[0] in PUBLIC_MEANINGS), *dropped(data.table.missing)], cautions, name
        ),
        "verify": verify_words(name, release, confirmed_alone(candidate.requirement, data)),
    }


def verify_words(name: str, release: MixedRelease, wanted: MixedRequirement) -> list[str]:
    """Return the words of the command that checks the file."""
    data = release.data
    words = ["sfumato", "audit", argument(name), "--items", data.column]
    for quasi in data.cells.quasi:
        words += ["--quasi", quasi.name]
    for sensitive in data.cells.sensitive:
        words += ["--sensitive", sensitive.name] if sensitive.name != data.column else []
    return [*words, "--require", str(wanted)]


def _promised(candidate: Candidate, data: MixedTable) -> dict[str, Any]:
    """Say what was promised, and who can check it."""
    alone = confirmed_alone(candidate.requirement, data)
    parts = [
        {
            "requirement": str(part),
            "in_words": part.rule_in_words(),
            "confirmed_by_the_file": part in alone.parts,
            "checked": ALONE if part in alone.parts else RESTS,
        }
        for part in candidate.requirement.parts
    ]
    return {
        "requirement": str(candidate.requirement),
        "parts": parts,
        "form": candidate.form,
        "suppress_at_most": candidate.suppress,
        "utility": None if candidate.utility is None else str(candidate.utility),
        "limit": str(candidate.limit),
        "sets": candidate.sets,
        "checked_on_the_file": True,
    }


def mixed_certificate(
    outside: Mapping[str, Any],
    release: MixedRelease,
    candidate: Candidate,
    origin: Origin,
    checked: MixedAudit,
    measures: Mapping[str, float],
    cautions: Sequence[Caution],
    meanings: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """Write the publisher's certificate: the public one, and beside it what the publisher alone may see."""
    data, known = release.data, {**measures, **checked.measures}
    ordered = {name: known[name] for name in MEASURES if name in known}
    return {
        **inside(outside, str(candidate), cautions),
        "promise": _promised(candidate, data),
        "for_your_eyes": {
            "note": EYES,
            "done": changes_sentence(mixed_changes(release), data.records - release.records, data.records),
            "measures": ordered,
            "meaning": {name: MEASURES[name].meaning for name in ordered},
            "suppressed": {
                "records": data.records - release.records,
                "of_records": data.records,
                "items": [data.baskets.items[code] for code in release.suppressed_items.tolist()],
                "of": len(data.baskets.items),
                "occurrences": release.suppressed_occurrences,
                "of_occurrences": data.baskets.occurrences,
            },
            "sensitive_items": list(data.sensitive),
            **origin.content(data.records),
            "meanings": [{"name": name, "text": text} for name, text in meanings],
            "notices": [*data.notices, *checked.notices],
        },
    }


def _sets_in_words(listed: bool) -> list[str]:
    """Say what a set tells of its group, where it tells more than it stands for."""
    told = "What stands for several items lists items of its group: somebody in the group has each of them."
    return [told] if listed else []


def mixed_in_plain_words(certificate: Mapping[str, Any]) -> PlainWords:
    """Say of a table with items what it is, what it protects and what it does not."""
    columns, promise = certificate["columns"], certificate["promise"]
    rules = [part["in_words"] for part in promise["parts"]]
    items, quasi = columns["items"], columns["quasi"]
    shown = [ended(f"Shown in ranges, groups or as they are: {named(quasi)}")]
    if columns["sensitive"]:
        shown.append(ended(f"Shown as they are: {named(columns['sensitive'])}"))
    alone = all(part["confirmed_by_the_file"] for part in promise["parts"])
    removed = f" {DROPPED}" if any(meaning["text"] == DROPPED for meaning in certificate["meanings"]) else ""
    return {
        "is": [
            f"{certificate['files'][0]['name']} has {counted(certificate['rows'], 'record')}, each with a set of items "
            f"({items}), such as what a patient was treated for.{removed}",
            *shown,
            "A published item is the item itself, or stands for several: then the record has one or more of them.",
        ],
        "protects": [
            *(ended(f"{rule[:1].upper()}{rule[1:]}") for rule in rules),
            "Anybody can check this on the file alone."
            if alone
            else "Some of this can be checked on the file alone; the rest was checked by the publisher.",
        ],
        "does_not": [
            f"It promises nothing against somebody who knows more of a person than {named(quasi)} and so many items, "
            "or items that the person does not have.",
            "All records that fit may have further items in common: these are then known of the person too.",
            FAR_COUNTS,
            *_sets_in_words(certificate["items"]["sets_list_items_of_groups"]),
            "It does not hide whether somebody is in it at all, nor what another file about the same people adds.",
        ],
    }
