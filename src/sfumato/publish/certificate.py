"""The certificate of a release: what was promised, what the written file achieves, and what it does not protect.

It is a JSON document and, for people, a page made of it (`page`). There are two. The public one is made first, of the
settings and of what the written file shows by itself (`file_alone`); nothing else is looked at. The publisher's own is
the same with a part `for_your_eyes`, and nothing of that part may leave the house.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

from sfumato.auditing.audit import Audit
from sfumato.auditing.ledger import file_digest
from sfumato.config.documents import fields, in_shape, listed, number, one_of, plain, read_json, text
from sfumato.data.reading import Unit
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES
from sfumato.publish._written_file import FileAlone, ReleasedColumns, public_check, publisher_check, seen_from
from sfumato.publish.cautions import Caution, found_first
from sfumato.release.changes import column_changes
from sfumato.release.release import Release
from sfumato.report.data_summary import unit_meaning
from sfumato.report.point_summary import changes_sentence
from sfumato.requirements.requirement import Requirement
from sfumato.runtime.staging import parts_of
from sfumato.texts.format import percent
from sfumato.tradeoff.study.candidate import Candidate

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

LIBRARIES = ("sfumato", "numpy", "numba", "duckdb", "pyarrow")
ALONE = "confirmed by the file alone; where the part speaks of the table, its own rows are taken for it"
NOT_SHOWN = "no sensitive column is in the file, which tells nothing of one"
DROPPED = "Records that miss a value were removed before anything else."
COUNTED: Mapping[Unit, str] = {
    "records": "Records were counted. A person with several records may be behind several rows of a group.",
    "one each": "Records were counted; the publisher declares that every record is another person.",
    "persons": (
        "Persons were counted, with the unpublished table that says whose record it is. The file alone shows rows."
    ),
}
"""What the sizes of groups count."""

RESTS = "checked by the publisher against the unpublished table; the file alone cannot confirm it"
EYES = (
    "For your eyes only: worked out with the table at hand, so it can tell of records that are not in the file. "
    "Measures and promise are here relative to the whole table."
)
PUBLIC_MEANINGS = (
    *(unit_meaning(unit)[0] for unit in get_args(Unit)),
    "Groups",
    "Bucketization does not hide who is in the table",
    "Weights",
)
"""Meanings of a map that depend on nothing but the settings, and are needed to read a certificate."""


@dataclass(frozen=True)
class Origin:
    """Where a release comes from: the table, the study and the point, each by its digest."""

    table: str
    digest: str
    study: str = ""
    study_digest: str = ""
    point: str = ""
    study_file: str = ""
    """Where the study is that declares the table and how it is read."""

    def content(self, records: int) -> dict[str, Any]:
        """Return what the publisher is told of it; how many records there are tells of those that are not published."""
        return {
            "input": {"table": self.table, "sha256": self.digest, "records": records},
            "study": {"name": self.study, "sha256": self.study_digest, "point": self.point},
        }


def certificate_files(path: Path) -> list[Path]:
    """Name the certificates of a data file: the publisher's, and the public one, each as JSON and as a page."""
    names = ("certificate.json", "certificate.html", "certificate-public.json", "certificate-public.html")
    return [path.with_name(f"{path.name}.{name}") for name in names]


def internal(certificates: Sequence[Path]) -> Sequence[Path]:
    """Pick the publisher's own from the certificates of a data file: they tell what was suppressed."""
    return certificates[:2]


