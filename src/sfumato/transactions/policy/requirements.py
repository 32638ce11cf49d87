"""What a release of baskets must satisfy so that nobody is found in it.

Terrovitis, Mamoulis & Kalnis 2008 (k^m-anonymity); He & Naughton 2009 (complete k-anonymity); Loukides,
Gkoulalas-Divanis & Malin 2011 (privacy constraints). A set of items is protected if its published form is in at least k
records or in none.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite
from typing import Annotated, ClassVar, Literal

from sfumato.configuration import Configured, Option
from sfumato.errors import BadInputError
from sfumato.phrases import counted
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.policy.item_lists import Itemset, itemsets_of

MOST_SUBSETS = 1 << 20
"""Constraints are not expanded to their subsets where all lines together could have more."""

FILE = "a file"
"""What a file is called where its name may not be told."""


class BasketRequirement(Configured, ABC):
    """A condition on what is published of baskets."""

    k: int
    names_items: ClassVar[bool] = False
    """Whether it speaks of items by name, so that a published set must be read against all items to check it."""

    @property
    def parts(self) -> tuple[BasketRequirement, ...]:
        """What it consists of, as requirements of tables do: itself."""
        return (self,)

    def of_parts(self, parts: Sequence[BasketRequirement]) -> BasketRequirement:
        """Return the requirement that consists of another part."""
        return parts[0]

    @property
    def public(self) -> BasketRequirement:
        """The requirement as everybody may know it: files are not called by their names."""
        return self

    def strengthen(self, measures: Mapping[str, float]) -> BasketRequirement:
        """Return the strongest requirement of this kind that a file with these measures keeps; by default itself."""
        return self

    def rule_in_words(self) -> str:
        """Say what it promises."""
        return str(self)

    def _finding(self) -> str:
        return f"finds at least {counted(self.k, 'record')} that fit{'s' if self.k == 1 else ''}, or none"


def at_least(k: int, fewest: float) -> int:
    """Return the number of records that fit at least; what no record fits says nothing of it.

    >>> at_least(5, 28.0), at_least(5, float("inf"))
    (28, 5)
    """
    return max(k, int(fewest)) if isfinite(fewest) else k


def known_in_words(m: int) -> str:
    """Say how much an attacker knows.

    >>> known_in_words(1), known_in_words(2), known_in_words(12)
    ('any one item', 'any two items', 'any 12 items')
    """
    numbers = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
    return f"any {numbers.get(m, m)} item{'' if m == 1 else 's'}"


@dataclass(frozen=True)
class KMAnonymity(BasketRequirement):
    """Who knows up to m items of a person finds at least k records that fit (all sizes 1..m, not size m alone).

    >>> str(KMAnonymity(k=5, m=2))
    'km-anonymity k=5 m=2'
    >>> KMAnonymity(5, 2).rule_in_words()
    'someone who knows any two items of a person (or fewer) finds at least 5 records that fit, or none'
    """

    k: Annotated[int, Option("How many records fit at least.", least=1)]
    m: Annotated[int, Option("How many items of a person may be known.", least=1)]
    name: ClassVar[str] = "km-anonymity"
    example: ClassVar[str | None] = "km-anonymity k=5 m=2"

    def strengthen(self, measures: Mapping[str, float]) -> BasketRequirement:
        """Take the fewest records that fit; `measures` are those of an attacker who knows m items."""
        return replace(self, k=at_least(self.k, measures.get("least_support", 0.0)))

    def rule_in_words(self) -> str:
        """Say what it promises."""
        fewer = " (or fewer)" if self.m > 1 else ""
        return f"someone who knows {known_in_words(self.m)} of a person{fewer} {self._finding()}"


@dataclass(frozen=True)
class CompleteKAnonymity(BasketRequirement):
    """Every published basket is that of at least k records: whatever is known of a person's items, k records fit."""

    k: Annotated[int, Option("How many records fit at least.", least=1)]
    name: ClassVar[str] = "k-anonymity"
    example: ClassVar[str | None] = "k-anonymity k=5"

    def rule_in_words(self) -> str:
        """Say what it promises."""
        return f"every published basket is that of at least {counted(self.k, 'record')}, whatever is known of a person"


@dataclass(frozen=True)
class PrivacyConstraints(BasketRequirement):
    """The sets of items in a file, one per line, are protected: what an attacker may know, and nothing else is.

    A suppressed item is dropped from its constraints; what remains of them must hold.
    """

    k: Annotated[int, Option("How many records fit at least.", least=1)]
    file: Annotated[str, Option("The file of sets of items, one per line.", takes="file")]
    protect_subsets: Annotated[
        Literal["yes", "no"],
        Option("Whether who knows only some of the items of a line is kept out as well, or only who knows all."),
    ] = "yes"

    name: ClassVar[str] = "privacy-constraints"
    example: ClassVar[str | None] = "privacy-constraints k=5 file=known.txt"
    names_items: ClassVar[bool] = True

    @property
    def public(self) -> PrivacyConstraints:
        """The requirement as everybody may know it."""
        return replace(self, file=FILE)

    def rule_in_words(self) -> str:
        """Say what it promises."""
        some = " (or some of them)" if self.protect_subsets == "yes" else ""
        return f"someone who knows the items of a line of {self.file}{some} {self._finding()}"

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
    """Refuse, before any is listed, where the lines of a file have too many subsets."""
    first_line = {codes: line for line, codes in reversed(lines)}
    subsets = sum(2 ** len(codes) - 1 for codes in first_line)
    if subsets > MOST_SUBSETS:
        longest = min(first_line, key=lambda codes: (-len(codes), first_line[codes]))
        many = f"{subsets:,}" if subsets < 10**12 else "far too many"
        raise BadInputError(
            f"{file}: its lines have {many} subsets to protect, and at most {MOST_SUBSETS:,} can be; shorten "
            f"the longest lines (line {first_line[longest]} has {len(longest)} items), or say protect-subsets=no"
        )
