"""Requirements of releases with items, utility constraints, weights and suppression limits.

All values print as their text form:

    km-anonymity k=5 m=2
    k-anonymity k=5
    privacy-constraints k=5 file=known.txt
    rho-uncertainty rho=0.5 m=2 sensitive=042,295
    hkp-coherence h=0.5 k=5 p=2 private=042
    ps-rules k=5 c=0.5 file=rules.txt
    utility-constraints level=2
    suppression share=.05 of=occurrences

**Identity in baskets.** Terrovitis, Mamoulis & Kalnis 2008 (k^m-anonymity); He & Naughton 2009 (complete k-anonymity);
Loukides, Gkoulalas-Divanis & Malin 2011 (privacy constraints). A set of items is protected if its published form is in
at least k records or in none.

**Tables with items**: (k, k^m)-anonymity, alone or joined. Poulis, Loukides, Gkoulalas-Divanis & Skiadopoulos,
"Anonymizing data with relational and transaction attributes" (ECML PKDD 2013): a group is the records with equal
published quasi-identifiers. Every group has at least k records, and in each group every occurring set of 1..m published
parts is in at least k records. So an attacker who knows a person's quasi-identifiers and up to m items has at least k
candidates.

    k-km-anonymity k=5 m=2
    k-km-anonymity k=5 m=2 & l-diversity l=2 variant=distinct on=outcome
    k-km-anonymity k=5 m=0 & t-closeness t=0.3 distance=equal on=codes

The other parts are requirements of tables, on sensitive columns or `on` the column of items. The latter means the
declared *sensitive items* (items, or nodes of their tree). They form one derived attribute of each record with the name
of the column: its declared items, in order of declaration and joined by ` + `, or `none`. It concerns the items of the
records, not the published ones. With m=0 the attacker knows no item, and items may be published unchanged. Readers of a
file with exact codes expect a statement about them, so there is always one part `k-km-anonymity`.

**Inference in baskets.** Three papers, one form: an attacker knows some items of a person, selects the records that
show their published forms, and counts the selected records with a sensitive item.

- rho-uncertainty (Cao, Karras, Raissi & Tan, VLDB 2010): any items may be known, sensitive ones too.
- (h,k,p)-coherence (Xu, Wang, Fu & Yu, KDD 2008): up to p non-private items, and at least k records match.
- PS-rules (Loukides, Gkoulalas-Divanis & Shao, KAIS 2013): the items of a line, and those that must not be inferred.

The promise concerns the published rows, as `verify` and the audit count them:

- A sensitive item is published as itself or not at all. Then a set of published items without it reveals nothing about
  it, and the share of records is the attacker's confidence.
- No knowledge counts, too: of all records, at most the share may show a sensitive item. This is our addition.
- A suppressed item is dropped from the attacker's knowledge; no record shows a suppressed conclusion.
- Shares are compared with the tolerance of all requirements, 1e-9.

Cao et al. do not bound the knowledge. Here `m` is required, because the time grows with the number of sets; with m as
large as the longest published record it is the paper's promise.

**Utility constraints**: items that may be published together (Loukides, Gkoulalas-Divanis & Malin 2011).

**Weights** w and penalties Y of UL (Loukides et al. 2011), from a file. One line for an item, some items or a node of
the tree: names, a colon, a weight, and optionally a penalty:

    250.01 250.02: 3
    290-319: 2 10

The weight of a published part is the mean of its items' weights; a suppressed item costs its penalty for every record
that has it. Both default to 1, the cost of publishing everything as one part. The papers leave both to the owner; the
mean is ours.

**Suppression limits** bound the suppression in a release of baskets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

import numpy as np

from sfumato.config.options import Configured, Option, described, parse, split_outside_quotes
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.items import Baskets, items_in_words
from sfumato.engines.item_files import numbered_lines, separator_of, split_line
from sfumato.requirements.requirement import REQUIREMENTS, All, KAnonymity, Requirement
from sfumato.runtime.arrays import Codes, Numbers
from sfumato.texts.catalogue import counted, percent, refusal, t

Itemset = tuple[int, ...]


COMMENT = "# "
"""The beginning of a comment line, unless an item has this name."""


def itemsets_of(baskets: Baskets, file: str) -> list[tuple[int, Itemset]]:
    """Read a file of item sets, one per line, as codes; a line that is the name of an item is that item alone."""
    return [(number, codes_of(baskets, labels, file, number)) for number, labels in labels_of(baskets, file)]


def labels_of(baskets: Baskets, file: str) -> list[tuple[int, list[str]]]:
    """Read the names on every line of a file; each name once, in order."""
    lines, mark = lines_of(baskets, file)
    return [(number, names_in(baskets, text, mark)) for number, text in lines]


def lines_of(baskets: Baskets, file: str) -> tuple[list[tuple[int, str]], str]:
    """Return the lines of a file that have names and are no comments, with their numbers, and the separator."""
    named = [(number, text.strip()) for number, text in numbered_lines(Path(file)) if text.strip()]
    lines = [(number, text) for number, text in named if text in baskets.places or not is_comment(text)]
    if not lines:
        raise refusal("no_line_items", file=file)
    return lines, separator_of([text for _, text in lines])


def names_in(baskets: Baskets, text: str, mark: str) -> list[str]:
    """Split a text into distinct names; a text that is the name of an item is that item alone."""
    text = text.strip()
    return [text] if text in baskets.places else list(dict.fromkeys(split_line(text, mark)))


def is_comment(text: str) -> bool:
    """Return whether a line is a comment.

    >>> is_comment("# made by sfumato policy"), is_comment("#1 seller")
    (True, False)
    """
    return f"{text} ".startswith(COMMENT)


def codes_of(baskets: Baskets, labels: Iterable[str], file: str, line: int) -> Itemset:
    """Return the codes of items, ascending; an item that no basket has is an error."""
    lacking = [label for label in labels if label not in baskets.places]
    if lacking:
        raise refusal("no_basket", file=file, line=line, items_in_words=items_in_words(lacking), origin=baskets.origin)
    return tuple(sorted({baskets.places[label] for label in labels}))


def named_items(baskets: Baskets, names: Iterable[str], what: str) -> Itemset:
    """Return the codes of items named singly or by a node of the tree, ascending; `what` is their role for messages.

    >>> from sfumato.data.items import baskets_of
    >>> named_items(baskets_of([{"a", "b"}]), ["b"], "sensitive")
    (1,)
    """
    codes: set[int] = set()
    for name in names:
        under = under_node(baskets, name)
        if name in baskets.places:
            codes.add(baskets.places[name])
        elif under:
            codes.update(under)
        else:
            tree = "" if baskets.tree is None else t("notice.no_node_tree_such")
            raise refusal("unknown_item", what=what, name=name, baskets=baskets, tree=tree)
    return tuple(sorted(codes))


def under_node(baskets: Baskets, name: str) -> Itemset:
    """Return the codes of the occurring items under a node of the tree; empty without such a node."""
    if baskets.tree is None:
        return ()
    spans = spans_of(baskets.tree, name)
    return tuple(code for code, leaf in enumerate(baskets.leaf.tolist()) if any(leaf in span for span in spans))


def spans_of(tree: Hierarchy, name: str) -> list[range]:
    """Return the leaves under every node with a name; nodes over the same leaves may repeat at several levels."""
    return [
        range(lo, hi)
        for level in tree.levels[1:]
        for lo, hi, label in zip(level.starts, (*level.starts[1:], tree.size), level.labels, strict=True)
        if label == name
    ]


MOST_SUBSETS = 1 << 20
"""The most possible subsets of all lines for which constraints are expanded."""

FILE = "a file"
"""The public replacement of a file name."""

Kind = TypeVar("Kind", bound=Configured)


def without_file_names(value: Kind) -> Kind:
    """Return a configuration in its public form, without file names."""
    named = [each.name for each in described(type(value)).values() if each.option.takes == "file"]
    given = [name for name in named if getattr(value, name) is not None]
    return replace(value, **dict.fromkeys(given, FILE)) if given else value  # type: ignore[type-var]


Counting = Annotated[
    Literal["records", "persons"], Option("The counted unit: records, or persons, each with one or several records.")
]


class CountsPersons(Configured, ABC):
    """A bound on how many records fit what is known, or records of how many persons."""

    k: int
    of: Counting

    @abstractmethod
    def rule_in_words(self) -> str:
        """Say what it promises."""

    @property
    def by_persons(self) -> Self:
        """The same with persons counted."""
        return replace(self, of="persons")  # type: ignore[type-var]

    @property
    def unit(self) -> str:
        """What it counts."""
        return self.of.removesuffix("s")

    def words_of_persons(self) -> str:
        """Describe the promise where persons are counted."""
        return self.by_persons.rule_in_words()

    def counting(self, persons: bool) -> Self:
        """Return what it means of data; persons cannot be counted where nothing says whose a record is."""
        if self.of == "persons" and not persons:
            raise refusal("counting_without_a_person", part=self)
        return self.by_persons if persons else self

    def _known(self, m: int) -> str:
        """Describe how much an attacker knows about whom."""
        return t(f"notice.known_of_{self.of}", items=known_in_words(m))

    def _fitting(self) -> str:
        """Say how many fit."""
        return t(f"notice.finds_{self.of}", k=self.k)


class BasketRequirement(CountsPersons):
    """A condition on what is published of baskets."""

    names_items: ClassVar[bool] = False
    """Whether it names items, so that its check on published sets needs all items."""

    @property
    def parts(self) -> tuple[BasketRequirement, ...]:
        """The requirements that it consists of, as for tables: itself."""
        return (self,)

    def of_parts(self, parts: Sequence[BasketRequirement]) -> BasketRequirement:
        """Return the requirement that consists of another part."""
        return parts[0]

    @property
    def public(self) -> BasketRequirement:
        """Its public form, without file names."""
        return without_file_names(self)

    def strengthen(self, measures: Mapping[str, float]) -> BasketRequirement:
        """Return the strongest requirement of this kind that fits these measures of a file (default: itself)."""
        return self

    def _finding(self) -> str:
        return f"{self._fitting()}, or none"


def at_least(k: int, fewest: float) -> int:
    """Return the least number of matching records; without matching records it is k.

    >>> at_least(5, 28.0), at_least(5, float("inf"))
    (28, 5)
    """
    return max(k, int(fewest)) if isfinite(fewest) else k


def known_in_words(m: int) -> str:
    """Return an attacker's number of known items in words.

    >>> known_in_words(1), known_in_words(2), known_in_words(12)
    ('any one item', 'any two items', 'any 12 items')
    """
    numbers = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
    return f"any {numbers.get(m, m)} item{'' if m == 1 else 's'}"


@dataclass(frozen=True)
class KMAnonymity(BasketRequirement):
    """An attacker who knows up to m items of a person has at least k matching records (for all sizes 1..m).

    >>> str(KMAnonymity(k=5, m=2))
    'km-anonymity k=5 m=2'
    >>> KMAnonymity(5, 2).rule_in_words()
    'someone who knows any two items of a person (or fewer) finds at least 5 records that fit, or none'
    """

    k: Annotated[int, Option(least=1)]
    """The least number of matching records."""

    m: Annotated[int, Option(least=1)]
    """The number of a person's items that an attacker may know."""

    of: Counting = "records"
    name: ClassVar[str] = "km-anonymity"
    example: ClassVar[str | None] = "km-anonymity k=5 m=2"

    def strengthen(self, measures: Mapping[str, float]) -> BasketRequirement:
        """Use the fewest matching records; `measures` are for an attacker who knows m items.

        For persons it is unchanged, because a file does not show the persons of its records.
        """
        if self.of == "persons":
            return self
        return replace(self, k=at_least(self.k, measures.get("least_support", 0.0)))

    def rule_in_words(self) -> str:
        """Return its promise in words."""
        fewer = " (or fewer)" if self.m > 1 else ""
        return t("notice.someone_knows_person", known=self._known(self.m), fewer=fewer, finding=self._finding())


