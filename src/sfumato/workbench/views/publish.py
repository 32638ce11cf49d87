"""The page of publishing: recipient and file, earlier publications, and how to repeat them.

A publication can be repeated from the study to the published file by command lines, or in Python.
"""

import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from starlette.responses import Response

from sfumato.config.options import Option
from sfumato.errors import InfeasibleError, SfumatoError
from sfumato.publish.board import board_file
from sfumato.publish.certificate import certificate_files, read_certificate
from sfumato.publish.pipeline import publish_point, published_lines, published_values
from sfumato.report.point_summary import headlines, settings
from sfumato.texts.catalogue import refusal, t
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.question.recipients import RECIPIENTS, unpublishable_reason
from sfumato.workbench.endpoints import Call, a_list, an_object, endpoint, flag, text, whole
from sfumato.workbench.errors import ConflictError, FieldError, MissingError
from sfumato.workbench.opened_data import all_in_forms
from sfumato.workbench.projects import Project
from sfumato.workbench.views.files import download, harmless
from sfumato.workbench.views.map import Explored, explored, recommended
from sfumato.workbench.views.page import page
from sfumato.workbench.views.point import PAGE_POLICY

MAP = "repeated-map"
"""The folder of the repeated map, next to the release."""

RELEASES = "releases"
"""The folder of a project's publications."""

PUBLISHED = "published"
"""The note of a project about its publications: the options of each file."""

MAPPING = ".mapping.json"
CERTIFICATE = ".certificate.json"
RELEASE = "/api/projects/{project}/releases"
FILES = "/projects/{project}/releases/{file}"
PUBLISHING = "/api/projects/{project}/publishing"
FILE = an_object(name=text, kind={"enum": ["data", "public", "own", "board", "mapping"]}, bytes=whole)
DONE = an_object(lines=a_list(text), notices=a_list(text), values={"type": "object"}, files=a_list(FILE), file=text)
UNDER_WAY = an_object(under_way=flag, file=text, step=whole, steps=whole, sentence=text)


@dataclass(frozen=True)
class Publishing:
    """The options of a publication."""

    point: Annotated[str, Option()]
    """The id of the release on the map."""

    file: Annotated[str, Option()]
    """The name of the file to write: .csv or .parquet."""

    recipient: Annotated[Literal["public", "partner", "internal"] | None, Option()] = None
    """The recipient; a release beyond its bounds is refused."""

    layout: Annotated[Literal["rows", "lines", "long"], Option()] = "rows"
    """For baskets: lines, or long: one item per row."""

    mapping: Annotated[bool, Option()] = False
    """Whether to write the mapping of values, too, to recode new data."""

    escape_formulas: Annotated[bool, Option()] = False
    """Whether cells that a spreadsheet would run as formulas get a leading '."""

    replace: Annotated[bool, Option()] = False
    """Whether a file of this name may be replaced."""

    @property
    def mapping_file(self) -> str | None:
        """The file of the mapping, if it is written."""
        return f"{self.file}{MAPPING}" if self.mapping else None

    def commands(self, study: Path) -> str:
        """Return the shell commands that repeat the publication.

        >>> print(Publishing("ab12", "release.csv", "public").commands(Path("study.toml")).splitlines()[-1])
        sfumato release repeated-map --point ab12 --to release.csv --for public
        """
        words = ["sfumato", "release", MAP, "--point", self.point, "--to", self.file]
        words += ["--set", f"layout={self.layout}"] if self.layout != "rows" else []
        words += ["--mapping", self.mapping_file] if self.mapping_file else []
        words += ["--for", self.recipient] if self.recipient else []
        words += ["--set", "escape-formulas=yes"] if self.escape_formulas else []
        explore = ["sfumato", "explore", str(study), "--out", MAP]
        return _template("again.sh").format(explore=shlex.join(explore), release=shlex.join(words))

    def script(self, study: Path) -> str:
        """Return the Python script that repeats the publication."""
        values = {
            "layout": self.layout if self.layout != "rows" else None,
            "mapping": self.mapping_file,
            "escape_formulas": self.escape_formulas or None,
            "recipient": self.recipient,
        }
        named = [f"{name}={value!r}" for name, value in values.items() if value is not None]
        lines = [f"    {each}," for each in ("folder", repr(self.point), repr(self.file), *named)]
        return _template("again.py").format(study=repr(str(study)), map=repr(MAP), options="\n".join(lines))


