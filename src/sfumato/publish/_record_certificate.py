"""The certificate of perturbed or synthetic records: how they were made, what is promised if anything, what is not.

The public certificate is made first, of the settings and of what the written file shows by itself. The publisher's is
that with a part `for_your_eyes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.anonymizers.perturbation.record_anonymizer import RecordMaker
from sfumato.publish._noisy_certificate import for_the_publisher
from sfumato.publish._written_file import FileAlone, ReleasedColumns, argument, public_check, publisher_check, seen_from
from sfumato.publish.cautions import Caution
from sfumato.publish.certificate import ALONE, Origin, certificate_files, dropped, foot, head, inside, public_maker
from sfumato.release.records import RecordRelease
from sfumato.tradeoff.study.candidate import Candidate

SIZES = ("k", "smallest_group", "prosecutor", "marketer", "average_group", "weighted_k")
"""What can be said of rows that look alike, though their values are not those that were recorded."""

UNPROVED = (
    "Nothing is promised of this file that could be checked on it: it was made by the method named below, and how well "
    "that protects can be tried by attacks, not proved. Checked on the written file: that it holds just the records "
    "that were made."
)
EYES = (
    "For your eyes only: worked out with the table at hand. The measures are those of the map, of a release made in "
    "the same way."
)


def public_record_certificate(
    candidate: Candidate,
    columns: ReleasedColumns,
    missing: str,
    path: Path,
    draft: Path,
    alone: FileAlone,
    cautions: Sequence[Caution],
) -> dict[str, Any]:
    """Write the certificate for everybody, of the settings and of what the file shows by itself."""
    maker = candidate.anonymizer
    assert isinstance(maker, RecordMaker)
    parts = maker.promises
    certified = argument(certificate_files(path)[2].name)
    verify = public_check([path.name], columns, candidate.form, list(map(str, parts)))
    return {
        **head({path.name: draft}, alone.rows),
        "promise": {
            "requirement": " & ".join(map(str, parts)) or "nothing",
            "parts": [
                {
                    "requirement": str(part),
                    "in_words": part.rule_in_words("group"),
                    "confirmed_by_the_file": True,
                    "checked": ALONE,
                }
                for part in parts
            ],
            "form": "synthetic records" if not maker.people else "changed records",
            "suppress_at_most": 0,
            "checked_on_the_file": bool(parts),
            **({} if parts else {"why_not_checked": UNPROVED}),
        },
        "columns": {"quasi": list(columns.quasi), "sensitive": list(columns.sensitive), "neutral": []},
        "measures": {name: value for name, value in alone.measures.items() if parts and name in SIZES},
        "anonymizer": public_maker(candidate.anonymizer),
        "in_words": maker.in_words(),
        **foot(_meanings(candidate, missing), cautions, path.name),
        "verify": verify if parts else ["sfumato", "audit", argument(path.name), "--certificate", certified],
    }


def record_certificate(
    outside: Mapping[str, Any],
    release: RecordRelease,
    candidate: Candidate,
    origin: Origin,
    path: Path,
    cautions: Sequence[Caution],
    measures: Mapping[str, float],
) -> dict[str, Any]:
    """Write the publisher's certificate: the public one, and beside it what the publisher alone may see."""
    parts = [part["requirement"] for part in outside["promise"]["parts"]]
    study = seen_from(path.parent, origin.study_file)
    check = publisher_check([path.name], candidate.form, parts, study, None) if parts else outside["verify"]
    return {
        **inside(outside, str(candidate.anonymizer), cautions),
        "verify": check,
        "for_your_eyes": for_the_publisher(EYES, release.table, origin, measures),
    }


def _meanings(candidate: Candidate, missing: str) -> list[tuple[str, str]]:
    changed = (
        "A changed record stands for one person of the table, with some values that were not recorded of the person."
    )
    synthetic = "A synthetic record was drawn from a model learned from the records of the table; it stands for nobody."
    return [
        (
            "Records are counted",
            "A person with several records in the table behind the file is easier to find.",
        ),
        ("Changed records", changed) if candidate.anonymizer.people else ("Synthetic records", synthetic),
        *dropped(missing),
    ]