@dataclass(frozen=True)
class CompleteKAnonymity(BasketRequirement):
    """Every published basket occurs in at least k records, so k records match any knowledge of a person's items."""

    k: Annotated[int, Option(least=1)]
    """The least number of matching records."""

    of: Counting = "records"
    name: ClassVar[str] = "k-anonymity"
    example: ClassVar[str | None] = "k-anonymity k=5"

    def rule_in_words(self) -> str:
        """Return its promise in words."""
        return t("notice.every_published_basket_least", number=counted(self.k, self.unit))


@dataclass(frozen=True)
class PrivacyConstraints(BasketRequirement):
    """The sets of items in a file, one per line, are protected; an attacker is assumed to know no other sets.

    A suppressed item is dropped from its constraints; the rest of each must be satisfied.
    """

    k: Annotated[int, Option(least=1)]
    """The least number of matching records."""

    file: Annotated[str, Option(takes="file")]
    """The file of sets of items, one per line."""

    protect_subsets: Annotated[Literal["yes", "no"], Option()] = "yes"
    """Whether an attacker who knows only some items of a line is covered, too."""

    of: Counting = "records"
    name: ClassVar[str] = "privacy-constraints"
    example: ClassVar[str | None] = "privacy-constraints k=5 file=known.txt"
    names_items: ClassVar[bool] = True

    def rule_in_words(self) -> str:
        """Return its promise in words."""
        some = t("notice.some_them") if self.protect_subsets == "yes" else ""
        return t("notice.someone_knows_items_line", file=self.file, some=some, finding=self._finding())

    def itemsets(self, baskets: Baskets) -> list[Itemset]:
        """Read the constraints as codes of items, shorter ones first; an item that no basket has is an error."""
        lines = itemsets_of(baskets, self.file)
        itemsets = {codes for _, codes in lines}
        if self.protect_subsets == "yes":
            check_subsets(lines, self.file)
            itemsets = {subset for codes in itemsets for subset in subsets_of(codes)}
        return sorted(itemsets, key=lambda itemset: (len(itemset), itemset))


