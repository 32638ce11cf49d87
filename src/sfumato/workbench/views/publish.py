"""The page of publishing: for whom, as which file; what was published from here; and how to do it all again.

How what was clicked is done again, from the study to the published file: as command lines, and in Python.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from starlette.responses import Response

from sfumato.config.options import Option
from sfumato.errors import BadInputError, InfeasibleError, SfumatoError
from sfumato.publish._told import published_lines, published_values
from sfumato.publish.board import board_file
from sfumato.publish.certificate import certificate_files, read_certificate
from sfumato.publish.pipeline import publish_point
from sfumato.report.point_summary import headlines, settings
from sfumato.texts.catalogue import t
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.question.recipients import RECIPIENTS, refusal
from sfumato.workbench.endpoints import Call, Endpoint, a_list, an_object, flag, text, whole
from sfumato.workbench.errors import ConflictError, FieldError, MissingError
from sfumato.workbench.opened_data import all_in_forms, in_forms
from sfumato.workbench.projects import Project
from sfumato.workbench.views._explored import Explored, explored
from sfumato.workbench.views.files import download, harmless
from sfumato.workbench.views.map import recommended
from sfumato.workbench.views.page import page
from sfumato.workbench.views.point import PAGE_POLICY

MAP = "repeated-map"
"""The folder of the map that is made again, beside which the release is written."""

COMMANDS = """\
# From the study to the published file, as commands: run them in an empty folder.
# The first measures all candidates of the study again and draws their map; the second publishes one of them.
"""

SCRIPT = '''\
"""From the study to the published file, in Python: run it in an empty folder.

