"""The page of a point: what its release means in words and pictures, and what its certificate would say."""

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.responses import Response

from sfumato.publish.certificate import certificate_files, read_certificate
from sfumato.publish.pipeline import publish_point
from sfumato.report.point_summary import settings
from sfumato.runtime.memory import private_folder
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.question.recipients import refusal, warnings
from sfumato.workbench.endpoints import Call, a_list, an_object, endpoint
from sfumato.workbench.opened_data import all_in_forms, stamps
from sfumato.workbench.projects import Project
from sfumato.workbench.trust import files_of
from sfumato.workbench.views.map import Explored, explored, sample
from sfumato.workbench.views.page import page

POINT = "/api/projects/{project}/points/{point}"
SAMPLED = an_object(**dict.fromkeys(("records", "tables", "worst"), a_list({"type": "object"})))
ATTACKS = (
    "attack_accuracy",
    "empirical_breach",
    "definetti_accuracy",
    "definetti_gain",
    "a_acc",
    "attack_worst",
    "singling_out",
    "singling_out_univariate",
    "linkability",
    "inference",
    "membership",
    "membership_shadow",
    "record_linkage",
    "replicated_uniques",
    "match_least",
    "match_median",
    "matched_below",
    "rho",
)
"""Measures that say how far somebody got who tried."""

PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; sandbox"
"""What a certificate may do in a browser: look as it looks, and nothing else."""

PREVIEWS = "sfumato-preview-"
"""How the name of the folder begins in which previews are made."""

MOST_KEPT = 8
"""Certificates that are kept in memory after somebody has looked at them."""


@endpoint("GET", POINT)
def point_values(call: Call) -> dict[str, Any]:
    """Tell everything of a release, but for records."""
    read = explored(call.project)
    return told(read, read.point(call.names["point"]))


def told(read: Explored, point: Point) -> dict[str, Any]:
    """Collect what the page of a point says before anything is drawn."""
    values = read.told(point)
    sentences = values["sentences"]
    return values | {
        "title": settings(point),
        "warnings": all_in_forms(warnings(point)),
        "refused": refusal(point),
        "drawn": point.is_noisy,
        "attacks": [sentences[name] for name in ATTACKS if name in sentences],
    }


@endpoint("GET", f"{POINT}/records", gives=SAMPLED)
def records(call: Call) -> dict[str, Any]:
    """Hand out the sample records of a release, before and after: they are records of the table."""
    return sample(explored(call.project).point(call.names["point"]))


@endpoint("GET", f"{POINT}/certificate", gives=an_object(certificate={"type": "object"}))
def certificate(call: Call) -> dict[str, Any]:
    """Say what the public certificate of a release would say; the file it speaks of is made and removed again."""
    content, _ = previewed(call.project, call.names["point"])
    return {"certificate": content}


@endpoint("GET", "/projects/{project}/points/{point}/certificate")
def certificate_page(call: Call) -> Response:
    """Show the public certificate as it would be published."""
    _, text = previewed(call.project, call.names["point"])
    return Response(text, media_type="text/html", headers={"content-security-policy": PAGE_POLICY})


def previewed(project: Project, id: str) -> tuple[dict[str, Any], str]:
    """Return the public certificate that a release would have, and its page."""
    read = explored(project)
    read.point(id)
    made = (project.folder / "points.json").stat().st_mtime_ns
    return _previewed(project.folder, id, (made, project.version, stamps(files_of(read.map_.study))))


def preview_folder() -> Path:
    """Return the private folder of previews, which goes with the process; one that a killed process left goes now."""
    return private_folder(PREVIEWS, Path(tempfile.gettempdir()).absolute())


@lru_cache(maxsize=MOST_KEPT)
def _previewed(folder: Path, id: str, made: tuple[Any, ...]) -> tuple[dict[str, Any], str]:
    """Publish a release into a private folder that is removed at once, and keep what its public certificate says.

    `made` tells apart what is kept: when the map was made, the study's version, and times and sizes of its files.
    """
    with tempfile.TemporaryDirectory(dir=preview_folder()) as place:
        path = Path(place) / f"release-{id}.csv"
        publish_point(folder, id, path)
        _, _, values, text = certificate_files(path)
        return read_certificate(values), text.read_text(encoding="utf-8")


@endpoint("GET", "/projects/{project}/points/{point}")
def point_page(call: Call) -> Response:
    """Show a point."""
    read = explored(call.project)
    point = read.point(call.names["point"])
    data = read.drawn(point) | {"project": call.project.name}
    return page("point.html", call, "map", point=told(read, point), changed=read.is_changed, data=data)