def _template(name: str) -> str:
    return (files("sfumato.workbench") / "templates" / f"{name}.txt").read_text(encoding="utf-8")


# -- possible publications


def offer(read: Explored, point: Point) -> dict[str, Any]:
    """Return the options for a release: its fitness for each recipient, layouts, additional files."""
    of_baskets = read.map_.study.section == "baskets"
    maker = point.candidate.anonymizer
    return {
        "id": point.id,
        "words": settings(point),
        "headlines": [headline.values() for headline in headlines(read.map_, point)],
        "refused": unpublishable_reason(point),
        "recipients": [
            {
                "name": each.name,
                "meaning": each.meaning,
                "against": all_in_forms(list(each.fitness(read.map_, point).objections)),
            }
            for each in RECIPIENTS.values()
        ],
        "layouts": ["lines", "long"] if of_baskets else ["rows"],
        "mapping": point.is_grouped and not maker.external and not maker.baseline,
        "drawn": point.is_noisy,
        "file": f"release-{point.id}.csv",
    }


@endpoint("GET", "/api/projects/{project}/points/{point}/offer")
def offered(call: Call) -> dict[str, Any]:
    """Return the options for publishing a release."""
    read = explored(call.project)
    return offer(read, read.point(call.names["point"]))


@endpoint("GET", "/projects/{project}/publish", query="point")
def publish_page(call: Call) -> Response:
    """Show the possible and the earlier publications."""
    project = call.project
    if not project.is_explored:
        return page("map-empty.html", call, "publish", data={"project": project.name})
    read = explored(project)
    asked = call.query.get("point", "")
    best = recommended(read.map_, None)["point"]
    point = read.point(asked) if asked else None if best is None else read.point(best["id"])
    chosen = None if point is None else offer(read, point)
    return page(
        "publish.html",
        call,
        "publish",
        changed=read.is_changed,
        offered=[(each.id, settings(each)) for each in read.measured if not unpublishable_reason(each)],
        chosen=chosen,
        published=releases(project),
        data={"project": project.name, "chosen": chosen, "publishing": progress(call)["under_way"]},
    )


# -- publishing


@endpoint("POST", RELEASE, Publishing, gives=DONE)
def publish(call: Call) -> dict[str, Any]:
    """Publish a release into the project's folder, audited on the written file; return the result."""
    project, asked = call.project, call.body
    _check_name(asked.file)
    if explored(project).is_changed:
        raise ConflictError(t("publish.changed"))
    folder = project.folder / RELEASES
    if folder.is_symlink():
        raise refusal("publish.link", folder=RELEASES)
    folder.mkdir(exist_ok=True)
    with call.house.publications.alone(folder, asked.file):
        done = _published(project, asked, folder)
        kept = project.notes().get(PUBLISHED, {})
        project.note(**{PUBLISHED: {**kept, asked.file: asdict(asked)}})
    return {
        "lines": list(map(project.in_page_words, published_lines(done.published, done.audit))),
        "notices": list(map(project.in_page_words, done.notices)),
        "values": dict(published_values(done.published, done.audit)),
        "files": [_file(path, asked.file) for path in done.files],
        "file": asked.file,
    }


def _published(project: Project, asked: Publishing, folder: Path) -> Any:
    mapping = folder / asked.mapping_file if asked.mapping_file else None
    how: tuple[Any, ...] = (asked.layout, asked.replace, mapping, asked.escape_formulas, asked.recipient)
    try:
        return publish_point(project.folder, asked.point, folder / asked.file, *how)
    except AssertionError as error:
        raise InfeasibleError(t("publish.unconfirmed", why=error)) from None


