"""A candidate: one possible release of attributes, items or both, with its anonymizer, requirement and limits.

An external release in a study is a block `[[candidates]]` with a `file`:

    [[candidates]]
    file = "arx-k5.csv"
    name = "ARX"
    claim = "k-anonymity k=5"

Its keys are those of the maker's text, except for `name`, which is `label` there. Files are relative to the study.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.anonymizers import NO_COMMANDS
from sfumato.anonymizers.anonymizer import ReleaseMaker
from sfumato.anonymizers.dp.mechanism import Mechanism
from sfumato.anonymizers.external.external import ExternalFile, ExternalRelease
from sfumato.anonymizers.items._grouped_items import Sets
from sfumato.anonymizers.items.item_anonymizer import BasketAnonymizer, Task
from sfumato.anonymizers.items.items_of_groups import Merging, MixedRecipe, NoMerging
from sfumato.config.options import described, shortened, value_text, without_seed
from sfumato.config.sections import known_keys
from sfumato.data.declaration import ATTRIBUTES, BOTH, ITEMS, Part
from sfumato.engines.locations import beside, seen_from
from sfumato.errors import BadInputError
from sfumato.release.release import Form
from sfumato.requirements.items import SuppressionLimit, UtilityConstraints, policy_texts
from sfumato.texts.catalogue import refusal

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Point

MARKS = {ATTRIBUTES: "", ITEMS: "baskets: ", BOTH: "items: "}
"""Prefixes of the text of which the id is a digest, so that candidates of different data have different ids."""


@dataclass(frozen=True)
class Candidate:
    """One possible release. Candidates with equal texts are equal."""

    anonymizer: ReleaseMaker
    requirement: Any
    form: Form = "generalization"
    item_anonymizer: BasketAnonymizer | None = field(default=None, kw_only=True)
    """The anonymizer of the items of each group, if records have attributes and items."""

    merging: Merging = field(default_factory=NoMerging, kw_only=True)
    suppress: float = 0.0
    utility: UtilityConstraints | None = field(default=None, kw_only=True)
    limit: SuppressionLimit = field(default_factory=SuppressionLimit, kw_only=True)
    sets: Sets = field(default="group", kw_only=True)

    @property
    def has(self) -> frozenset[Part]:
        """The parts of the data from which it is made."""
        if self.item_anonymizer is not None:
            return BOTH
        return ITEMS if isinstance(self.anonymizer, BasketAnonymizer) else ATTRIBUTES

    def __str__(self) -> str:
        suppress = [f"suppress {self.suppress!r}"] if self.suppress else []
        if self.has == ATTRIBUTES:
            return ", ".join([str(self.anonymizer), str(self.requirement), self.form, *suppress])
        maker = str(self.anonymizer if self.item_anonymizer is None else self.recipe)
        return ", ".join([maker, str(self.requirement), *self._policy.values(), *suppress])

    @property
    def id(self) -> str:
        """A short name that depends only on the configuration."""
        return sha256(f"{MARKS[self.has]}{self.identity}".encode()).hexdigest()[:8]

    @property
    def identity(self) -> str:
        """Its identifying text; that of an external release omits the location."""
        maker = self.anonymizer
        return str(replace(self, anonymizer=maker.identity) if isinstance(maker, ExternalRelease) else self)

    @property
    def pinned(self) -> Candidate:
        """The same with the digest of an external release, on which its point depends."""
        maker = self.anonymizer
        return replace(self, anonymizer=maker.pinned) if isinstance(maker, ExternalRelease) else self

    @property
    def recipe(self) -> MixedRecipe:
        """The recipe of a release of attributes and items."""
        assert self.item_anonymizer is not None
        maker: Any = self.anonymizer
        by = (maker, self.requirement, self.item_anonymizer, self.merging)
        return MixedRecipe(*by, self.suppress, self.utility, self.limit, self.sets)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the configuration by name."""
        parameters: dict[str, Any] = {}
        empty = (None, ()) if self.has == ITEMS else (None, "")
        for part in (self.anonymizer, *self.requirement.parts):
            for setting in fields(part):
                value = getattr(part, setting.name)
                if value not in empty and setting.name not in part.unwritten:
                    keys = (setting.name if n == 1 else f"{setting.name} {n}" for n in count(1))
                    key = next(key for key in keys if key not in parameters)
                    parameters[key] = value_text(value) if isinstance(value, tuple) else value
        further = {
            "items_with": "" if self.item_anonymizer is None else str(self.item_anonymizer),
            "merging": "" if isinstance(self.merging, NoMerging) else str(self.merging),
            "sets": "" if self.sets == "group" else self.sets,
            **self._policy,
            "suppress": self.suppress,
        }
        return parameters | {name: value for name, value in further.items() if value}

    @property
    def _policy(self) -> dict[str, str]:
        return policy_texts(self.utility, self.limit)

    @property
    def in_words(self) -> str:
        """A sentence that describes the release, if its text form is not self-explanatory."""
        maker: Any = self.anonymizer
        if self.has == ATTRIBUTES:
            return self.anonymizer.described_in_words
        items = "" if self.item_anonymizer is None else self.item_anonymizer.in_words()
        if maker.baseline:
            return f"{maker.baseline}; items: {items}" if items else str(maker.baseline)
        limit = [self.limit.rule_in_words()] if self.limit.share else []
        if items:
            return "; ".join([*self._items_in_words(maker.in_words(), items), *limit])
        parts = [f"{maker.in_words()}: {self.requirement.rule_in_words()}"]
        parts += [] if self.utility is None else [self.utility.in_words()]
        return "; ".join([*parts, *limit])

    def _items_in_words(self, groups: str, items: str) -> Iterator[str]:
        """Describe how groups and their items are made."""
        yield f"groups by {groups}, items by {items}"
        if not isinstance(self.merging, NoMerging):
            yield f"groups merged by {self.merging.in_words()}"
        if self.sets == "common":
            yield "sets of items are nodes of one tree for all groups"
        yield self.requirement.rule_in_words()
        if self.utility is not None:
            where = f"a line of {self.utility.file}" if self.utility.file else f"a node of level {self.utility.level}"
            yield f"items published together only within {where}"

    @property
    def family(self) -> str:
        """Its family in the chart, if that is not its requirement: its maker."""
        maker: Any = self.anonymizer
        if self.has == ATTRIBUTES:
            return self.anonymizer.family
        if self.item_anonymizer is None:
            return str(maker.in_words())
        if maker.baseline:
            return ""
        merged = "" if isinstance(self.merging, NoMerging) else f", {self.merging.title or self.merging.name}"
        common = ", common sets" if self.sets == "common" else ""
        return f"{maker.in_words()} with {self.item_anonymizer.in_words()}{merged}{common}"

    @property
    def public(self) -> Candidate:
        """Its public form: without a seed, which would reproduce it, and without file names."""
        items = self.item_anonymizer
        return replace(
            self,
            anonymizer=self.anonymizer.public,
            requirement=self.requirement.public if self.has == ITEMS else self.requirement,
            item_anonymizer=None if items is None else items.public,
            utility=None if self.utility is None else self.utility.public,
        )

    def repeatable(self, turn: int = 0) -> Candidate:
        """Return the same with its own seed if its anonymizer is random and has no seed.

        A map is internal and reproducible; a published release is drawn again. Every turn after the first has another
        seed, also if the candidate has one.
        """
        maker = self.anonymizer
        if isinstance(maker, Mechanism):
            return self
        seeded = (without_seed(maker) if turn else maker).with_seed(int(self.id, 16) + turn)
        return replace(self, anonymizer=seeded)

    def check(self, data: Any = None) -> None:
        """Refuse infeasible promises before anything is made."""
        if self.item_anonymizer is not None:
            self.recipe.check(data)
        elif self.has == ITEMS and data is not None:
            self.anonymizer.check_task(Task(data, self.requirement, self.utility, self.limit))  # type: ignore[attr-defined]
            _ = self.utility is None or self.utility.blocks(data)

    def make(self, data: Any) -> Any:
        """Make the release."""
        maker: Any = self.anonymizer
        if self.item_anonymizer is not None:
            return replace(self.recipe.make(data), maker=str(self))
        policy = (self.utility, self.limit) if self.has == ITEMS else (self.form, self.suppress)
        return maker.anonymize(data, self.requirement, *policy)

    def point(self) -> Point:
        """Return the point of this candidate before it is measured."""
        from sfumato.tradeoff.map import Point  # maps import studies

        return Point(self.id, self, "measured")