def subsets_of(codes: Itemset) -> list[Itemset]:
    """List the non-empty subsets of a set of items, shorter ones first."""
    return [itemset for size in range(1, len(codes) + 1) for itemset in combinations(codes, size)]


def check_subsets(lines: list[tuple[int, Itemset]], file: str) -> None:
    """Raise, before any is listed, if the lines of a file have too many subsets."""
    first_line = {codes: line for line, codes in reversed(lines)}
    subsets = sum(2 ** len(codes) - 1 for codes in first_line)
    if subsets > MOST_SUBSETS:
        longest = min(first_line, key=lambda codes: (-len(codes), first_line[codes]))
        many = f"{subsets:,}" if subsets < 10**12 else "far too many"
        raise refusal(
            "lines_subsets_protect",
            file=file,
            many=many,
            MOST_SUBSETS=MOST_SUBSETS,
            first_line=first_line[longest],
            longest=len(longest),
        )


@dataclass(frozen=True)
class KKMAnonymity(CountsPersons):
    """An attacker who knows the quasi-identifiers and up to m items of a person has at least k matching records.

    >>> str(KKMAnonymity(k=5, m=2))
    'k-km-anonymity k=5 m=2'
    >>> KKMAnonymity(5, 2).rule_in_words()
    'someone who knows the quasi-identifiers and any two items of a person (or fewer) finds at least 5 records that fit'
    """

    k: Annotated[int, Option(least=1)]
    """The least number of matching records."""

    m: Annotated[int, Option(least=0)]
    """The number of a person's items that an attacker may know in addition to the quasi-identifiers."""

    of: Counting = "records"
    name: ClassVar[str] = "k-km-anonymity"
    example: ClassVar[str | None] = "k-km-anonymity k=5 m=2"

    @property
    def of_groups(self) -> Requirement:
        """Its requirement on the table."""
        return KAnonymity(self.k).by_persons if self.of == "persons" else KAnonymity(self.k)

    @property
    def of_items(self) -> KMAnonymity | None:
        """Its requirement on the items in each group; None with m=0."""
        return KMAnonymity(self.k, self.m, self.of) if self.m else None

    def rule_in_words(self) -> str:
        """Return its promise in words."""
        items = t("notice.and_known", known=self._known(self.m)) if self.m else t("notice.person_none_items")
        fewer = " (or fewer)" if self.m > 1 else ""
        return t("notice.someone_knows_quasi_identifiers", items=items, fewer=fewer, finds=self._fitting())


