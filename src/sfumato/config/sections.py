"""Reading and writing the common parts of a `study.toml`."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

import tomlkit

from sfumato.config.options import SETTINGS, Configured, check_choice, described, parse, spelled, value_text
from sfumato.errors import BadInputError

SCHEMA = 1


def study_text(study: Any, declared: Mapping[str, Any], blocks: Iterable[Mapping[str, Any]]) -> str:
    """Return a study as TOML: the sections that declare its data, and its blocks of candidates."""
    document = tomlkit.document()
    sections = {"schema": SCHEMA, "name": study.name, "axes": list(study.axes), **declared}
    plan = getattr(study, "search", None)
    parts = {"scales": study.scales, "analysis": getattr(study.scales, "analysis", None), "search": plan}
    sections |= {name: section_entries(part) for name, part in parts.items() if part is not None}
    for name, value in sections.items():
        document.add(name, tomlkit.item(value))
    candidates = tomlkit.aot()
    for block in blocks:
        candidates.append(tomlkit.item(block))
    document.add("candidates", candidates)
    return tomlkit.dumps(document)


def study_content(
    content: Mapping[str, Any], section: str, axes: tuple[str, ...], others: Sequence[str] = ()
) -> dict[str, Any]:
    """Check the common parts of a study, and add defaults; `others` are sections that may replace candidates."""
    known_keys("the study", content, ("schema", "name", "axes", section, "scales", *others, "candidates"))
    if content.get("schema", SCHEMA) != SCHEMA:
        raise BadInputError(f"this version does not know schema {content['schema']!r}; it knows {SCHEMA}")
    instead = [name for name in others if name in content]
    if section not in content or ("candidates" not in content and not instead):
        more = "".join(f" or [{name}]" for name in others)
        raise BadInputError(f"a study needs [{section}] and at least one [[candidates]]{more}")
    whole = {"scales": {}, "axes": list(axes), "candidates": []} | dict(content)
    if not isinstance(whole["axes"], list):
        raise BadInputError(f"axes must name two or more measures, not {whole['axes']!r}")
    if not all(isinstance(whole[name], dict) for name in (section, "scales", *instead)):
        named = [section, "scales", *instead]
        raise BadInputError(f"{' and '.join(named)} must be TOML tables: {', '.join(f'[{name}]' for name in named)}")
    blocks = whole["candidates"]
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise BadInputError("candidates must be TOML tables: [[candidates]], in two brackets")
    return whole


def check_axes(axes: Sequence[str], known: Iterable[str]) -> None:
    """Raise unless axes name two or more different measures."""
    for axis in axes:
        check_choice("axes", axis, known)
    if len(axes) < 2 or len(set(axes)) < len(axes):
        raise BadInputError(f"axes must name two or more measures, each once, not {list(axes)!r}")


def texts_of(key: str, given: Any) -> list[str]:
    """Return one text or a list of texts as a list."""
    texts = list_of(given)
    bad = [text for text in texts if not isinstance(text, str)]
    if bad:
        raise BadInputError(f"{key} must be texts, not {bad[0]!r}")
    return texts


def list_of(value: Any) -> list[Any]:
    """Return a value as a list."""
    return list(value) if isinstance(value, list) else [value]


def known_keys(what: str, entries: Mapping[str, Any], keys: Any) -> None:
    """Raise unless all keys are known."""
    unknown = [key for key in entries if key not in keys]
    if unknown:
        raise BadInputError(f"{what} has an unknown key {unknown[0]!r}; known are {', '.join(keys)}")


def section_values(what: str, entries: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """Read a section by the options of its declaration; configurations are texts."""
    known = described(kind)
    known_keys(what, entries, known)
    values: dict[str, Any] = {}
    for key, value in entries.items():
        kinds = known[key].kinds
        if not kinds:
            values[key] = tuple(list_of(value)) if known[key].several else value
        elif isinstance(value, str):
            values[key] = parse(value, kinds, key)
        else:
            example = next((each.example for each in kinds if each.example), None) or str(kinds[0]())
            raise BadInputError(f"{key} must be a text such as {example!r}, not {value!r}")
    return values


def section_entries(value: Any) -> dict[str, Any]:
    """Return a section with all defaults; values that are None are omitted."""
    written: dict[str, Any] = {}
    for key, each in described(type(value)).items():
        given = getattr(value, key)
        if given is not None and (given != () or each.optional):
            plain = list(given) if isinstance(given, tuple) else given
            written[key] = full_text(given) if isinstance(given, Configured) else plain
    return written


def written_texts(values: tuple[Any, ...]) -> Any:
    """Return values as texts, several on separate lines."""
    array = tomlkit.array()
    array.extend(map(str, values))
    return array.multiline(len(values) > 1)


def full_text(value: Configured) -> str:
    """Return a configuration's text with all defaults, except for inapplicable options."""
    unread = getattr(value, "unread", ())
    names = [field.name for field in fields(value) if field.name not in unread]  # type: ignore[arg-type]
    given = {name.replace("_", "-"): getattr(value, name) for name in names}
    return " ".join(
        [value.name, *(f"{key}={value_text(setting)}" for key, setting in given.items() if setting is not None)]
    )


def option_words(value: Any, others: Collection[str]) -> list[str]:
    """Return the command-line options of the fields of a declaration that differ from their defaults."""
    words = []
    for name, given in changed(value).items():
        if name not in others:
            option = spelled(name).replace(" ", "=")
            if isinstance(given, bool) and name not in SETTINGS:
                words.append(option)
            else:
                told = {True: "yes", False: "no"}.get(given, given) if isinstance(given, bool) else given
                words += [f"{option}={text}" for text in (told if isinstance(told, tuple) else (told,))]
    return words


def changed(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults."""
    usual = {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(value)
    }
    given = {name: getattr(value, name) for name in usual}
    return {name: setting for name, setting in given.items() if usual[name] is MISSING or setting != usual[name]}


def source_word(source: str) -> str:
    """Return the name of a file in a form that is not parsed as an option."""
    return f"./{source}" if source.startswith("-") else source
