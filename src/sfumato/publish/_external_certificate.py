"""The certificate of a file that was made elsewhere: who made it, what is claimed, what the file confirms and what not.

Nothing is promised of it: we did not make it. The public certificate is made of what was said of the file and of what
the written file shows by itself. The publisher's own has what was found with the table at hand beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.anonymizers.external.external import Brought
from sfumato.auditing.audit import Audit
from sfumato.data.reading import Table
from sfumato.measures.all_measures import MEASURES
from sfumato.publish._written_file import FileAlone, ReleasedColumns, argument, public_check
from sfumato.publish.cautions import IDENTITY, Caution
from sfumato.publish.certificate import ALONE, Origin, foot, head, warning
from sfumato.publish.plain_language import PlainWords, named
from sfumato.release.writing import GROUP
from sfumato.requirements.requirement import requirement
from sfumato.texts.format import counted, ended, listed

NOT_BY_US = (
    "This file was made elsewhere. sfumato promises nothing of how it came about; it says what is claimed, and what "
    "everybody can confirm on the file."
)
NO_PROOF = (
    "Nothing that stands in a file can show differential privacy: it is a promise about how the file was drawn, and "
    "rests on who made it."
)
NOBODY = "The records are said to stand for nobody, so nothing about groups of people can be confirmed on them."
NOTHING_CLAIMED = "Nothing is claimed for this file."
NOT_ALONE = "the file alone does not confirm it"
EYES = (
    "For your eyes only: worked out with the table at hand, so it can tell of records that are not in the file. "
    "Measures are relative to the whole table."
)
PERSONS = ("Records are counted", "If a person can have several records, the risks here are too low.")
GROUPS = (
    "Groups",
    "A group is what a reader of the file sees: all rows with the same text in every column an outsider may know.",
)
BUCKETS = (
    "Buckets",
    f"Rows with the same text in the column '{GROUP}' are a bucket. Which of its sensitive values belongs to which of "
    "its rows is not told: they were dealt out anew before the file was written.",
)
MEANINGS = [
    (
        "Confirmed by the file",
        "Where a claim compares with the table, the rows of the file are taken for it: so everybody can check it, and "
        "it tells nothing of records that are not in the file.",
    ),
]


@dataclass(frozen=True)
class ForeignFile:
    """What a written file is, for its certificates."""

    maker: Brought
    columns: ReleasedColumns
    path: Path
    draft: Path
    rows: int
    alone: FileAlone | None
    """What it shows by itself of groups; None where its records stand for nobody or no group can be told."""


def foreign_cautions(maker: Brought, columns: ReleasedColumns) -> list[Caution]:
    """List what such a file does not protect against; for everybody, so it follows from what was said alone."""
    cautions = [Caution("origin", NOT_BY_US)]
    if maker.group is not None:
        cautions.append(Caution("identity", IDENTITY))
    if not maker.people:
        cautions.append(
            Caution(
                "synthetic records",
                "That a record is nobody's does not mean that nobody's record is in the file: who drew it may have "
                "repeated rare people as they are. Only a proof about how it was drawn excludes that.",
            )
        )
    cautions += [
        Caution(
            "composition",
            "Another file about the same people, by whomever, can be joined with this one.",
        ),
        Caution(
            "background knowledge",
            f"Who knows more of a person than {named(columns.quasi) or 'the columns here'} can exclude records.",
        ),
    ]
    if columns.neutral:
        names = listed(columns.neutral)
        cautions.append(
            Caution("neutral columns", f"{ended(f'Taken for harmless: {names}')} Their content was not judged.")
        )
    return cautions


def public_foreign_certificate(file: ForeignFile, cautions: Sequence[Caution]) -> dict[str, Any]:
    """Write the certificate for everybody."""
    maker, columns, alone = file.maker, file.columns, file.alone
    confirmed = () if alone is None else alone.confirmed
    measures = {} if alone is None else dict(alone.measures)
    return {
        **head({file.path.name: file.draft}, file.rows),
        "promise": {
            "claimed": maker.claimed,
            "made_by": maker.label or "",
            "records": "people" if maker.people else "nobody",
            "parts": _parts(maker, confirmed),
            "checked_on_the_file": bool(confirmed),
            "why_not_checked": _why_not(maker, confirmed),
        },
        "columns": {
            "quasi": list(columns.quasi),
            "sensitive": list(columns.sensitive),
            "neutral": list(columns.neutral),
        },
        "shown": {} if alone is None else dict(alone.shown),
        "relative_to": "the file",
        "measures": measures,
        "meaning": {name: MEASURES[name].meaning for name in measures if name in MEASURES},
        "anonymizer": maker.public.described_in_words,
        "form": maker.form,
        **foot([PERSONS, GROUPS if maker.group is None else BUCKETS, *MEANINGS], cautions, file.path.name),
        "verify": _check(file, confirmed),
    }


def _check(file: ForeignFile, confirmed: Sequence[str]) -> list[str]:
    """Write how the file is checked again: what it confirms, or that it is the one that is meant."""
    if not file.columns.quasi:
        return ["sha256sum", argument(file.path.name)]
    return public_check([file.path.name], file.columns, file.maker.form, confirmed)


def _parts(maker: Brought, confirmed: Sequence[str]) -> list[dict[str, Any]]:
    """Say of every part of a claimed requirement whether the file confirms it."""
    if maker.claim is None:
        return []
    return [
        {
            "requirement": str(part),
            "in_words": part.rule_in_words("group" if maker.group is None else "bucket"),
            "confirmed_by_the_file": str(part) in confirmed,
            "checked": ALONE if str(part) in confirmed else NOT_ALONE,
        }
        for part in requirement(maker.claim).parts
    ]


def _why_not(maker: Brought, confirmed: Sequence[str]) -> str:
    if maker.epsilon is not None:
        return NO_PROOF
    if maker.claim is None:
        return NOTHING_CLAIMED
    if not maker.people:
        return NOBODY
    return "" if len(confirmed) == len(requirement(maker.claim).parts) else NOT_ALONE.capitalize() + "."


def foreign_certificate(
    outside: Mapping[str, Any],
    maker: Brought,
    table: Table,
    origin: Origin,
    cautions: Sequence[Caution],
    findings: Mapping[str, Any],
    measures: Mapping[str, float],
    checked: Audit | None,
    left_out: Sequence[str],
) -> dict[str, Any]:
    """Write the publisher's certificate: the public one, and beside it what only the publisher may see.

    `found` is what reading the file against the table found, `checked` the audit of the written file.
    """
    return {
        **outside,
        "for": "the publisher",
        "anonymizer": str(maker),
        "warnings": [
            *(warning(caution) for caution in cautions),
            *({"about": "measures", "text": text} for text in findings["cautions"]),
        ],
        "for_your_eyes": {
            "note": EYES,
            "made_of": maker.made_of,
            "digest": maker.digest,
            "verdict": {key: findings[key] for key in ("claim", "verdict", "why") if key in findings},
            "truthful": findings["truthful"],
            "rows": findings["rows"],
            "columns_left_out": list(left_out),
            "relative_to": "the table",
            "measures": dict(measures),
            "meaning": {name: MEASURES[name].meaning for name in measures if name in MEASURES},
            "coverage": {}
            if checked is None or checked.coverage is None
            else {"holds": checked.coverage.holds, "checked": checked.coverage.checked},
            "dropped": table.dropped,
            **origin.content(table.cells.records),
            "notices": [*findings["notices"], *table.notices],
        },
    }


def foreign_in_plain_words(certificate: Mapping[str, Any]) -> PlainWords:
    """Say of what was made elsewhere what it is, what it protects and what it does not."""
    promise, columns = certificate["promise"], certificate["columns"]
    name, rows = certificate["files"][0]["name"], counted(certificate["rows"], "row")
    maker = f" ({promise['made_by']})" if promise["made_by"] else ""
    people = "each said to be made of one record of a table about people"
    nobody = "which are said to be nobody's: made up to look like people of a table"
    protects = []
    k = int(certificate["measures"].get("k", 1))
    if k > 1:
        protects.append(
            f"Whoever knows {named(columns['quasi'])} of a person finds at least {k:,} rows with the same texts, or "
            "none: everybody can count that."
        )
    if promise["claimed"]:
        confirmed = [part["confirmed_by_the_file"] for part in promise["parts"]]
        state = "The file confirms it" if confirmed and all(confirmed) else "The file alone does not confirm it"
        protects.append(f"Claimed by who made it: {promise['claimed']}. {state}. {promise['why_not_checked']}".rstrip())
    else:
        protects.append(NOTHING_CLAIMED)
    listed = named([*columns["quasi"], *columns["sensitive"], *columns["neutral"]])
    exact = ended(f"It does not hide who is in it: it has the exact values of {named(columns['quasi'])}")
    return {
        "is": [
            f"{name} has {rows}, {people if promise['records'] == 'people' else nobody}. It was made elsewhere{maker}.",
            ended(f"It has the columns {listed}"),
        ],
        "protects": protects,
        "does_not": [
            *([exact] if certificate["form"] == "bucketization" else []),
            "Nobody here promises how it came about: what it protects beyond what the file shows rests on who made it.",
            "It does not hide whether somebody is in it at all, nor what another file about the same people adds.",
        ],
    }