Part = KKMAnonymity | Requirement
"""The parts of a requirement on a table with items."""


@dataclass(frozen=True)
class MixedRequirement:
    """(k, k^m)-anonymity, optionally with requirements on sensitive columns and sensitive items.

    >>> asked = mixed_requirement("t-closeness t=0.3 distance=equal on=codes & k-km-anonymity k=5 m=2")
    >>> str(asked)
    'k-km-anonymity k=5 m=2 & t-closeness t=0.3 distance=equal on=codes'
    >>> str(asked.of_groups), str(asked.of_items)
    ('k-anonymity k=5 & t-closeness t=0.3 distance=equal on=codes', 'km-anonymity k=5 m=2')
    """

    linking: KKMAnonymity
    """The promise against an attacker who searches for a person."""

    further: tuple[Requirement, ...] = ()
    """The promises about sensitive values, by group."""

    name: ClassVar[str] = "k-km-anonymity"

    @property
    def k(self) -> int:
        """The least number of matching records."""
        return self.linking.k

    @property
    def m(self) -> int:
        """The number of a person's items that an attacker may know."""
        return self.linking.m

    @property
    def parts(self) -> tuple[Part, ...]:
        """Its parts."""
        return (self.linking, *self.further)

    def of_parts(self, parts: Sequence[Any]) -> MixedRequirement:
        """Return the requirement with other parts."""
        return MixedRequirement(parts[0], tuple(parts[1:]))

    @property
    def of_groups(self) -> Requirement:
        """Its requirement on the groups of the table."""
        groups: Requirement = self.linking.of_groups
        return All((groups, *self.further)) if self.further else groups

    @property
    def of_items(self) -> KMAnonymity | None:
        """Its requirement on the items in each group; None with m=0."""
        return self.linking.of_items

    @property
    def by_persons(self) -> MixedRequirement:
        """The same with persons counted."""
        return MixedRequirement(self.linking.by_persons, tuple(part.by_persons for part in self.further))

    def strengthen(
        self, measures: Mapping[str, float], by_sensitive: Mapping[str, Mapping[str, float]]
    ) -> MixedRequirement:
        """Return the strongest requirement of this kind that a file satisfies; columns not in `by_sensitive` remain."""
        if self.linking.of == "persons":
            return self
        linking = replace(self.linking, k=at_least(self.k, measures.get("candidates", 0.0)))
        known = {*by_sensitive, *([None] if len(by_sensitive) == 1 else [])}
        further = (part.strengthen(measures, by_sensitive) if part.on in known else part for part in self.further)
        return MixedRequirement(linking, tuple(further))

    def rule_in_words(self) -> str:
        """Return its promise in words."""
        return "; ".join(part.rule_in_words() for part in self.parts)

    def __str__(self) -> str:
        return " & ".join(map(str, self.parts))


