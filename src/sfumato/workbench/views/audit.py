"""The page of an audit: choose a file and the roles of its columns, and see the results of `sfumato audit`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from starlette.responses import Response

from sfumato.auditing.audit import Audit, audit_baskets, audit_mixed
from sfumato.auditing.audit import audit as audit_table
from sfumato.auditing.items import legend_beside, legend_file
from sfumato.auditing.published_file import open_published
from sfumato.config.options import Option
from sfumato.data.dataset import MixedTable
from sfumato.data.declaration import BasketsDeclaration
from sfumato.engines.locations import split_table
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES
from sfumato.publish._written_file import original_of
from sfumato.publish.audit_report import audit_lines
from sfumato.report.measure_sentences import ARROWS, measure_lines
from sfumato.requirements.items import basket_requirement, mixed_requirement
from sfumato.requirements.requirement import requirement
from sfumato.texts.catalogue import number, t
from sfumato.workbench.endpoints import Call, a_list, an_object, endpoint, flag, text
from sfumato.workbench.errors import FieldError, RefusedError, blamed
from sfumato.workbench.opened_data import all_in_forms, of_data
from sfumato.workbench.projects import Desk
from sfumato.workbench.views.page import page

ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".json")
"""Extensions of the files that the page offers; others can be named or dropped."""

OURS = ("points.json", "timings.json", "workbench.json")
MOST_OFFERED = 200
FILE = Option("The published file: one that was uploaded, or a path under the folder.", takes="file")


MEASURE = an_object(name=text, value=text, better={"enum": ["higher", "lower"]}, meaning=text)
SAID = dict.fromkeys(("lines", "sentences", "notices"), a_list(text))
AUDITED = an_object(holds=flag, asked=flag, **SAID, measures=a_list(MEASURE), content={"type": "object"})


@dataclass(frozen=True)
class AuditOptions:
    """The options of an audit."""

    file: Annotated[str, FILE]
    kind: Annotated[Literal["table", "baskets", "items"], Option()] = "table"
    """The kind of data: records, sets of items, or records with them."""

    items: Annotated[str | None, Option(takes="column")] = None
    """For records with sets of items: the column of these."""

    quasi: Annotated[tuple[str, ...], Option(takes="columns")] = ()
    """Columns that an attacker may know."""

    sensitive: Annotated[tuple[str, ...], Option(takes="columns")] = ()
    """Columns that an attacker must not learn."""

    require: Annotated[str | None, Option(takes="requirement")] = None
    """The requirement of every group, parts joined by &."""

    original: Annotated[str | None, Option()] = None
    """The original data: an upload, or a path under the folder."""

    project: Annotated[str | None, Option()] = None
    """The project whose study declares the original data."""

    group: Annotated[str | None, Option()] = None
    """The column with the groups of a bucketized file."""

    suppressed: Annotated[Literal["keep", "leave-out"] | None, Option()] = None
    """Rows with * in all quasi-identifiers: a group, or left out."""

    known: Annotated[int | None, Option(least=1)] = None
    """For sets of items: the number of a person's items that an attacker knows."""

    escaped_formulas: Annotated[bool, Option()] = False
    """Whether formulas were escaped when the file was written."""


@dataclass(frozen=True)
class AuditedFile:
    """A published file to look at."""

    file: Annotated[str, FILE]
    escaped_formulas: Annotated[bool, Option()] = False
    """Whether formulas were escaped when the file was written."""


def there(desk: Desk, field: str, source: str) -> Path:
    """Return a named file; raise if there is none, or it may not be opened."""
    path = desk.inside(split_table(source)[0])
    if not path.is_file():
        raise FieldError(field, t("files.nowhere", name=source))
    for each in (path, legend_file(path)):  # a legend of the file is read, too
        desk.trust.check_place(str(each))
    return path


@endpoint("POST", "/api/audit/columns", AuditedFile, gives=an_object(name=text, columns=a_list(text)))
def columns(call: Call) -> dict[str, Any]:
    """Return the columns of a published table."""
    path = there(call.desk, "file", call.body.file)
    source = open_published(str(path), Reading(escaped=call.body.escaped_formulas))
    return {"name": path.name, "columns": list(source.engine.columns)}