All candidates of the study are measured again and their map is drawn; then one of them is published.
"""

from pathlib import Path

from sfumato import explore, read_study
from sfumato.publish.pipeline import publish_point
from sfumato.report.folder import save_map

study = read_study({study})
folder = Path({map})
folder.mkdir()
save_map(explore(study, folder / "cache.jsonl"), folder)

published = publish_point(
{options}
)
print("\\n".join(published.lines()))
'''


@dataclass(frozen=True)
class Recipe:
    """What was published, and how."""

    study: Path
    point: str
    file: str
    layout: str = "rows"
    mapping: str | None = None
    """The file of the mapping, where one was written."""

    recipient: str | None = None
    escape_formulas: bool = False

    def commands(self) -> str:
        """Write it as lines for a shell.

        >>> print(Recipe(Path("study.toml"), "ab12", "release.csv", recipient="public").commands().splitlines()[-1])
        sfumato release repeated-map --point ab12 --to release.csv --for public
        """
        explored = ["sfumato", "explore", str(self.study), "--out", MAP]
        released = ["sfumato", "release", MAP, "--point", self.point, "--to", self.file, *self._words()]
        return f"{COMMANDS}{shlex.join(explored)}\n{shlex.join(released)}\n"

    def script(self) -> str:
        """Write it as a script of Python."""
        values: dict[str, object] = {"layout": self.layout} if self.layout != "rows" else {}
        values |= {} if self.mapping is None else {"mapping": self.mapping}
        values |= {"escape_formulas": True} if self.escape_formulas else {}
        values |= {} if self.recipient is None else {"recipient": self.recipient}
        named = [f"{name}={value!r}" for name, value in values.items()]
        lines = [f"    {each}," for each in ("folder", repr(self.point), repr(self.file), *named)]
        return SCRIPT.format(study=repr(str(self.study)), map=repr(MAP), options="\n".join(lines))

    def _words(self) -> Iterator[str]:
        """Say what is not as usual, by options."""
        if self.layout != "rows":
            yield from ("--set", f"layout={self.layout}")
        if self.mapping is not None:
            yield from ("--mapping", self.mapping)
        if self.recipient is not None:
            yield from ("--for", self.recipient)
        if self.escape_formulas:
            yield from ("--set", "escape-formulas=yes")


RELEASES = "releases"
"""The folder of a project into which is published."""

PUBLISHED = "published"
"""What the notes of a project keep of what was published: how each file was asked for."""

MAPPING = ".mapping.json"
CERTIFICATE = ".certificate.json"


@dataclass(frozen=True)
class Publishing:
    """What is to be published, and how."""

    point: Annotated[str, Option("The id of the release on the map.")]
    file: Annotated[str, Option("The name of the file to write: .csv or .parquet.")]
    recipient: Annotated[
        Literal["public", "partner", "internal"] | None,
        Option("For whom: a release beyond the bounds of these is refused."),
    ] = None
    layout: Annotated[
        Literal["rows", "lines", "long"],
        Option("Of baskets: lines, or long: an item a row."),
    ] = "rows"
    mapping: Annotated[bool, Option("Whether to write the mapping of values too, to recode new data.")] = False
    escape_formulas: Annotated[
        bool, Option("Whether cells that a spreadsheet would run as formulas get ' in front of them.")
    ] = False
    replace: Annotated[bool, Option("Whether a file of this name may be replaced.")] = False

    def recipe(self, project: Project) -> Recipe:
        """Say how the same is done again."""
        mapping = f"{self.file}{MAPPING}" if self.mapping else None
        study = project.file.resolve()
        return Recipe(study, self.point, self.file, self.layout, mapping, self.recipient, self.escape_formulas)


# -- what can be asked for


def offer(read: Explored, point: Point) -> dict[str, Any]:
    """Say what can be chosen for a release: for whom it is fit, how it can be laid out, what can be written besides."""
    of_baskets = read.map_.study.section == "baskets"
    maker = point.candidate.anonymizer
    return {
        "id": point.id,
        "words": settings(point),
        "headlines": [headline.values() for headline in headlines(read.map_, point)],
        "refused": refusal(point),
        "recipients": [
            {
                "name": each.name,
                "meaning": each.meaning,
                "against": all_in_forms(each.objections(read.map_, point, point.measures)),
            }
            for each in RECIPIENTS.values()
        ],
        "layouts": ["lines", "long"] if of_baskets else ["rows"],
        "mapping": point.is_grouped and not maker.foreign and not maker.baseline,
        "drawn": point.is_noisy,
        "file": f"release-{point.id}.csv",
    }


def offered(call: Call) -> dict[str, Any]:
    """Say what can be chosen for a release."""
    read = explored(call.project)
    return offer(read, read.point(call.names["point"]))


def publish_page(call: Call) -> Response:
    """Show what can be published, for whom, and what was."""
    project = call.project
    if not project.is_explored:
        return page("map-empty.html", call, "publish", data={"project": project.name})
    read = explored(project)
    asked = call.query.get("point", "")
    best = recommended(read.map_, None)["point"]
    point = read.point(asked) if asked else None if best is None else read.point(best["id"])
    return page(
        "publish.html",
        call,
        "publish",
        changed=read.is_changed,
        offered=[(each.id, settings(each)) for each in read.measured if not refusal(each)],
        chosen=None if point is None else offer(read, point),
        published=releases(project),
        data={
            "project": project.name,
            "chosen": None if point is None else offer(read, point),
            "publishing": progress(call)["under_way"],
        },
    )


# -- publishing


def publish(call: Call) -> dict[str, Any]:
    """Publish a release into the project's folder, checked again on the written file; say what was written."""
    project, asked = call.project, call.body
    _check_name(asked.file)
    if explored(project).is_changed:
        raise ConflictError(t("publish.changed"))
    folder = _folder(project)
    mapping = folder / f"{asked.file}{MAPPING}" if asked.mapping else None
    with call.publications.alone(folder, asked.file):
        done = _published(project, asked, folder / asked.file, mapping)
        kept = project.notes().get(PUBLISHED, {})
        project.note(**{PUBLISHED: {**kept, asked.file: asdict(asked)}})
    return {
        "lines": [in_forms(project.locally(line)) for line in published_lines(done.published, done.audit)],
        "notices": [in_forms(project.locally(notice)) for notice in done.notices],
        "values": dict(published_values(done.published, done.audit)),
        "files": [_file(path, asked.file) for path in done.files],
        "file": asked.file,
    }


def _published(project: Project, asked: Publishing, path: Path, mapping: Path | None) -> Any:
    try:
        return publish_point(
            project.folder,
            asked.point,
            path,
            asked.layout,
            asked.replace,
            mapping,
            asked.escape_formulas,
            asked.recipient,
        )
    except AssertionError as error:
        raise InfeasibleError(t("publish.unconfirmed", why=error)) from None


def _check_name(name: str) -> None:
    """Raise unless a name is that of a file in the folder it is put into, and of nothing else."""
    if name != harmless(name) or name.startswith("."):
        raise FieldError("file", t("publish.bad_name", file=name))
    if Path(name).suffix.lower() not in (".csv", ".parquet"):
        raise FieldError("file", t("publish.bad_ending", file=name))


def _folder(project: Project) -> Path:
    folder = project.folder / RELEASES
    if folder.is_symlink():
        raise BadInputError(t("publish.link", folder=RELEASES))
    folder.mkdir(exist_ok=True)
    return folder