def mixed_requirement(text: str) -> MixedRequirement:
    """Parse a requirement on a table with items, parts joined by `&`."""
    written = [part for part in split_outside_quotes(text, "&") if part.strip()]
    known: list[type[Configured]] = [KKMAnonymity, *REQUIREMENTS]
    parts = [parse(part, known, "requirement") for part in written]
    linking = [part for part in parts if isinstance(part, KKMAnonymity)]
    if len(linking) != 1:
        said = t("notice.says_nothing_knows_items") if not linking else f"has {len(linking)} parts {KKMAnonymity.name}"
        raise refusal("requirement_without_items", text=text.strip(), said=said, part=KKMAnonymity)
    return MixedRequirement(linking[0], tuple(part for part in parts if isinstance(part, Requirement)))


SOME = ("some items",)
"""The public replacement of item names."""

ARROW = "->"
TOLERANCE = 1e-9
"""The tolerance for shares, in makers, checkers and audit."""

Rule = tuple[Itemset, Itemset]
"""Known items, and items that must not be inferred from them."""


class InferenceRequirement(BasketRequirement):
    """A bound on an attacker's confidence that a person has a sensitive item."""

    names_items: ClassVar[bool] = True
    bound: ClassVar[str]
    """The field with the largest share of matching records that may show a sensitive item."""

    @property
    def share(self) -> float:
        """The largest share of matching records that may show a sensitive item."""
        return float(getattr(self, self.bound))

    def _whom(self) -> str:
        """Describe the base of a share."""
        return t(f"notice.share_of_{self.of}")

    @abstractmethod
    def sensitive_items(self, baskets: Baskets) -> Itemset:
        """Return the codes of the items that are published as themselves or not at all."""


class ProtectedItems(InferenceRequirement):
    """A bound about items named singly, by a node of the tree, or in a file."""

    protected: ClassVar[str]
    """The field with their names."""

    file: str | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not getattr(self, self.protected) and self.file is None:
            raise refusal("needs_items_protects", name=self.name, example=self.example)

    def sensitive_items(self, baskets: Baskets) -> Itemset:
        """Return the codes of the items named in the text and in the file."""
        codes = set(named_items(baskets, getattr(self, self.protected), self.name))
        for line, labels in labels_of(baskets, self.file) if self.file is not None else ():
            codes.update(named_items(baskets, labels, f"{self.file}, line {line}"))
        return tuple(sorted(codes))

    @property
    def public(self) -> ProtectedItems:
        """Its public form, without the names of items and files."""
        return replace(self, file=None, **{self.protected: SOME})  # type: ignore[type-var]