@endpoint("POST", "/api/audit", AuditOptions, gives=AUDITED)
def audited(call: Call) -> dict[str, Any]:
    """Audit a published file; return the lines of the command, and the values."""
    asked: AuditOptions = call.body
    path = there(call.desk, "file", asked.file)
    if asked.project is not None and asked.original is not None:
        raise FieldError("original", t("audit.two"))
    _check(call.desk, asked)
    found = _found(call.desk, asked, path)
    lines = [line.replace(str(path), path.name) for line in audit_lines(found)]
    listed = set(measure_lines(found.measures))  # the page shows them as a table
    return {
        "holds": found.holds,
        "asked": found.require is not None or found.coverage is not None,
        "lines": lines,
        "sentences": all_in_forms([line for line in lines if line not in listed and ARROWS not in line]),
        "notices": all_in_forms(list(found.notices)),
        "measures": [
            {
                "name": measure.name,
                "value": number(found.measures[measure.name]),
                "better": measure.better,
                "meaning": measure.meaning,
            }
            for measure in MEASURES.values()
            if measure.name in found.measures
        ],
        "content": found.content() | {"file": path.name},
    }


READ: Mapping[str, Callable[[str], object]] = {
    "table": requirement,
    "baskets": basket_requirement,
    "items": mixed_requirement,
}
"""The parser of requirements, by kind of data."""

REFUSED: Mapping[str, Mapping[str, str]] = {
    "table": {"known": "audit.about_baskets", "items": "audit.about_items"},
    "baskets": dict.fromkeys(("quasi", "sensitive", "items", "group", "suppressed"), "audit.about_tables"),
    "items": {"group": "audit.no_buckets"},
}
"""Inapplicable options by kind of data, each with the text of its refusal."""


def _check(desk: Desk, asked: AuditOptions) -> None:
    """Raise with the field of an option that does not apply to this kind of data."""
    for name, why in REFUSED[asked.kind].items():
        if getattr(asked, name):
            raise FieldError(name, t(why, field=name))
    if asked.kind == "items" and asked.items is None:
        raise FieldError("items", t("audit.which_items"))
    with blamed("require", (BadInputError, RefusedError)):
        if asked.require is not None:
            desk.trust.check([READ[asked.kind](asked.require)])
    if not asked.quasi and (asked.kind == "items" or (asked.kind == "table" and asked.project is None)):
        raise FieldError("quasi", t("audit.no_quasi"))
    section = asked.kind if asked.project is None else desk.project(asked.project).study.section
    if section != asked.kind:
        raise FieldError("project", t("audit.several", project=asked.project, section=section))


def _found(desk: Desk, asked: AuditOptions, path: Path) -> Audit:
    """Audit a file; a project defines the original, and the tree of its items."""
    project = None if asked.project is None else desk.project(asked.project)
    original: Any = None if asked.original is None else str(_data(desk, asked.original))
    escaped: dict[str, Any] = {"escaped_formulas": asked.escaped_formulas}
    if asked.kind == "baskets":
        declared: Any = project.study.data if project else BasketsDeclaration(original) if original else None
        against = None if declared is None else declared.open()
        return audit_baskets(path, asked.require, against, asked.known, **escaped)
    names: dict[str, Any] = {"quasi": asked.quasi, "sensitive": asked.sensitive, "suppressed": asked.suppressed}
    names |= {"require": asked.require, **escaped}
    if asked.items is None:
        original = str(project.file) if project else original
        return audit_table(str(path), original=original, group=asked.group, **names)
    names |= {"items": asked.items, "known": asked.known, "legend": legend_beside(path)[0]}
    if project is not None:
        study = project.study
        data: MixedTable = of_data(study.data, "itself", lambda opened: opened)
        original = original_of(data, study.data)
        names |= {"tree": data.baskets.tree, "local": True, "original_separator": study.data.beside.separator}
    return audit_mixed(str(path), original=original, **names)


def _data(desk: Desk, original: str) -> Path:
    """Return an original that is data; a study is named by its project."""
    path = there(desk, "original", original)
    if path.suffix.lower() == ".toml":
        raise FieldError("original", t("audit.study", name=path.name))
    return path


def offered(desk: Desk) -> Iterator[str]:
    """Yield names of files under the folder that may be published, and of files published from projects."""
    for pattern in ("*", "*/*", "*/*/*"):
        for path in sorted(desk.folder.glob(pattern)):
            hidden = any(part.startswith(".") for part in path.relative_to(desk.folder).parts)
            plain = path.suffix.lower() in ENDINGS and ".certificate" not in path.name and "board" not in path.name
            if plain and not hidden and path.is_file() and desk.trust.holds(path) and path.name not in OURS:
                yield path.relative_to(desk.folder).as_posix()


@endpoint("GET", "/audit", query="file")
def audit_page(call: Call) -> Response:
    """Show the form of an audit."""
    files = [name for name, _ in zip(offered(call.desk), range(MOST_OFFERED), strict=False)]
    projects = [each.name for each in call.desk.projects()]
    asked = call.query.get("file", "")
    return page("audit.html", call, files=files, projects=projects, data={"file": asked if asked in files else ""})