def progress(call: Call) -> dict[str, Any]:
    """Say how far the publication of a project is that is under way."""
    return call.publications.progress(call.project.folder / RELEASES)


def cancel(call: Call) -> dict[str, Any]:
    """Stop the publication of a project that is under way; nothing of it stays."""
    return call.publications.cancel(call.project.folder / RELEASES)


# -- what was published


def releases(project: Project) -> list[dict[str, Any]]:
    """List what was published from a project, the latest first, as its certificates tell."""
    folder = project.folder / RELEASES
    if folder.is_symlink() or not folder.is_dir():
        return []
    latest = sorted(folder.glob(f"*{CERTIFICATE}"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    return [each for each in (_told(project, path) for path in latest) if each is not None]


def _told(project: Project, certificate: Path) -> dict[str, Any] | None:
    """Say what is known of a published file; None where its certificate cannot be read."""
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
        "point": content.get("for_your_eyes", {}).get("study", {}).get("point", ""),
        "recipient": asked.get("recipient"),
        "files": [_file(path, first.name) for path in (*named, *others) if path.is_file()],
        "repeatable": bool(asked),
    }


def _file(path: Path, data: str) -> dict[str, Any]:
    """Say what a file is, and for whom."""
    kinds = dict(zip(certificate_files(Path(data)), ("own", "own", "public", "public"), strict=True))
    kind = kinds.get(Path(path.name), "data")
    kind = {f"{data}{MAPPING}": "mapping", board_file(Path(data)).name: "board"}.get(path.name, kind)
    return {"name": path.name, "kind": kind, "bytes": path.stat().st_size}


def listed(call: Call) -> dict[str, Any]:
    """List what was published from a project."""
    return {"releases": releases(call.project)}


def handed_out(call: Call) -> Response:
    """Hand out a file that was published; pages are shown, and can do nothing else."""
    name, folder = call.names["file"], call.project.folder / RELEASES
    response = download(folder, name, name, "text/html" if name.endswith(".html") else "application/octet-stream")
    if name.endswith(".html"):
        del response.headers["content-disposition"]
        response.headers["content-security-policy"] = PAGE_POLICY
    return response


def _asked(call: Call) -> Publishing:
    """Return how a file was asked for."""
    asked = call.project.notes().get(PUBLISHED, {}).get(call.names["file"])
    if asked is None:
        raise MissingError(t("publish.no_file", file=call.names["file"]))
    return Publishing(**asked)


def _text(text: str, name: str) -> Response:
    return Response(text, media_type="text/plain", headers={"content-disposition": f'attachment; filename="{name}"'})


def commands(call: Call) -> Response:
    """Hand out the command lines that publish a file again."""
    return _text(_asked(call).recipe(call.project).commands(), "again.sh")


def script(call: Call) -> Response:
    """Hand out the script of Python that publishes a file again."""
    return _text(_asked(call).recipe(call.project).script(), "again.py")


RELEASE = "/api/projects/{project}/releases"
FILES = "/projects/{project}/releases/{file}"
FILE = an_object(name=text, kind={"enum": ["data", "public", "own", "board", "mapping"]}, bytes=whole)
DONE = an_object(lines=a_list(text), notices=a_list(text), values={"type": "object"}, files=a_list(FILE), file=text)
PUBLISHING = "/api/projects/{project}/publishing"
UNDER_WAY = an_object(under_way=flag, file=text, step=whole, steps=whole, sentence=text)
ENDPOINTS = (
    Endpoint("GET", "/projects/{project}/publish", "Shows what can be published.", publish_page, query=("point",)),
    Endpoint(
        "GET",
        RELEASE,
        "Lists what was published from a project.",
        listed,
        gives=an_object(releases=a_list({"type": "object"})),
    ),
    Endpoint("POST", RELEASE, "Publishes a release with its certificates.", publish, Publishing, gives=DONE),
    Endpoint("GET", PUBLISHING, "Says how far a publication is that is under way.", progress, gives=UNDER_WAY),
    Endpoint("DELETE", PUBLISHING, "Stops a publication; nothing of it stays.", cancel, gives=UNDER_WAY),
    Endpoint("GET", "/api/projects/{project}/points/{point}/offer", "Says what can be chosen for a release.", offered),
    Endpoint("GET", FILES, "Hands out a file that was published.", handed_out),
    Endpoint("GET", f"{FILES}/again.sh", "Hands out the commands that publish a file again.", commands),
    Endpoint("GET", f"{FILES}/again.py", "Hands out the Python that publishes a file again.", script),
)
