"""What a release of baskets must satisfy so that nobody learns that a person has a sensitive item.

Three papers, one form: somebody knows some items of a person, looks at the records that show what stands for them, and
counts how many of these show a sensitive item.

- rho-uncertainty (Cao, Karras, Raissi & Tan, VLDB 2010): any items may be known, sensitive ones too;
- (h,k,p)-coherence (Xu, Wang, Fu & Yu, KDD 2008): up to p items that are not private, and at least k records fit;
- PS-rules (Loukides, Gkoulalas-Divanis & Shao, KAIS 2013): the items of a line, and what may not be inferred from them.

What is promised is about the published rows, and just what `verify` and the audit count there:

- a sensitive item is published as itself or not at all. Then a set of published items that shows none of them says of
  none, and the share of records is the whole of what a reader learns;
- who knows nothing counts: of all records too no more than the share may show a sensitive item. It is ours;
- a suppressed item is dropped from what is known; a conclusion with a suppressed item is not shown by any record;
- shares are compared with the tolerance of all requirements, 1e-9.

Cao et al. bound the knowledge by nothing. Here `m` must be said, since counting takes time with the number of sets;
with m as large as the longest published record it is the paper's promise.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from sfumato.config.options import Option
from sfumato.data.items import Baskets
from sfumato.errors import BadInputError
from sfumato.requirements.item_lists import Itemset, codes_of, labels_of, lines_of, named_items, names_in
from sfumato.requirements.items import FILE, BasketRequirement, check_subsets, known_in_words, subsets_of
from sfumato.texts.format import percent

SOME = ("some items",)
"""What items are called where their names may not be told."""

ARROW = "->"
TOLERANCE = 1e-9
"""Shares that exceed the promised one by less are taken for equal, in makers, checkers and audit."""

Rule = tuple[Itemset, Itemset]
"""What is known, and what may not be inferred from it."""


class InferenceRequirement(BasketRequirement):
    """A bound on how sure a reader gets that a person has a sensitive item."""

    names_items: ClassVar[bool] = True

    @property
    @abstractmethod
    def share(self) -> float:
        """The largest share of the records that fit that may show a sensitive item."""

    @abstractmethod
    def sensitive_items(self, baskets: Baskets) -> Itemset:
        """Return the codes of the items that are published as themselves or not at all."""


@dataclass(frozen=True)
class RhoUncertainty(InferenceRequirement):
    """Who knows up to m items of a person, sensitive or not, is at most rho sure of any further sensitive item.

    >>> print(RhoUncertainty(0.5, 2, ("042", "295")))
    rho-uncertainty rho=0.5 m=2 sensitive=042,295
    """

    rho: Annotated[
        float, Option("The largest share of the records that fit that may show a sensitive item.", least=0, most=1)
    ]
    m: Annotated[
        int,
        Option(
            "How many items of a person may be known. The paper protects against any number: as many as the longest "
            "record has.",
            least=0,
        ),
    ]
    sensitive: Annotated[
        tuple[str, ...],
        Option("The items nobody should learn about a person: by their names, or all under a node of the tree."),
    ] = ()
    file: Annotated[
        str | None, Option("A file that names them, or further ones: items or nodes of the tree.", takes="file")
    ] = None
    k: ClassVar[int] = 1  # type: ignore[misc]
    name: ClassVar[str] = "rho-uncertainty"
    title: ClassVar[str] = "rho-uncertainty"
    example: ClassVar[str | None] = "rho-uncertainty rho=0.5 m=2 sensitive=a,b"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_named(self, self.sensitive, self.file)

    @property
    def share(self) -> float:
        """The largest share."""
        return self.rho

    def sensitive_items(self, baskets: Baskets) -> Itemset:
        """Return the codes of the sensitive items."""
        return listed_items(baskets, self.sensitive, self.file, self.name)

    @property
    def public(self) -> RhoUncertainty:
        """The requirement without the names of items and files."""
        return replace(self, sensitive=SOME, file=None)

    def rule_in_words(self) -> str:
        """Say what it promises."""
        known = f"{known_in_words(self.m)} of a person (or fewer)" if self.m else "nothing of a person"
        return (
            f"of the records that fit someone who knows {known}, at most {percent(self.rho, 3)} show any one of the "
            "sensitive items that are not among these"
        )


@dataclass(frozen=True)
class Coherence(InferenceRequirement):
    """Who knows up to p public items of a person finds k records that fit, and few of them share a private item.

    >>> print(Coherence(0.5, 5, 2, ("042",)))
    hkp-coherence h=0.5 k=5 p=2 private=042
    """

    h: Annotated[
        float, Option("The largest share of the records that fit that may show any one private item.", least=0, most=1)
    ]
    k: Annotated[int, Option("How many records fit at least.", least=1)]
    p: Annotated[int, Option("How many public items of a person may be known.", least=1)]
    private: Annotated[
        tuple[str, ...],
        Option("The private items, which nobody knows: by their names, or all under a node of the tree."),
    ] = ()
    file: Annotated[
        str | None, Option("A file that names them, or further ones: items or nodes of the tree.", takes="file")
    ] = None
    name: ClassVar[str] = "hkp-coherence"
    title: ClassVar[str] = "(h,k,p)-coherence"
    example: ClassVar[str | None] = "hkp-coherence h=0.5 k=5 p=2 private=a,b"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_named(self, self.private, self.file)

    @property
    def share(self) -> float:
        """The largest share."""
        return self.h

    def sensitive_items(self, baskets: Baskets) -> Itemset:
        """Return the codes of the private items."""
        return listed_items(baskets, self.private, self.file, self.name)

    @property
    def public(self) -> Coherence:
        """The requirement without the names of items and files."""
        return replace(self, private=SOME, file=None)

    def rule_in_words(self) -> str:
        """Say what it promises."""
        fewer = " (or fewer)" if self.p > 1 else ""
        known = known_in_words(self.p).replace("item", "public item")
        return (
            f"someone who knows {known} of a person{fewer} {self._finding()}, and at most {percent(self.h, 3)} of "
            "the records that fit show any one private item"
        )


@dataclass(frozen=True)
class PSRules(InferenceRequirement):
    """For every rule of a file, who knows what stands before the arrow finds k records, and few show what is behind."""

    k: Annotated[int, Option("How many records fit at least.", least=1)]
    c: Annotated[
        float, Option("The largest share of the records that fit that may show what is behind.", least=0, most=1)
    ]
    file: Annotated[str, Option("The file of rules, one per line: `a b -> s`.", takes="file")]
    protect_subsets: Annotated[
        Literal["yes", "no"],
        Option("Whether who knows only some of the items before the arrow, or none, is kept out as well."),
    ] = "yes"
    name: ClassVar[str] = "ps-rules"
    title: ClassVar[str] = "PS-rules"
    example: ClassVar[str | None] = "ps-rules k=5 c=0.5 file=rules.txt"

    @property
    def share(self) -> float:
        """The largest share."""
        return self.c

    def rules(self, baskets: Baskets) -> list[Rule]:
        """Read the rules as codes, those with fewer known items first; what is known may be empty."""
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
                raise BadInputError(
                    f"{self.file}, line {number}: a rule has items, `->` and items that may not be inferred from them; "
                    "write for example a b -> s"
                )
            known, concluded = (codes_of(baskets, side, self.file, number) for side in sides)
            lines.append((number, known, concluded))
        sensitive = {code for _, _, concluded in lines for code in concluded}
        for number, known, _ in lines:
            both = sorted(sensitive.intersection(known))
            if both:
                raise BadInputError(
                    f"{self.file}, line {number}: the item {baskets.items[both[0]]!r} is known here, and another rule "
                    "says that it may not be inferred; an item is public or sensitive"
                )
        return lines

    def sensitive_items(self, baskets: Baskets) -> Itemset:
        """Return the codes of all items behind an arrow."""
        return tuple(sorted({code for _, _, concluded in self._lines(baskets) for code in concluded}))

    @property
    def public(self) -> PSRules:
        """The requirement without the name of its file."""
        return replace(self, file=FILE)

    def rule_in_words(self) -> str:
        """Say what it promises."""
        some = " (or some of them, or none)" if self.protect_subsets == "yes" else ""
        return (
            f"someone who knows the items before the arrow of a line of {self.file}{some} {self._finding()}, and at "
            f"most {percent(self.c, 3)} of the records that fit show all items behind it"
        )


def check_named(requirement: InferenceRequirement, names: tuple[str, ...], file: str | None) -> None:
    """Raise where no item is named."""
    if not names and file is None:
        raise BadInputError(f"{requirement.name} needs the items it protects; write {requirement.example}, or file=...")


def listed_items(baskets: Baskets, names: tuple[str, ...], file: str | None, what: str) -> Itemset:
    """Return the codes of items named in a text and in a file."""
    codes = set(named_items(baskets, names, what))
    for line, labels in labels_of(baskets, file) if file is not None else ():
        codes.update(named_items(baskets, labels, f"{file}, line {line}"))
    return tuple(sorted(codes))


def exceeds(number: float, share: float, records: float) -> bool:
    """Say whether a number of records is more than a share of others.

    >>> exceeds(3, 0.3, 10), exceeds(4, 0.3, 10)
    (False, True)
    """
    return number > (share + TOLERANCE) * records
