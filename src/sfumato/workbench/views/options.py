"""Forms of all options of a study: makers, requirements, scales and searches.

Forms are made from JSON Schema (`catalogue`); their values are converted to the text of a study, and back.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any

import tomlkit

from sfumato.config.documents import to_plain
from sfumato.config.options import Configured, Option, described, parse
from sfumato.errors import SfumatoError
from sfumato.measures.all_measures import MEASURES
from sfumato.measures.scales import BasketScales, MixedScales, Scales
from sfumato.requirements.items import mixed_requirement
from sfumato.requirements.requirement import requirement
from sfumato.texts.catalogue import t
from sfumato.tradeoff.catalogue import REQUIREMENTS_WITH_ITEMS, catalogue, sections
from sfumato.tradeoff.study.search_plan import SearchPlan
from sfumato.tradeoff.study.study import study_from_toml
from sfumato.workbench.endpoints import Call, endpoint
from sfumato.workbench.errors import FieldError, blamed
from sfumato.workbench.projects import Project
from sfumato.workbench.views.page import VERSION, changed, put_entries

PARTS = ("axes", "scales", "search", "candidates")


@dataclass(frozen=True)
class Filled:
    """A completed form."""

    section: Annotated[str, Option()]
    """A section of the catalogue: anonymizers, requirements, scales, ..."""

    name: Annotated[str, Option()]
    """The name of the configuration, such as k-anonymity."""

    values: Annotated[Mapping[str, Any], Option(takes="values")] = field(default_factory=dict)
    """The options by their keys."""


@dataclass(frozen=True)
class StudyText:
    """A text as in a study."""

    section: Annotated[str, Option()]
    """A section of the catalogue: anonymizers, requirements, scales, ..."""

    text: Annotated[str, Option()]
    """The text, such as k-anonymity k=10."""


@dataclass(frozen=True)
class StudyParts:
    """Parts of a study; omitted ones are unchanged."""

    axes: Annotated[tuple[str, ...] | None, Option()] = None
    """The measures by which releases are compared."""

    scales: Annotated[Mapping[str, Any] | None, Option(takes="values")] = None
    """How releases are measured."""

    search: Annotated[Mapping[str, Any] | None, Option(takes="values")] = None
    """How time is spent on further candidates."""

    candidates: Annotated[tuple[Any, ...] | None, Option(takes="values")] = None
    """Blocks of candidates, each with makers and requirements."""

    version: Annotated[str | None, VERSION] = None


# -- forms -----------------------------------------------------------------------------------------------------------


@endpoint("GET", "/api/options")
def options(call: Call) -> dict[str, Any]:
    """Return all options, as JSON Schema."""
    return catalogue()


@endpoint("POST", "/api/options/text", Filled)
def text_of(call: Call) -> dict[str, Any]:
    """Return the values of a form as the text of a study."""
    wanted: Filled = call.body
    kind = _kind(wanted.section, wanted.name)
    known = {each.key: each for each in described(kind).values()}
    values = {}
    for key, value in wanted.values.items():
        if key not in known:
            raise FieldError(key, t("options.no_option", name=wanted.name, key=key, known=", ".join(known) or "none"))
        if value not in (None, "", []):
            values[known[key].name] = tuple(value) if isinstance(value, list) else value
    for each in known.values():
        if each.default is MISSING and each.name not in values:
            raise FieldError(each.key, t("options.needed", meaning=each.meaning))
    with blamed(lambda sentence: _field_in(sentence, known)):
        configured = kind(**values)
    return {"text": str(configured), "words": configured.in_words()}


@endpoint("POST", "/api/options/values", StudyText)
def values_of(call: Call) -> dict[str, Any]:
    """Return a text of a study as the values of forms: one for every part that is joined by &."""
    wanted: StudyText = call.body
    kinds = [entry.kind for entry in _section(wanted.section)]
    if wanted.section == "requirements":
        parts: Iterable[Any] = requirement(wanted.text).parts
    elif wanted.section == REQUIREMENTS_WITH_ITEMS:
        parts = mixed_requirement(wanted.text).parts
    else:
        parts = (parse(wanted.text, kinds, wanted.section),)
    return {"parts": [{"name": part.name, "values": _values(part)} for part in parts]}


def _values(part: Any) -> dict[str, Any]:
    """Return the given options of a configuration, by key."""
    usual = {each.name: each.default for each in fields(part)}
    known = described(type(part))
    given = {each.key: getattr(part, name) for name, each in known.items() if getattr(part, name) != usual[name]}
    return {key: to_plain(value) for key, value in given.items()}


def _section(name: str) -> Any:
    found = sections().get(name)
    if found is None or name == "made elsewhere":
        raise FieldError("section", t("options.no_section", name=name))
    return (*found, *sections()["requirements"]) if name == REQUIREMENTS_WITH_ITEMS else found


def _kind(section: str, name: str) -> type[Configured]:
    kind: Any = next((entry.kind for entry in _section(section) if entry.name == name), None)
    if kind is None or not issubclass(kind, Configured):
        raise FieldError("name", t("options.no_name", name=name, section=section))
    return kind  # type: ignore[no-any-return]


def _field_in(sentence: str, keys: Iterable[str]) -> str:
    """Return the field of an error: the first that it names as a word."""
    places = {key: re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", sentence) for key in keys}
    found = [(match.start(), key) for key, match in places.items() if match is not None]
    return min(found)[1] if found else ""


# -- parts of a study ------------------------------------------------------------------------------------------------


@endpoint("PUT", "/api/projects/{project}/study", StudyParts)
def put_study(call: Call) -> dict[str, Any]:
    """Write parts of a study from forms."""
    project, wanted = call.project, call.body
    parts = {name: to_plain(getattr(wanted, name)) for name in PARTS if getattr(wanted, name) is not None}
    for axis in parts.get("axes", ()):
        if axis not in MEASURES:
            raise FieldError("axes", t("options.no_measure", axis=axis))

    def edit(document: tomlkit.TOMLDocument) -> None:
        put_parts(document, parts, whole_scales=True)
        check_study(project, document)

    return changed(project, wanted.version, t("wishes.did_options"), edit)


def put_parts(document: Any, parts: Mapping[str, Any], whole_scales: bool) -> None:
    """Write parts into the text of a study; of scales the given ones, or all of them."""
    if "axes" in parts and document.get("axes") != list(parts["axes"]):
        document["axes"] = list(parts["axes"])
    scales = parts.get("scales")
    if scales is not None:
        section = document.setdefault("scales", tomlkit.table())
        gone = {name: None for name in section if whole_scales and name not in scales}
        put_entries(section, gone | {name: value for name, value in scales.items() if section.get(name) != value})
    search = parts.get("search")
    if search is not None:
        kept = {name: value for name, value in search.items() if value not in (None, "", [])}
        put_entries(document, {"search": kept or None})
    if "candidates" in parts and document.get("candidates") != list(parts["candidates"]):
        _put_candidates(document, parts["candidates"])


def _put_candidates(document: Any, blocks: Iterable[Any]) -> None:
    written = tomlkit.aot()
    for block in blocks:
        if not isinstance(block, Mapping):
            raise FieldError("candidates", t("options.no_block"))
        table = tomlkit.table()
        for key, value in block.items():
            item = tomlkit.item(value)
            table.add(key, item.multiline(True) if isinstance(value, list) and len(value) > 2 else item)  # type: ignore[attr-defined]
        written.append(table)
    document.pop("candidates", None)
    document.add("candidates", written)


def check_study(project: Project, document: tomlkit.TOMLDocument) -> None:
    """Raise, with the invalid part, if a changed study is invalid."""
    try:
        study_from_toml(tomlkit.dumps(document), str(project.file))
    except SfumatoError as error:
        sentence = str(error).removeprefix(f"{project.file}: ")
        raise FieldError(_part_in(sentence), sentence) from None


def _part_in(sentence: str) -> str:
    """Return the part of a study in an error: one that it names, or that has an option which it names."""
    words = set(re.findall(r"[\w-]+", sentence))
    known = {
        "scales": {*described(Scales), *described(BasketScales), *described(MixedScales)},
        "search": set(described(SearchPlan)),
    }
    named = [name for name in PARTS if name in words]
    return next(iter([*named, *(part for part, keys in known.items() if keys & words)]), "candidates")