@dataclass(frozen=True)
class RhoUncertainty(ProtectedItems):
    """An attacker who knows any m items of a person has confidence at most rho in any further sensitive item.

    >>> print(RhoUncertainty(0.5, 2, ("042", "295")))
    rho-uncertainty rho=0.5 m=2 sensitive=042,295
    """

    rho: Annotated[float, Option(least=0, most=1)]
    """The largest share of matching records that may show a sensitive item."""

    m: Annotated[int, Option(least=0)]
    """The number of a person's items that an attacker may know. The paper protects against any number: the length of
    the longest record."""

    sensitive: Annotated[tuple[str, ...], Option()] = ()
    """The sensitive items: by name, or all under a node of the tree."""

    file: Annotated[str | None, Option(takes="file")] = None
    """A file with their names or further ones: items or nodes of the tree."""

    of: Counting = "records"
    k: ClassVar[int] = 1  # type: ignore[misc]
    name: ClassVar[str] = "rho-uncertainty"
    title: ClassVar[str] = "rho-uncertainty"
    bound: ClassVar[str] = "rho"
    protected: ClassVar[str] = "sensitive"
    example: ClassVar[str | None] = "rho-uncertainty rho=0.5 m=2 sensitive=a,b"

    def rule_in_words(self) -> str:
        """Return its promise in words."""
        known = t("notice.person_fewer", known=self._known(self.m)) if self.m else t("notice.nothing_person")
        return t("notice.rule_of_rho", known=known, share=percent(self.rho, 3), whom=self._whom())


@dataclass(frozen=True)
class Coherence(ProtectedItems):
    """An attacker who knows up to p public items of a person has k matching records, few of which share a private item.

    >>> print(Coherence(0.5, 5, 2, ("042",)))
    hkp-coherence h=0.5 k=5 p=2 private=042
    """

    h: Annotated[float, Option(least=0, most=1)]
    """The largest share of matching records that may show any one private item."""

    k: Annotated[int, Option(least=1)]
    """The least number of matching records."""

    p: Annotated[int, Option(least=1)]
    """The number of a person's public items that an attacker may know."""

    private: Annotated[tuple[str, ...], Option()] = ()
    """The private items, which an attacker does not know: by name, or all under a node of the tree."""

    file: Annotated[str | None, Option(takes="file")] = None
    """A file with their names or further ones: items or nodes of the tree."""

    of: Counting = "records"
    name: ClassVar[str] = "hkp-coherence"
    title: ClassVar[str] = "(h,k,p)-coherence"
    bound: ClassVar[str] = "h"
    protected: ClassVar[str] = "private"
    example: ClassVar[str | None] = "hkp-coherence h=0.5 k=5 p=2 private=a,b"

    def rule_in_words(self) -> str:
        """Return its promise in words."""
        fewer = " (or fewer)" if self.p > 1 else ""
        known, share = self._known(self.p).replace("item", "public item"), percent(self.h, 3)
        finding, whom = self._finding(), self._whom()
        return t("notice.rule_of_coherence", known=known, fewer=fewer, finding=finding, share=share, whom=whom)


