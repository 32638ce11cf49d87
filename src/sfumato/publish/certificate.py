"""The certificate of a release: what was promised, what the written file achieves, and what it does not protect.

It is a JSON document and, for people, a page made of it (`page`). There are two: the publisher's own, and a public one
that says nothing of individual records: no seed, nothing of what was suppressed, no value the file does not show.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.anonymizers import Maker, Mondrian
from sfumato.errors import BadInputError
from sfumato.measures import MEASURES
from sfumato.publish.cautions import Caution, cautions
from sfumato.publish.together import Together
from sfumato.release import Release
from sfumato.release.writing import GROUP
from sfumato.requirements import Requirement
from sfumato.tradeoff.words import listed

SCHEMA = 1
LIBRARIES = ("sfumato", "numpy", "numba", "duckdb", "pyarrow")
TELL_OF_SUPPRESSED = ("suppressed", "suppression_loss", "generalization_loss", "loss", "discernibility")
"""Measures from which the number of suppressed records follows: not for the public.

Who has the file and the hierarchies works out what its values lose; the rest of `loss` is what was suppressed.
"""


@dataclass(frozen=True)
class Origin:
    """Where a release comes from: the table, the study and the point, each by its digest."""

    table: str
    digest: str
    study: str = ""
    study_digest: str = ""
    point: str = ""


def certificate_files(path: Path) -> list[Path]:
    """Name the certificates of a data file: the publisher's, and the public one, each as JSON and as a page."""
    names = ("certificate.json", "certificate.html", "certificate-public.json", "certificate-public.html")
    return [path.with_name(f"{path.name}.{name}") for name in names]