def _check_name(name: str) -> None:
    """Raise unless a name is a plain file name."""
    if name != harmless(name) or name.startswith("."):
        raise FieldError("file", t("publish.bad_name", file=name))
    if Path(name).suffix.lower() not in (".csv", ".parquet"):
        raise FieldError("file", t("publish.bad_ending", file=name))


@endpoint("GET", PUBLISHING, gives=UNDER_WAY)
def progress(call: Call) -> dict[str, Any]:
    """Return the progress of the project's running publication."""
    return call.house.publications.progress(call.project.folder / RELEASES)


@endpoint("DELETE", PUBLISHING, gives=UNDER_WAY)
def cancel(call: Call) -> dict[str, Any]:
    """Stop the project's running publication; nothing of it remains."""
    return call.house.publications.cancel(call.project.folder / RELEASES)


# -- earlier publications


def releases(project: Project) -> list[dict[str, Any]]:
    """List the publications of a project from their certificates, latest first."""
    folder = project.folder / RELEASES
    if folder.is_symlink() or not folder.is_dir():
        return []
    latest = sorted(folder.glob(f"*{CERTIFICATE}"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    return [each for each in (_told(project, path) for path in latest) if each is not None]


def _told(project: Project, certificate: Path) -> dict[str, Any] | None:
    """Return the facts of a published file; None if its certificate cannot be read."""
    try:
        content = read_certificate(certificate)
    except SfumatoError:
        return None
    first = certificate.with_name(certificate.name.removesuffix(CERTIFICATE))
    named = [certificate.with_name(each["name"]) for each in content["files"]]
    others = [*certificate_files(first), board_file(first), first.with_name(f"{first.name}{MAPPING}")]
    asked = project.notes().get(PUBLISHED, {}).get(first.name, {})
    return {
        "file": first.name,
        "made": content["made"],
        "rows": content.get("rows"),
        "point": content.get("internal", {}).get("study", {}).get("point", ""),
        "recipient": asked.get("recipient"),
        "files": [_file(path, first.name) for path in (*named, *others) if path.is_file()],
        "repeatable": bool(asked),
    }


def _file(path: Path, data: str) -> dict[str, Any]:
    """Return the kind and size of a file."""
    kinds = dict(zip(certificate_files(Path(data)), ("own", "own", "public", "public"), strict=True))
    kind = kinds.get(Path(path.name), "data")
    kind = {f"{data}{MAPPING}": "mapping", board_file(Path(data)).name: "board"}.get(path.name, kind)
    return {"name": path.name, "kind": kind, "bytes": path.stat().st_size}


@endpoint("GET", RELEASE, gives=an_object(releases=a_list({"type": "object"})))
def listed(call: Call) -> dict[str, Any]:
    """List the publications of a project."""
    return {"releases": releases(call.project)}


@endpoint("GET", FILES)
def handed_out(call: Call) -> Response:
    """Return a published file; pages are shown without permissions."""
    name, folder = call.names["file"], call.project.folder / RELEASES
    response = download(folder, name, name, "text/html" if name.endswith(".html") else "application/octet-stream")
    if name.endswith(".html"):
        del response.headers["content-disposition"]
        response.headers["content-security-policy"] = PAGE_POLICY
    return response


def _again(call: Call, text: Callable[[Publishing, Path], str], name: str) -> Response:
    """Return a text that explains how a file was published."""
    asked = call.project.notes().get(PUBLISHED, {}).get(call.names["file"])
    if asked is None:
        raise MissingError(t("publish.no_file", file=call.names["file"]))
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text(Publishing(**asked), call.project.file.resolve()), media_type="text/plain", headers=headers)


@endpoint("GET", f"{FILES}/again.sh")
def commands(call: Call) -> Response:
    """Return the commands that repeat a publication."""
    return _again(call, Publishing.commands, "again.sh")


@endpoint("GET", f"{FILES}/again.py")
def script(call: Call) -> Response:
    """Return the Python script that repeats a publication."""
    return _again(call, Publishing.script, "again.py")
