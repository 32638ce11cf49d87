"""All anonymizers, requirements, measures and scales with their options, as data.

The entries come from the declarations (`config.options.Option`). Therefore `sfumato options`, the tables of options in
`docs/` and JSON Schema agree.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass
from math import isfinite
from typing import Any

from sfumato.anonymizers import makers
from sfumato.anonymizers.external.external import ExternalFile
from sfumato.anonymizers.items import CANDIDATES
from sfumato.anonymizers.items.items_of_groups import MERGING
from sfumato.config.options import Configured, Described, described
from sfumato.data import declaration as declared
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES, Measure
from sfumato.measures.analysis.analysis import Analysis
from sfumato.measures.attacks.attacks import Attacks
from sfumato.measures.attribute_attack import Attack
from sfumato.measures.classification.classification import Classification
from sfumato.measures.fidelity.fidelity import Fidelity
from sfumato.measures.items.linking import Linking
from sfumato.measures.items.losses import ItemLosses
from sfumato.measures.items.queries import ItemQueries, JointQueries
from sfumato.measures.queries import Queries
from sfumato.measures.reconstruction import READERS
from sfumato.measures.scales import BasketScales, MixedScales, Scales
from sfumato.requirements import items as item_rules
from sfumato.requirements.requirement import REQUIREMENTS
from sfumato.tradeoff.search.pareto import NSGA2
from sfumato.tradeoff.search.problems import PROBLEMS
from sfumato.tradeoff.study.grids import Grid, block_options
from sfumato.tradeoff.study.search_plan import SearchPlan

REQUIREMENTS_WITH_ITEMS = "requirements of tables with items"
"""The section whose entries are joined with requirements of tables."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Entry:
    """Something that has options: a kind with a text form, or a section of a `study.toml`."""

    name: str
    kind: type
    has: frozenset[declared.Part] | None = None
    """For a block of candidates: the parts of the data it applies to."""

    @property
    def options(self) -> Iterable[Described]:
        """Its options, in order."""
        return (described(self.kind) if self.has is None else block_options(self.has)).values()

    @property
    def meaning(self) -> str:
        """The first paragraph of its docstring, on one line."""
        return " ".join((self.kind.__doc__ or "").split("\n\n")[0].split())

    @property
    def text(self) -> str:
        """Its text form: its example, or its name with the required keys."""
        if not issubclass(self.kind, Configured):
            return self.name
        keys = (f"{each.key}=..." for each in self.options if each.default is MISSING)
        return self.kind.example or " ".join([self.name, *keys])

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema: an object with a property for each option.

        It has three further keywords. `x-when`: the option and the values with which a property applies. `x-takes`: the
        kind of object that a text names, such as a sensitive column. `x-text`: the text form on one line.
        """
        return {
            "$schema": DIALECT,
            "title": self.name,
            "description": self.meaning,
            "type": "object",
            "properties": {each.key: property_of(each) for each in self.options},
            "required": [each.key for each in self.options if each.default is MISSING],
            "additionalProperties": False,
            "x-text": self.text,
        }

    def rows(self) -> Iterable[tuple[str, str, str, str]]:
        """List its options for people: key, values, default, meaning."""
        for each in self.options:
            on, *values = each.option.when or ("",)
            when = f" Only with {on}={' or '.join(values)}." if on else ""
            yield each.key, values_in_words(each), default_in_words(each), each.meaning + when


def sections() -> Mapping[str, tuple[Entry, ...]]:
    """Return all entries by purpose, each section in the order of display."""
    kinds: Mapping[str, tuple[type[Configured], ...]] = {
        "anonymizers": makers(),
        "made elsewhere": (ExternalFile,),
        "requirements": tuple(REQUIREMENTS),
        "scales": (Queries, Attack, Classification, *READERS, Fidelity, Attacks),
        "searches": (NSGA2, *PROBLEMS),
        "anonymizers of baskets": tuple(CANDIDATES),
        "requirements of baskets": (
            *item_rules.BASKET_REQUIREMENTS,
            item_rules.UtilityConstraints,
            item_rules.SuppressionLimit,
        ),
        "scales of baskets": (ItemQueries, Linking, ItemLosses),
        REQUIREMENTS_WITH_ITEMS: (item_rules.KKMAnonymity,),
        "merging of groups": MERGING,
        "scales of tables with items": (JointQueries,),
    }
    studies: dict[str, tuple[Entry, ...]] = {
        "sections of a study": (
            Entry("[table]", declared.TableDeclaration),
            Entry("[scales]", Scales),
            Entry("[analysis]", Analysis),
            Entry("[search]", SearchPlan),
            Entry("[[candidates]]", Grid, declared.ATTRIBUTES),
        ),
        "sections of a study of baskets": (
            Entry("[baskets]", declared.BasketsDeclaration),
            Entry("[scales]", BasketScales),
            Entry("[[candidates]]", Grid, declared.ITEMS),
        ),
        "sections of a study of a table with items": (
            Entry("[items]", declared.ItemsDeclaration),
            Entry("[scales]", MixedScales),
            Entry("[[candidates]]", Grid, declared.BOTH),
        ),
    }
    entries = {section: tuple(Entry(kind.name, kind) for kind in members) for section, members in kinds.items()}
    return entries | studies


def find(name: str) -> list[tuple[str, Entry | Measure]]:
    """Find the entries with a name, with their sections; a table and baskets may share a name."""
    entries: list[tuple[str, Entry | Measure]] = [
        (section, entry) for section, members in sections().items() for entry in members if entry.name == name
    ]
    if name in MEASURES:
        entries.append(("measures", MEASURES[name]))
    if not entries:
        known = [entry.name for members in sections().values() for entry in members]
        raise BadInputError(f"there is no {name!r}; the names are {', '.join(dict.fromkeys([*known, *MEASURES]))}")
    return entries


def property_of(each: Described) -> dict[str, Any]:
    """Write one option as JSON Schema; a configuration is its text, hierarchies and weights are objects."""
    option = each.option
    types = {int: "integer", float: "number", bool: "boolean", str: "string"}
    usual = "object" if each.option.takes in ("hierarchies", "weights", "values") else "string"
    content: dict[str, Any] = {"type": types.get(each.type, usual)}
    if each.choices:
        content["enum"] = list(each.choices)
    for word, bound in (("minimum", option.least), ("exclusiveMinimum", option.more_than), ("maximum", option.most)):
        if bound is not None:
            content[word] = bound
    if each.several:
        content = {"type": "array", "items": content}
    content["description"] = each.meaning
    if each.default is not MISSING and each.default is not None:
        content["default"] = _plain(each.default)
    if option.when:
        content["x-when"] = {option.when[0]: list(option.when[1:])}
    if option.takes:
        content["x-takes"] = option.takes
    return content


def _plain(default: Any) -> Any:
    """Return a default in the form that a file contains."""
    if isinstance(default, tuple):
        return [_plain(each) for each in default if each is not None]
    return str(default) if isinstance(default, Configured | item_rules.MixedRequirement) else default


def measure_values(measure: Measure) -> dict[str, Any]:
    """Return a measure as plain values; an open end of its range is omitted."""
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
    """Return all entries by section and name, as plain values."""
    content: dict[str, Any] = {
        section: {entry.name: entry.schema() for entry in members} for section, members in sections().items()
    }
    return content | {"measures": {name: measure_values(measure) for name, measure in MEASURES.items()}}


# -- for people --------------------------------------------------------------------------------------------


def values_in_words(each: Described) -> str:
    """Describe the values of an option: its choices, or a type with bounds; a list if it takes several."""
    option = each.option
    if each.choices:
        words = ", ".join(each.choices)
    elif each.type in (str, object):
        articles = {"": "text", "hierarchies": "a table of hierarchies", "weights": "a table of numbers"}
        articles |= {
            kind: f"a {kind}"
            for kind in ("requirement", "file", "reader", "classification", "limit", "problem", "solver")
        }
        words = articles.get(option.takes, option.takes)
    elif each.type is bool:
        words = "true, false"
    else:
        parts = ["whole number" if each.type is int else "number"]
        parts += [f"from {option.least:g}"] if option.least is not None else []
        parts += [f"above {option.more_than:g}"] if option.more_than is not None else []
        parts += [f"up to {option.most:g}"] if option.most is not None else []
        words = " ".join(parts)
    return f"list: {words}" if each.several else words


def default_in_words(each: Described) -> str:
    """Describe the default of an option."""
    if each.default is MISSING:
        return "must be given"
    if each.several:
        return ", ".join(str(value) for value in _plain(each.default or ())) or "none"
    if each.type is bool:
        return str(each.default).lower()
    return (
        "none" if each.default in (None, "", {}) else f"{each.default:g}" if each.type is float else str(each.default)
    )