@dataclass(frozen=True)
class PSRules(InferenceRequirement):
    """For each rule of a file, the items before the arrow match k records, few of which show those after it."""

    k: Annotated[int, Option(least=1)]
    """The least number of matching records."""

    c: Annotated[float, Option(least=0, most=1)]
    """The largest share of matching records that may show the items after the arrow."""

    file: Annotated[str, Option(takes="file")]
    """The file of rules, one per line: `a b -> s`."""

    protect_subsets: Annotated[Literal["yes", "no"], Option()] = "yes"
    """Whether an attacker who knows only some of the items before the arrow, or none, is covered, too."""

    of: Counting = "records"
    name: ClassVar[str] = "ps-rules"
    title: ClassVar[str] = "PS-rules"
    bound: ClassVar[str] = "c"
    example: ClassVar[str | None] = "ps-rules k=5 c=0.5 file=rules.txt"

    def rules(self, baskets: Baskets) -> list[Rule]:
        """Read the rules as codes, those with fewer known items first; the known items may be empty."""
        lines, some = self._lines(baskets), self.protect_subsets == "yes"
        if some:
            check_subsets([(line, known) for line, known, _ in lines], self.file)
        rules: set[Rule] = set()
        for _, known, concluded in lines:
            every = [(), *subsets_of(known)] if some else [known]
            rules.update((antecedent, concluded) for antecedent in every)
        return sorted(rules, key=lambda rule: (len(rule[0]), rule))

    def _lines(self, baskets: Baskets) -> list[tuple[int, Itemset, Itemset]]:
        texts, mark = lines_of(baskets, self.file)
        lines = []
        for number, text in texts:
            sides = [names_in(baskets, side, mark) for side in text.split(ARROW)]
            if len(sides) != 2 or not sides[1]:
                raise refusal("line_of_rules", rules=self, number=number)
            known, concluded = (codes_of(baskets, side, self.file, number) for side in sides)
            lines.append((number, known, concluded))
        sensitive = {code for _, _, concluded in lines for code in concluded}
        for number, known, _ in lines:
            both = sorted(sensitive.intersection(known))
            if both:
                raise refusal("item_public_and_sensitive", rules=self, number=number, item=baskets.items[both[0]])
        return lines

    def sensitive_items(self, baskets: Baskets) -> Itemset:
        """Return the codes of all items after an arrow."""
        return tuple(sorted({code for _, _, concluded in self._lines(baskets) for code in concluded}))

    def rule_in_words(self) -> str:
        """Return its promise in words."""
        some = t("notice.some_them_none") if self.protect_subsets == "yes" else ""
        finding, share = self._finding(), percent(self.c, 3)
        return t("notice.rule_of_rules", rules=self, some=some, finding=finding, share=share, whom=self._whom())


def exceeds(number: float, share: float, records: float) -> bool:
    """Return whether a number of records is more than a share of others.

    >>> exceeds(3, 0.3, 10), exceeds(4, 0.3, 10)
    (False, True)
    """
    return number > (share + TOLERANCE) * records


@dataclass(frozen=True)
class UtilityConstraints(Configured):
    """Items that may be published together: those of one line of a file, or under one node of a level of the tree.

    An item in no line is published as itself or not at all; alternatively all such items may be published together, as
    a separate group.
    """

    file: Annotated[str | None, Option(takes="file")] = None
    """A file: the items of a line may be published together."""

    level: Annotated[int | None, Option(least=0)] = None
    """A level of the tree of items, counted from the leaves (1: the nodes just above the items)."""

    rest: Annotated[Literal["alone", "together"], Option()] = "alone"
    """Whether items in no line of the file remain alone, or may be published together."""

    name: ClassVar[str] = "utility-constraints"
    example: ClassVar[str | None] = "utility-constraints file=groups.txt, or utility-constraints level=1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.file is None) == (self.level is None):
            raise refusal("utility_constraints_need_either", example=self.example)
        if self.rest == "together" and self.file is None:
            raise refusal("rest_without_a_file")

    def blocks(self, baskets: Baskets) -> Codes:
        """Return the block of each item; items may be generalized only within their block."""
        return self._blocks_of_level(baskets) if self.file is None else self._blocks_of_file(baskets, self.file)

    def _blocks_of_level(self, baskets: Baskets) -> Codes:
        assert self.level is not None
        if baskets.tree is None:
            raise refusal("needs_tree_items", self=self)
        if self.level > baskets.tree.height:
            raise refusal("tree_items_levels", self=self, height=baskets.tree.height)
        return np.asarray(baskets.tree.ancestors[self.level][baskets.leaf], np.int32)

    def _blocks_of_file(self, baskets: Baskets, file: str) -> Codes:
        blocks = np.full(len(baskets.items), -1, np.int32)
        lines: dict[int, int] = {}
        for line, codes in itemsets_of(baskets, file):
            for code in codes:
                if code in lines:
                    raise refusal(
                        "item_line_already", file=file, line=line, items=baskets.items[code], lines=lines[code]
                    )
                lines[code] = blocks[code] = line
        unnamed = np.flatnonzero(blocks < 0)
        others = np.zeros(len(unnamed)) if self.rest == "together" else np.arange(len(unnamed))
        blocks[unnamed] = int(blocks.max(initial=0)) + 1 + others
        return blocks

    @property
    def public(self) -> UtilityConstraints:
        """Its public form, without the name of a file."""
        return without_file_names(self)

    def in_words(self) -> str:
        """Return in words which items may be published together."""
        where = f"a line of {self.file}" if self.file else t("notice.node_level_item_tree", level=self.level)
        rest = t("notice.items_no_line") if self.rest == "together" else ""
        return t("notice.items_published_together_only", where=where, rest=rest)