def files_of(*values: Any) -> Iterator[str]:
    """Yield the file names in configurations: the options that take a file, at any depth."""
    for value in values:
        if isinstance(value, tuple):
            yield from files_of(*value)
        elif is_dataclass(value):
            known = described(type(value))
            for each in fields(value):
                given = getattr(value, each.name)
                if each.name not in known or known[each.name].option.takes != "file":
                    yield from files_of(given)
                elif given is not None:
                    yield given


FLAGS = {True: "yes", False: "no"}
AnyMaker = TypeVar("AnyMaker", bound=ReleaseMaker)


def brought_of(block: Mapping[str, Any], folder: Path) -> ExternalRelease | None:
    """Read a block of candidates of an external release; None for other blocks."""
    if "command" in block:
        raise BadInputError(f"[[candidates]] command = {shortened(block['command'])}: {NO_COMMANDS}")
    if "file" not in block:
        return None
    options = described(ExternalFile)
    keys = {_key_of(name): name for name in options if name != "digest"}
    known_keys("[[candidates]] with a file", block, keys)
    values: dict[str, Any] = {}
    for key, value in block.items():
        if key == "na" and isinstance(value, list):
            value = ",".join(map(str, value))
        if key == "aligned" and isinstance(value, bool):
            value = FLAGS[value]
        if options[keys[key]].type is str and not isinstance(value, str):
            raise BadInputError(f"{key} must be a text, not {shortened(value)}")
        values[keys[key]] = value
    return beside_study(ExternalFile(**values), folder)


def _key_of(name: str) -> str:
    return "name" if name == "label" else name


def beside_study(maker: AnyMaker, folder: Path) -> AnyMaker:
    """Return a maker with its files relative to the study."""
    return maker.renamed(lambda file: beside(folder, file)) if isinstance(maker, ExternalFile) else maker


def found_again(maker: AnyMaker, known: Iterable[ReleaseMaker]) -> AnyMaker:
    """Return a maker of a map with the current files of the study."""
    if not isinstance(maker, ExternalFile):
        return maker
    identity = replace(maker.identity, digest="")
    for other in known:
        if isinstance(other, ExternalFile) and replace(other.identity, digest="") == identity:
            return replace(other, digest=maker.digest)  # type: ignore[return-value]
    return maker


def brought_block(maker: ExternalRelease, folder: Path | None) -> dict[str, Any]:
    """Return an external release as a block of candidates."""
    if not isinstance(maker, ExternalFile):
        raise refusal("in_memory", maker=maker.label or maker.made_of)
    if folder is not None:
        maker = maker.renamed(lambda file: seen_from(folder, file))
    written: dict[str, Any] = {}
    for each in fields(maker):
        value = getattr(maker, each.name)
        if each.name != "digest" and (each.default is MISSING or value != each.default):
            written[_key_of(each.name)] = value == "yes" if each.name == "aligned" else value
    return {"file": written.pop("file"), **written}
