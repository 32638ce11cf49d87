"""What a release of baskets must satisfy, and what it may do: requirements, utility constraints, suppression limit.

Terrovitis, Mamoulis & Kalnis 2008 (k^m-anonymity); He & Naughton 2009 (complete k-anonymity); Loukides,
Gkoulalas-Divanis & Malin 2011 (privacy and utility constraints). A set of items is protected if its published form is
in at least k records or in none. All values print as what a person would type:

    km-anonymity k=5 m=2
    k-anonymity k=5
    privacy-constraints k=5 file=known.txt
    utility-constraints level=2
    suppression share=.05 of=occurrences
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.arrays import Codes
from sfumato.configuration import Configured, Option, parse
from sfumato.engines.item_files import numbered_lines, separator_of, split_line
from sfumato.errors import BadInputError
from sfumato.phrases import counted
from sfumato.transactions.baskets import Baskets, items_in_words

Itemset = tuple[int, ...]
MOST_SUBSETS = 1 << 20
"""Constraints are not expanded to their subsets where all lines together could have more."""


class BasketRequirement(Configured, ABC):
    """A condition on what is published of baskets."""

    k: int

    @property
    def parts(self) -> tuple[BasketRequirement, ...]:
        """What it consists of, as requirements of tables do: itself."""
        return (self,)

    def rule_in_words(self) -> str:
        """Say what it promises."""
        return str(self)

    def _finding(self) -> str:
        return f"finds at least {counted(self.k, 'record')} that fit{'s' if self.k == 1 else ''}, or none"


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

    def rule_in_words(self) -> str:
        """Say what it promises."""
        some = " (or some of them)" if self.protect_subsets == "yes" else ""
        return f"someone who knows the items of a line of {self.file}{some} {self._finding()}"

    def itemsets(self, baskets: Baskets) -> list[Itemset]:
        """Read the constraints as codes of items, shorter ones first; an item that no basket has is an error."""
        lines = _itemsets_of(baskets, self.file)
        itemsets = {codes for _, codes in lines}
        if self.protect_subsets == "yes":
            self._check_subsets(lines)
            itemsets = {
                subset
                for codes in itemsets
                for size in range(1, len(codes) + 1)
                for subset in combinations(codes, size)
            }
        return sorted(itemsets, key=lambda itemset: (len(itemset), itemset))

    def _check_subsets(self, lines: list[tuple[int, Itemset]]) -> None:
        """Refuse, before any is listed, where the lines have too many subsets."""
        first_line = {codes: line for line, codes in reversed(lines)}
        subsets = sum(2 ** len(codes) - 1 for codes in first_line)
        if subsets > MOST_SUBSETS:
            longest = min(first_line, key=lambda codes: (-len(codes), first_line[codes]))
            many = f"{subsets:,}" if subsets < 10**12 else "far too many"
            raise BadInputError(
                f"{self.file}: its lines have {many} subsets to protect, and at most {MOST_SUBSETS:,} can be; shorten "
                f"the longest lines (line {first_line[longest]} has {len(longest)} items), or say protect-subsets=no"
            )


BASKET_REQUIREMENTS: tuple[type[BasketRequirement], ...] = (KMAnonymity, CompleteKAnonymity, PrivacyConstraints)


def basket_requirement(text: str) -> BasketRequirement:
    """Read a requirement on baskets from its text form, such as `km-anonymity k=5 m=2`."""
    return parse(text, BASKET_REQUIREMENTS, "requirement")


@dataclass(frozen=True)
class UtilityConstraints(Configured):
    """Which items may be published together: those of one line of a file, or under one node of a level of the tree.

    An item that no line names is on its own: it is published as it is or not at all.
    """

    file: Annotated[str | None, Option("A file: the items of a line may be published together.", takes="file")] = None
    level: Annotated[
        int | None,
        Option("A level of the tree of items, counted from the leaves (1: the nodes just above the items).", least=0),
    ] = None

    name: ClassVar[str] = "utility-constraints"
    example: ClassVar[str | None] = "utility-constraints file=groups.txt, or utility-constraints level=1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.file is None) == (self.level is None):
            raise BadInputError(f"utility-constraints need either a file or a level of the tree; write {self.example}")

    def blocks(self, baskets: Baskets) -> Codes:
        """Say for every item which block it belongs to; items may be generalized within their block only."""
        return self._blocks_of_level(baskets) if self.file is None else self._blocks_of_file(baskets, self.file)

    def _blocks_of_level(self, baskets: Baskets) -> Codes:
        assert self.level is not None
        if baskets.tree is None:
            raise BadInputError(f"{self} needs a tree of items, and there is none; give one (--tree), or a file")
        if self.level > baskets.tree.height:
            raise BadInputError(f"{self}: the tree of items has levels 0 (items) to {baskets.tree.height} (everything)")
        return np.asarray(baskets.tree.ancestors[self.level][baskets.leaf], np.int32)

    def _blocks_of_file(self, baskets: Baskets, file: str) -> Codes:
        blocks = np.full(len(baskets.items), -1, np.int32)
        lines: dict[int, int] = {}
        for line, codes in _itemsets_of(baskets, file):
            for code in codes:
                if code in lines:
                    raise BadInputError(
                        f"{file}, line {line}: the item {baskets.items[code]!r} is in line {lines[code]} already; "
                        "an item has one group"
                    )
                lines[code] = blocks[code] = line
        alone = blocks < 0
        blocks[alone] = int(blocks.max(initial=0)) + 1 + np.arange(alone.sum())
        return blocks


@dataclass(frozen=True)
class SuppressionLimit(Configured):
    """How much may be left out: a share of the items, or of their occurrences in records."""

    share: Annotated[float, Option("The largest share that may be left out.", least=0, most=1)] = 0.0
    of: Annotated[Literal["items", "occurrences"], Option("Of the items, or of their occurrences in records.")] = (
        "items"
    )
    name: ClassVar[str] = "suppression"

    def used(self, baskets: Baskets, suppressed: Iterable[int]) -> float:
        """Return the share that suppressing these items takes."""
        gone = np.fromiter(suppressed, np.int64)
        if self.of == "items":
            return len(gone) / max(len(baskets.items), 1)
        return float(baskets.supports[gone].sum()) / max(baskets.occurrences, 1)

    def allows(self, share: float) -> bool:
        """Say whether a share is within the limit."""
        return share <= self.share + 1e-9


def utility_constraints(text: str) -> UtilityConstraints:
    """Read utility constraints from their text form, such as `utility-constraints level=2`."""
    return parse(text, (UtilityConstraints,), "utility constraint")


def suppression_limit(text: str) -> SuppressionLimit:
    """Read a limit from its text form, such as `suppression share=.05 of=occurrences`."""
    return parse(text, (SuppressionLimit,), "limit")


def _itemsets_of(baskets: Baskets, file: str) -> list[tuple[int, Itemset]]:
    """Read a file of item sets, one per line, as codes; a line that is the name of an item is that item alone."""
    lines = [(number, text) for number, text in numbered_lines(Path(file)) if text.strip()]
    if not lines:
        raise BadInputError(f"{file}: there is no line with items; write one set of items per line")
    mark = separator_of([text for _, text in lines])
    itemsets = []
    for number, text in lines:
        labels = [text.strip()] if text.strip() in baskets.places else list(dict.fromkeys(split_line(text, mark)))
        lacking = [label for label in labels if label not in baskets.places]
        if lacking:
            raise BadInputError(f"{file}, line {number}: {items_in_words(lacking)} in no basket of {baskets.origin}")
        itemsets.append((number, tuple(sorted(baskets.places[label] for label in labels))))
    return itemsets