def utility_constraints(text: str) -> UtilityConstraints:
    """Read utility constraints from their text form, such as `utility-constraints level=2`."""
    return parse(text, (UtilityConstraints,), "utility constraint")


LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class ItemWeights:
    """The weight of each item, and the cost of suppressing it in a record."""

    weights: Numbers
    penalties: Numbers
    may_choose: bool = True
    """Whether a maker may suppress items that could be published with others; not under another maker's limit."""

    def of_some(self, items: Codes) -> ItemWeights:
        """Return the weights of some items, for a maker that sees only these and suppresses only if necessary."""
        return ItemWeights(self.weights[items], self.penalties[items], may_choose=False)


def read_weights(baskets: Baskets, file: str) -> ItemWeights:
    """Read the weights of items; a repeated item or an invalid number is an error."""
    lines, mark = lines_of(baskets, file)
    worth = ItemWeights(np.ones(len(baskets.items)), np.ones(len(baskets.items)))
    seen: dict[int, int] = {}
    for number, text in lines:
        names, colon, rest = text.rpartition(":")
        values = [_positive(part) for part in rest.split()]
        if not colon or not names.strip() or len(values) not in (1, 2) or None in values:
            raise refusal("line_of_weights", file=file, number=number)
        for code in named_items(baskets, names_in(baskets, names, mark), f"{file}, line {number}"):
            if code in seen:
                raise refusal(
                    "item_with_two_weights", file=file, number=number, item=baskets.items[code], before=seen[code]
                )
            seen[code] = number
            worth.weights[code], worth.penalties[code] = values[0], values[-1] if len(values) == 2 else 1.0
    return worth


def _positive(text: str) -> float | None:
    """Parse a number above 0; None if it is invalid."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= LARGEST else None


@dataclass(frozen=True)
class SuppressionLimit(Configured):
    """The limit on suppression: a share of the items, or of their occurrences in records."""

    share: Annotated[float, Option(least=0, most=1)] = 0.0
    """The largest suppressed share."""

    of: Annotated[Literal["items", "occurrences"], Option()] = "items"
    """Whether the share is of the items, or of their occurrences in records."""

    name: ClassVar[str] = "suppression"

    def used(self, baskets: Baskets, suppressed: Iterable[int]) -> float:
        """Return the share of these suppressed items."""
        gone = np.fromiter(suppressed, np.int64)
        if self.of == "items":
            return len(gone) / max(len(baskets.items), 1)
        return float(baskets.supports[gone].sum()) / max(baskets.occurrences, 1)

    def shares(self, baskets: Baskets) -> Numbers:
        """Return the share of each item in the total."""
        if self.of == "items":
            return np.full(len(baskets.items), 1 / max(len(baskets.items), 1))
        return baskets.supports / max(baskets.occurrences, 1)

    def allows(self, share: float) -> bool:
        """Return whether a share is within the limit."""
        return share <= self.share + 1e-9

    def rule_in_words(self) -> str:
        """Return the limit in words."""
        return t("notice.most_left_out", share=self.share, of=self.of)


def suppression_limit(text: str) -> SuppressionLimit:
    """Read a limit from its text form, such as `suppression share=.05 of=occurrences`."""
    return parse(text, (SuppressionLimit,), "limit")


BASKET_REQUIREMENTS: tuple[type[BasketRequirement], ...] = (
    KMAnonymity,
    CompleteKAnonymity,
    PrivacyConstraints,
    RhoUncertainty,
    Coherence,
    PSRules,
)


def basket_requirement(text: str) -> BasketRequirement:
    """Read a requirement on baskets from its text form, such as `km-anonymity k=5 m=2`."""
    return parse(text, BASKET_REQUIREMENTS, "requirement")


def policy_texts(utility: UtilityConstraints | None, limit: SuppressionLimit) -> dict[str, str]:
    """Return the non-default policies of a release, by name."""
    policy = {"utility": utility, "limit": limit if limit != SuppressionLimit() else None}
    return {name: str(constraint) for name, constraint in policy.items() if constraint is not None}
