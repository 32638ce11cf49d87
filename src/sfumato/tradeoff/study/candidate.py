"""One release that could be made: who makes it, what it must satisfy, what it may do; of attributes, items or both.

What was made elsewhere in a study: `[[candidates]]` with a `file`, and what is said of it.

    [[candidates]]
    file = "arx-k5.csv"
    name = "ARX"
    claim = "k-anonymity k=5"

Keys are those of the maker's text, but for `name`, which is `label` there. Files are looked for beside the study.
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
from sfumato.anonymizers.external.external import Brought, BroughtFile
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
from sfumato.texts.catalogue import t

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Point

MARKS = {ATTRIBUTES: "", ITEMS: "baskets: ", BOTH: "items: "}
"""What stands before the text of which the id is a digest: candidates of different data have no id in common."""


@dataclass(frozen=True)
class Candidate:
    """One release that could be made. Its text tells it from others."""

    anonymizer: ReleaseMaker
    requirement: Any
    form: Form = "generalization"
    item_anonymizer: BasketAnonymizer | None = field(default=None, kw_only=True)
    """Who makes the items of every group anonymous, where records have attributes and items."""

    merging: Merging = field(default_factory=NoMerging, kw_only=True)
    suppress: float = 0.0
    utility: UtilityConstraints | None = field(default=None, kw_only=True)
    limit: SuppressionLimit = field(default_factory=SuppressionLimit, kw_only=True)
    sets: Sets = field(default="group", kw_only=True)

    @property
    def has(self) -> frozenset[Part]:
        """What the data have that it is made of."""
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
        """A short name that depends on the configuration alone."""
        return sha256(f"{MARKS[self.has]}{self.identity}".encode()).hexdigest()[:8]

    @property
    def identity(self) -> str:
        """What tells it from others: of what was made elsewhere not where it is."""
        maker = self.anonymizer
        return str(replace(self, anonymizer=maker.identity) if isinstance(maker, Brought) else self)

    @property
    def pinned(self) -> Candidate:
        """The same with the digest of what was made elsewhere, which its point depends on."""
        maker = self.anonymizer
        return replace(self, anonymizer=maker.pinned) if isinstance(maker, Brought) else self

    @property
    def recipe(self) -> MixedRecipe:
        """How a release of attributes and items is made."""
        assert self.item_anonymizer is not None
        maker: Any = self.anonymizer
        by = (maker, self.requirement, self.item_anonymizer, self.merging)
        return MixedRecipe(*by, self.suppress, self.utility, self.limit, self.sets)

    @property
    def parameters(self) -> dict[str, Any]:
        """The numbers and choices of the configuration, by name."""
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
        """How the release is made, in a sentence, where its texts do not say it to everybody."""
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
        """Say how groups and their items are made."""
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
        """What it is drawn as, where that is not its requirement: who makes it."""
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
        """The same as everybody may know it: without a seed, with which it could be made again, and names of files."""
        items = self.item_anonymizer
        return replace(
            self,
            anonymizer=self.anonymizer.public,
            requirement=self.requirement.public if self.has == ITEMS else self.requirement,
            item_anonymizer=None if items is None else items.public,
            utility=None if self.utility is None else self.utility.public,
        )

    def repeatable(self, turn: int = 0) -> Candidate:
        """Return the same with a seed of its own where its anonymizer draws at random and has none.

        A map is for the publisher's eyes and must come out the same twice; a release that is published draws afresh.
        Every turn after the first has another seed, whatever the candidate's own is.
        """
        maker = self.anonymizer
        if isinstance(maker, Mechanism):
            return self
        seeded = (without_seed(maker) if turn else maker).with_seed(int(self.id, 16) + turn)
        return replace(self, anonymizer=seeded)

    def check(self, data: Any = None) -> None:
        """Refuse what cannot be promised, before anything is made."""
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
        """Return the point of this candidate, before it is measured."""
        from sfumato.tradeoff.map import Point  # a map is about studies: not before them

        return Point(self.id, self, "measured")


def files_of(*values: Any) -> Iterator[str]:
    """Name the files that configurations read: what options that take a file say, at any depth."""
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


def brought_of(block: Mapping[str, Any], folder: Path) -> Brought | None:
    """Read a block of candidates that is made elsewhere; None where it is not."""
    if "command" in block:
        raise BadInputError(f"[[candidates]] command = {shortened(block['command'])}: {NO_COMMANDS}")
    if "file" not in block:
        return None
    options = described(BroughtFile)
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
    return beside_study(BroughtFile(**values), folder)


def _key_of(name: str) -> str:
    return "name" if name == "label" else name


def beside_study(maker: AnyMaker, folder: Path) -> AnyMaker:
    """Look for the files of what was made elsewhere beside the study."""
    return maker.renamed(lambda file: beside(folder, file)) if isinstance(maker, BroughtFile) else maker


def found_again(maker: AnyMaker, known: Iterable[ReleaseMaker]) -> AnyMaker:
    """Take the files of a maker, as a map names them, from the study, which says where they are now."""
    if not isinstance(maker, BroughtFile):
        return maker
    identity = replace(maker.identity, digest="")
    for other in known:
        if isinstance(other, BroughtFile) and replace(other.identity, digest="") == identity:
            return replace(other, digest=maker.digest)  # type: ignore[return-value]
    return maker


def brought_block(maker: Brought, folder: Path | None) -> dict[str, Any]:
    """Write what was made elsewhere as a block of candidates."""
    if not isinstance(maker, BroughtFile):
        raise BadInputError(t("refusal.in_memory", maker=maker.label or maker.made_of))
    if folder is not None:
        maker = maker.renamed(lambda file: seen_from(folder, file))
    written: dict[str, Any] = {}
    for each in fields(maker):
        value = getattr(maker, each.name)
        if each.name != "digest" and (each.default is MISSING or value != each.default):
            written[_key_of(each.name)] = value == "yes" if each.name == "aligned" else value
    return {"file": written.pop("file"), **written}