def certificate(
    release: Release,
    maker: Maker,
    requirement: Requirement,
    suppress: float,
    origin: Origin,
    files: Mapping[str, Path],
    checked: Mapping[str, Any],
    meanings: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """Write the publisher's certificate. `files` are the written files by their final names, `checked` the audit."""
    roles = release.table.roles
    target, stop = (maker.target, maker.stop) if isinstance(maker, Mondrian) else (None, None)
    found = cautions(release, requirement, target, stop, getattr(maker, "dealing", ""))
    return {
        "kind": "sfumato certificate",
        "for": "the publisher",
        "made": datetime.now(UTC).replace(microsecond=0).isoformat(),
        "files": [described_file(name, path) for name, path in files.items()],
        "rows": release.assignment.records,
        "promise": {
            "requirement": str(requirement),
            "parts": [_part(part, release.form) for part in requirement.parts],
            "form": release.form,
            "suppress_at_most": suppress,
            "checked_on_the_file": True,
            **_households(release, checked["households"], suppress),
        },
        "columns": {
            "quasi": list(roles.quasi),
            "sensitive": list(roles.sensitive) if release.histograms is not None else [],
            "neutral": list(roles.neutral),
        },
        "measures": dict(checked["measures"]),
        "by_sensitive": {name: dict(own) for name, own in checked["by_sensitive"].items()},
        "meaning": {name: MEASURES[name].meaning for name in checked["measures"] if name in MEASURES},
        "baselines": _baselines(release),
        "anonymizer": str(maker),
        "details": dict(release.details),
        "suppressed": {"records": release.suppressed, "of": release.cells.records, "dropped": release.table.dropped},
        "input": {"table": origin.table, "sha256": origin.digest, "records": release.cells.records},
        "study": {"name": origin.study, "sha256": origin.study_digest, "point": origin.point},
        "versions": {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES},
        "meanings": [{"name": name, "text": text} for name, text in meanings],
        "warnings": [_warning(caution) for caution in found],
        "notices": [*release.table.notices, *release.table.household_notices()],
        "verify": [*_verify(release, requirement, next(iter(files))), "--original", origin.table],
    }


def public(content: Mapping[str, Any], maker: Maker) -> dict[str, Any]:
    """Leave out of a certificate what is not for the public."""
    kept = {
        key: value
        for key, value in content.items()
        if key not in ("details", "suppressed", "input", "study", "notices", "baselines")
    }
    hidden = set(TELL_OF_SUPPRESSED)
    kept["for"] = "the public"
    kept["anonymizer"] = str(without_seed(maker))
    kept["measures"] = {name: value for name, value in content["measures"].items() if name not in hidden}
    kept["meaning"] = {name: value for name, value in content["meaning"].items() if name not in hidden}
    kept["baselines"] = {name: {"file": own["file"]} for name, own in content["baselines"].items()}
    kept["warnings"] = [{key: value for key, value in own.items() if key != "found"} for own in content["warnings"]]
    kept["verify"] = content["verify"][:-2]  # not against the original
    kept["meanings"] = [own for own in content["meanings"] if own["name"] not in ("Missing values", "Queries")]
    return kept


def _households(release: Release, found: Together | None, suppress: float) -> dict[str, Any]:
    """Say what the members of a household show alike: made so, and whether the written file confirms it by itself."""
    names = release.table.shared_names
    if found is None or not names:
        return {}
    alone = "; a member may be left out alone" if suppress else ""
    return {
        "households": {
            "same_value_of": names,
            "in_words": f"all published members of a household show the same value of {listed(names)}{alone}",
            "confirmed_on_the_file": found.holds,
        }
    }


def without_seed(maker: Any) -> Any:
    """Return the anonymizer as anybody may know it: with the usual seed."""
    usual = {own.name: own.default for own in fields(maker) if own.name == "seed"}
    return replace(maker, **usual)


def _part(part: Requirement, form: str) -> dict[str, str]:
    return {"requirement": str(part), "in_words": part.rule_in_words("bucket" if form == "bucketization" else "group")}


def _warning(caution: Caution) -> dict[str, str]:
    found = {"about": caution.about, "text": caution.text}
    return found | ({"found": caution.count} if caution.count else {})


def _baselines(release: Release) -> dict[str, Any]:
    """Say Q, the table's distribution of every sensitive attribute, and the file's."""
    if release.histograms is None:
        return {}
    found = {}
    for place, attribute in enumerate(release.histograms.sensitive):
        published = release.histograms.of(place).sum(axis=0)
        found[attribute.name] = {
            "table": dict(zip(attribute.labels, attribute.shares.tolist(), strict=True)),
            "file": {
                label: int(n) / release.assignment.records
                for label, n in zip(attribute.labels, published, strict=True)
                if n
            },
        }
    return found


def described_file(name: str, path: Path) -> dict[str, Any]:
    """Say which file a certificate speaks of, by its final name and its digest."""
    return {"name": name, "sha256": file_digest(path), "bytes": path.stat().st_size}


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _verify(release: Release, requirement: Requirement, name: str) -> list[str]:
    """Return the words of the command that checks the promise on the file."""
    words = ["sfumato", "audit", name]
    for column in release.table.roles.quasi:
        words += ["--quasi", column]
    if release.histograms is not None:
        for column in release.table.roles.sensitive:
            words += ["--sensitive", column]
    if release.form == "bucketization":
        words += ["--group", GROUP]
    return [*words, "--suppressed", "keep", "--require", str(requirement)]


def read_certificate(path: Path) -> dict[str, Any]:
    """Read a certificate back."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except ValueError as error:
        raise BadInputError(f"{path}: not a certificate ({error})") from None
    if not isinstance(content, dict) or content.get("kind") != "sfumato certificate":
        raise BadInputError(f"{path}: not a certificate of sfumato")
    if content.get("schema") != SCHEMA:
        raise BadInputError(f"{path}: schema {content.get('schema')!r} is not known to this version")
    return content


def check_certificate(content: Mapping[str, Any], certified: Path, data: Path) -> None:
    """Raise unless a data file is the one that a certificate speaks of, byte by byte."""
    named = {own["name"]: own["sha256"] for own in content["files"]}
    digest = file_digest(data)
    if digest not in named.values():
        raise BadInputError(
            f"{data} is not the file that {certified} certifies (it speaks of {', '.join(named)} with SHA-256 "
            f"{next(iter(named.values()))[:12]}..., this is {digest[:12]}...): it was changed or exchanged; "
            "publish it again, or audit it without the certificate"
        )