def public_certificate(
    candidate: Candidate,
    promised: Requirement,
    columns: ReleasedColumns,
    files: Mapping[str, Path],
    alone: FileAlone,
    cautions: Sequence[Caution],
    meanings: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """Write the certificate for everybody, of the settings and of what the file shows by itself.

    `promised` is the strongest requirement of the kinds asked for that the file keeps.
    `files` are the written files by their final names; the texts of `cautions` and `meanings` are for everybody.
    """
    names = list(files)
    return {
        **head(files, alone.rows),
        "promise": {
            "requirement": str(promised),
            "parts": [_part(part, candidate.form, columns, alone) for part in promised.parts],
            "counted": {"unit": columns.unit, "in_words": COUNTED[columns.unit]},
            "form": candidate.form,
            "suppress_at_most": candidate.suppress,
            "checked_on_the_file": True,
            **({} if columns.household is None else {"households": {"in_words": _households(candidate.suppress)}}),
        },
        "columns": {
            "quasi": list(columns.quasi),
            "sensitive": list(columns.sensitive),
            "neutral": list(columns.neutral),
            **({"weights": dict(columns.weights)} if columns.weights else {}),
        },
        "shown": dict(alone.shown),
        **({} if alone.with_neutral is None else {"including_neutral": including_neutral(*alone.with_neutral)}),
        "relative_to": "the file",
        "measures": dict(alone.measures),
        "by_sensitive": {name: dict(values) for name, values in alone.by_sensitive.items()},
        "meaning": {name: MEASURES[name].meaning for name in alone.measures if name in MEASURES},
        "baselines": {name: {"file": dict(shares)} for name, shares in alone.shares.items()},
        "anonymizer": public_maker(candidate.anonymizer),
        **foot(meanings, cautions, names[0]),
        "verify": public_check(names, columns, candidate.form, alone.confirmed),
    }


def including_neutral(smallest: int, alone: int) -> dict[str, int]:
    """Say what is left of k for an attacker who also knows the neutral columns."""
    return {"k": smallest, "alone": alone}


def public_maker(maker: Any) -> str:
    """Name who made a release as everybody may know it, and without what a search found by looking at all records."""
    return str(maker.name) if getattr(maker, "is_found", False) else str(maker.public)


def dropped(missing: str) -> list[tuple[str, str]]:
    """Say to everybody that records were removed that miss a value, where that is a setting."""
    return [("Missing values", DROPPED)] if missing == "drop" else []


def certificate(
    outside: Mapping[str, Any],
    release: Release,
    candidate: Candidate,
    origin: Origin,
    path: Path,
    parts: Sequence[str],
    checked: Audit,
    cautions: Sequence[Caution],
    meanings: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """Write the publisher's certificate: the public one, and beside it what the publisher alone may see.

    `checked` is the audit of the file against the table, which asked for `parts`; `path` is the data file.
    """
    together = checked.households
    confirmed = together is not None and together.holds
    shared = {"same_value_of": release.table.shared_names, "confirmed_on_the_file": confirmed}
    household = release.table.roles.household if confirmed else None
    study = seen_from(path.parent, origin.study_file)
    return {
        **inside(outside, str(candidate.anonymizer), cautions),
        "verify": publisher_check(
            [file["name"] for file in outside["files"]],
            candidate.form,
            parts,
            study,
            household,
            release.table.roles.person,
        ),
        "for_your_eyes": {
            "note": EYES,
            "required": str(candidate.requirement),
            "done": changes_sentence(column_changes(release), release.suppressed, release.cells.records),
            "relative_to": "the table",
            "measures": dict(checked.measures),
            "by_sensitive": {name: dict(measures) for name, measures in checked.by_sensitive.items()},
            "meaning": {name: MEASURES[name].meaning for name in checked.measures if name in MEASURES},
            "baselines": _baselines(release),
            "details": dict(release.details),
            "suppressed": {
                "records": release.suppressed,
                "of": release.cells.records,
                "dropped": release.table.dropped,
            },
            **({} if together is None else {"households": shared}),
            **origin.content(release.cells.records),
            "meanings": [{"name": name, "text": text} for name, text in meanings],
            "notices": [*release.table.notices, *release.table.household_notices()],
        },
    }


def head(files: Mapping[str, Path], rows: int) -> dict[str, Any]:
    """Begin a public certificate: which files it speaks of, by their final names, and where they stand now."""
    return {
        "kind": "sfumato certificate",
        "for": "the public",
        "made": datetime.now(UTC).date().isoformat(),
        "files": [{"name": name, "sha256": file_digest(path), "bytes": _bytes(path)} for name, path in files.items()],
        "rows": rows,
    }


def foot(
    meanings: Sequence[tuple[str, str]], cautions: Sequence[Caution], name: str, libraries: Sequence[str] = LIBRARIES
) -> dict[str, Any]:
    """End a public certificate, but for the words of the command by which the file is checked again."""
    return {
        "versions": {"python": platform.python_version()} | {library: version(library) for library in libraries},
        "meanings": [{"name": meaning, "text": text} for meaning, text in meanings],
        "warnings": [{"about": caution.about, "text": caution.text} for caution in cautions],
        "verify_in": f"the folder that holds {name}",
    }


def inside(outside: Mapping[str, Any], maker: str, cautions: Iterable[Caution]) -> dict[str, Any]:
    """Begin the publisher's certificate: the public one, with all settings of the maker and with what was found."""
    warnings = [warning(caution) for caution in found_first(cautions)]
    return {**outside, "for": "the publisher", "anonymizer": maker, "warnings": warnings}


def public_meanings(candidate: Candidate, missing: str, meanings: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pick from the meanings of a map what the public needs, and say the rest by the settings alone."""
    known = dict(meanings)
    value = "A missing value is a value of its own beside the others, never inside a range."
    most = (
        f"Up to {percent(candidate.suppress, 3)} of the records were allowed to be left out. "
        if candidate.suppress
        else "No record was allowed to be left out. "
    )
    return [
        *((name, known[name]) for name in PUBLIC_MEANINGS if name in known),
        (
            "What an outsider knows already",
            "Q, the baseline distribution, is in every requirement that of the whole table, suppressed records "
            "included. The measures here take that of the file instead: a number that compares with the whole table "
            "would tell of the records that are not in the file.",
        ),
        ("Missing values", DROPPED if missing == "drop" else value),
        ("Suppressed records", f"{most}How many were is not said, and nothing here depends on them."),
    ]


def _households(suppress: float) -> str:
    """Say what was made so of the members of a household, without what only the table tells."""
    alone = "; a member may be left out alone" if suppress else ""
    return (
        "all published members of a household show the same value of every quasi-identifier of which no household of "
        "the table has two values, and somewhere two members have one; a member of whom it is missing may show that "
        f"instead{alone}"
    )


def _part(part: Requirement, form: str, columns: ReleasedColumns, alone: FileAlone) -> dict[str, Any]:
    """Say what a part promises, and who can check it."""
    confirmed = str(part) in alone.confirmed
    return {
        "requirement": str(part),
        "in_words": part.rule_in_words("bucket" if form == "bucketization" else "group"),
        "confirmed_by_the_file": confirmed,
        "checked": ALONE if confirmed else RESTS if columns.sensitive or not part.about_sensitive else NOT_SHOWN,
    }


def warning(caution: Caution) -> dict[str, str]:
    """Write a caution for the publisher, with what was found."""
    content = {"about": caution.about, "text": caution.text}
    return content | ({"found": caution.count} if caution.count else {})


def _baselines(release: Release) -> dict[str, Any]:
    """Say Q, the table's distribution of every sensitive attribute, and the file's."""
    if release.histograms is None:
        return {}
    baselines = {}
    for place, attribute in enumerate(release.histograms.sensitive):
        published = release.histograms.of(place).sum(axis=0)
        baselines[attribute.name] = {
            "table": dict(zip(attribute.labels, attribute.shares.tolist(), strict=True)),
            "file": {
                label: int(n) / release.assignment.records
                for label, n in zip(attribute.labels, published, strict=True)
                if n
            },
        }
    return baselines


def _bytes(path: Path) -> int:
    return sum(part.stat().st_size for part in parts_of(path))


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
