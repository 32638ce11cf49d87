"""Everything that can be chosen, as data: anonymizers, requirements, measures, scales, each with its options.

What stands here is read off the declarations themselves (`configuration.Option`), so that the command line, the docs
and forms say the same: `sfumato options`, the tables of options in `docs/`, and JSON Schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING
from math import isfinite
from typing import Any

from sfumato.anonymizers import ANONYMIZERS, MECHANISMS
from sfumato.configuration import Configured, Described, described
from sfumato.errors import BadInputError
from sfumato.measures import MEASURES, READERS, Attack, Classification, Measure, Queries
from sfumato.requirements import REQUIREMENTS
from sfumato.tradeoff.search.measured_problem import PROBLEMS
from sfumato.tradeoff.search.pareto import NSGA2
from sfumato.transactions.anonymizers.candidates import CANDIDATES
from sfumato.transactions.measures.attacks import Linking
from sfumato.transactions.measures.losses import ItemLosses
from sfumato.transactions.measures.queries import ItemQueries
from sfumato.transactions.policy import BASKET_REQUIREMENTS, SuppressionLimit, UtilityConstraints

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def sections() -> Mapping[str, tuple[type[Configured], ...]]:
    """Return all kinds by what they are for; within each in the order in which they are offered."""
    return {
        "anonymizers": (*ANONYMIZERS, *MECHANISMS),
        "requirements": tuple(REQUIREMENTS),
        "scales": (Queries, Attack, Classification, *READERS),
        "searches": (NSGA2, *PROBLEMS),
        "anonymizers of baskets": CANDIDATES,
        "requirements of baskets": (*BASKET_REQUIREMENTS, UtilityConstraints, SuppressionLimit),
        "scales of baskets": (ItemQueries, Linking, ItemLosses),
    }


def meaning_of(kind: type[Configured]) -> str:
    """Say what a kind does: the first paragraph of its docstring, on one line."""
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split())


def find(name: str) -> list[tuple[str, type[Configured] | Measure]]:
    """Find what has a name, with its section; some names stand for a table's and for baskets' at once."""
    kinds: list[tuple[str, type[Configured] | Measure]] = [
        (section, kind) for section, members in sections().items() for kind in members if kind.name == name
    ]
    if name in MEASURES:
        kinds.append(("measures", MEASURES[name]))
    if not kinds:
        known = [kind.name for members in sections().values() for kind in members]
        raise BadInputError(f"nothing is called {name!r}; there are {', '.join(dict.fromkeys([*known, *MEASURES]))}")
    return kinds


def schema_of(kind: type[Configured]) -> dict[str, Any]:
    """Write a kind as JSON Schema: an object with a property for every option.

    Beside the usual words stand `x-when` (the option and the values with which a property applies), `x-takes` (what a
    text stands for, such as a sensitive column) and `x-text` (how the whole is written in one line).
    """
    options = described(kind)
    content: dict[str, Any] = {
        "$schema": DIALECT,
        "title": kind.name,
        "description": meaning_of(kind),
        "type": "object",
        "properties": {each.key: property_of(each) for each in options.values()},
        "required": [each.key for each in options.values() if each.default is MISSING],
        "additionalProperties": False,
    }
    return content | {"x-text": kind.example or text_form(kind)}


def property_of(each: Described) -> dict[str, Any]:
    """Write one option as JSON Schema."""
    option = each.option
    types = {int: "integer", float: "number", bool: "boolean", str: "string"}
    content: dict[str, Any] = {"type": types[each.type], "description": option.meaning}
    if each.choices:
        content["enum"] = list(each.choices)
    for word, bound in (("minimum", option.least), ("exclusiveMinimum", option.more_than), ("maximum", option.most)):
        if bound is not None:
            content[word] = bound
    if each.default is not MISSING and each.default is not None:
        content["default"] = each.default
    if option.when:
        content["x-when"] = {option.when[0]: list(option.when[1:])}
    if option.takes:
        content["x-takes"] = option.takes
    return content


def text_form(kind: type[Configured]) -> str:
    """Write how a kind is typed: its name, and the keys that must be given."""
    keys = (f"{each.key}=..." for each in described(kind).values() if each.default is MISSING)
    return " ".join([kind.name, *keys])


def measure_values(measure: Measure) -> dict[str, Any]:
    """Write a measure as plain values; an open end of its range is left out."""
    ends = {"minimum": measure.least, "maximum": measure.most}
    return {
        "title": measure.name,
        "description": measure.meaning,
        "kind": measure.kind,
        "better": measure.better,
        **{word: value for word, value in ends.items() if isfinite(value)},
        "reads_noisy": measure.reads_noisy,
        "said_of": measure.said_of,
    }


def catalogue() -> dict[str, Any]:
    """Return all there is by section and name, as plain values."""
    content: dict[str, Any] = {
        section: {kind.name: schema_of(kind) for kind in members} for section, members in sections().items()
    }
    return content | {"measures": {name: measure_values(measure) for name, measure in MEASURES.items()}}


# -- for people --------------------------------------------------------------------------------------------


def values_in_words(each: Described) -> str:
    """Say what an option may be: choices, or a kind of number with its bounds."""
    option = each.option
    if each.choices:
        return ", ".join(each.choices)
    if each.type is str:
        return {"": "text", "requirement": "a requirement", "file": "a file"}.get(option.takes, f"{option.takes}")
    words = "whole number" if each.type is int else "number"
    parts = [f"from {option.least:g}"] if option.least is not None else []
    parts += [f"above {option.more_than:g}"] if option.more_than is not None else []
    parts += [f"up to {option.most:g}"] if option.most is not None else []
    return " ".join([words, *parts])


def default_in_words(each: Described) -> str:
    """Say what holds where an option is not given."""
    if each.default is MISSING:
        return "must be given"
    return "none" if each.default in (None, "") else f"{each.default:g}" if each.type is float else str(each.default)


def rows(kind: type[Configured]) -> Iterable[tuple[str, str, str, str]]:
    """List the options of a kind in words: key, what it may be, default, meaning."""
    for each in described(kind).values():
        on, *values = each.option.when or ("",)
        when = f" Only with {on}={' or '.join(values)}." if on else ""
        yield each.key, values_in_words(each), default_in_words(each), each.option.meaning + when


def markdown(kind: type[Configured]) -> str:
    """Write the options of a kind as the table that stands in the docs."""
    lines = ["| option | may be | default | meaning |", "| --- | --- | --- | --- |"]
    for key, *words in rows(kind):
        lines.append(" | ".join([f"| `{key}`", *(text.replace("|", "\\|") for text in words)]) + " |")
    return "\n".join(lines)
