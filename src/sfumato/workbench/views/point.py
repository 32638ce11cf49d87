"""The page of a point: the meaning of its release in words and pictures, and a preview of its certificate."""

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
from sfumato.tradeoff.question.recipients import unpublishable_reason, warnings
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
"""Measures of the success of attacks."""

PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; sandbox"
"""The content policy of a certificate: styles only."""

PREVIEWS = "sfumato-preview-"
"""The beginning of the name of the preview folder."""

MOST_KEPT = 8
"""Certificates in memory."""


@endpoint("GET", POINT)
def point_values(call: Call) -> dict[str, Any]:
    """Return all values of a release, except for records."""
    read = explored(call.project)
    return point_fields(read, read.point(call.names["point"]))


def point_fields(read: Explored, point: Point) -> dict[str, Any]:
    """Return the values of the page of a point, without drawings."""
    values = read.point_fields(point)
    sentences = values["sentences"]
    return values | {
        "title": settings(point),
        "warnings": all_in_forms(warnings(point)),
        "refused": unpublishable_reason(point),
        "drawn": point.is_noisy,
        "attacks": [sentences[name] for name in ATTACKS if name in sentences],
    }


@endpoint("GET", f"{POINT}/records", gives=SAMPLED)
def records(call: Call) -> dict[str, Any]:
    """Return the sample records of a release, before and after: they are records of the table."""
    return sample(explored(call.project).point(call.names["point"]))


@endpoint("GET", f"{POINT}/certificate", gives=an_object(certificate={"type": "object"}))
def certificate(call: Call) -> dict[str, Any]:
    """Return the public certificate of a release; its file is made and deleted again."""
    content, _ = previewed(call.project, call.names["point"])
    return {"certificate": content}


@endpoint("GET", "/projects/{project}/points/{point}/certificate")
def certificate_page(call: Call) -> Response:
    """Show the public certificate as it would be published."""
    _, text = previewed(call.project, call.names["point"])
    return Response(text, media_type="text/html", headers={"content-security-policy": PAGE_POLICY})


def previewed(project: Project, id: str) -> tuple[dict[str, Any], str]:
    """Return the public certificate of a release, and its page."""
    read = explored(project)
    read.point(id)
    made = (project.folder / "points.json").stat().st_mtime_ns
    return _previewed(project.folder, id, (made, project.version, stamps(files_of(read.map_.study))))


def preview_folder() -> Path:
    """Return the private folder of previews, deleted with the process; a killed one leaves it to the next call."""
    return private_folder(PREVIEWS, Path(tempfile.gettempdir()).absolute())


@lru_cache(maxsize=MOST_KEPT)
def _previewed(folder: Path, id: str, made: tuple[Any, ...]) -> tuple[dict[str, Any], str]:
    """Publish a release into a private folder that is deleted at once, and keep its public certificate.

    `made` is the cache key: the time of the map, the study's version, and times and sizes of its files.
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
    return page("point.html", call, "map", point=point_fields(read, point), changed=read.is_changed, data=data)
