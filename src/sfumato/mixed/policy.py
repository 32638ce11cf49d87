"""What a release of a table with a set-valued column must satisfy: (k, k^m)-anonymity, alone or joined.

Poulis, Loukides, Gkoulalas-Divanis & Skiadopoulos, "Anonymizing data with relational and transaction attributes" (ECML
PKDD 2013), definition of (k, k^m)-anonymity: a group is the records with equal published quasi-identifiers; every group
has at least k records, and within each group every set of 1..m published parts that occurs is in at least k records.
So whoever knows the quasi-identifiers of a person and up to m of the person's items has at least k candidates.

    k-km-anonymity k=5 m=2
    k-km-anonymity k=5 m=2 & l-diversity l=2 variant=distinct on=outcome
    k-km-anonymity k=5 m=0 & t-closeness t=0.3 distance=equal on=codes

The other parts are requirements of tables, on sensitive columns of the table or `on` the column of items: that one is
about the *sensitive items* that the owner names (items, or nodes of their tree). They make one derived attribute of
every record, called like the column of items: those of the named that the record has, in the order in which they were
named and joined by ` + `, and `none` where it has none of them. It is about the items that records have, not about what
is published of them. With m=0 nobody is taken to know an item: items then may stay as they are. Requiring no m at all
would promise less than a reader expects of a file with exact codes, so there is always one part `k-km-anonymity`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from sfumato.configuration import Configured, Option, parse, split_outside_quotes
from sfumato.errors import BadInputError
from sfumato.phrases import counted
from sfumato.requirements import REQUIREMENTS, All, KAnonymity, Requirement
from sfumato.transactions.policy import KMAnonymity, known_in_words
from sfumato.transactions.policy.requirements import at_least


@dataclass(frozen=True)
class KKMAnonymity(Configured):
    """Who knows the quasi-identifiers and up to m items of a person finds at least k records that fit.

    >>> str(KKMAnonymity(k=5, m=2))
    'k-km-anonymity k=5 m=2'
    >>> KKMAnonymity(5, 2).rule_in_words()
    'someone who knows the quasi-identifiers and any two items of a person (or fewer) finds at least 5 records that fit'
    """

    k: Annotated[int, Option("How many records fit at least.", least=1)]
    m: Annotated[int, Option("How many items of a person may be known beside the quasi-identifiers.", least=0)]
    name: ClassVar[str] = "k-km-anonymity"
    example: ClassVar[str | None] = "k-km-anonymity k=5 m=2"

    @property
    def of_groups(self) -> KAnonymity:
        """What it asks of the table."""
        return KAnonymity(self.k)

    @property
    def of_items(self) -> KMAnonymity | None:
        """What it asks of the items within each group; nothing where no item is known."""
        return KMAnonymity(self.k, self.m) if self.m else None

    def rule_in_words(self) -> str:
        """Say what it promises."""
        items = f" and {known_in_words(self.m)} of a person" if self.m else " of a person, and none of the items,"
        fewer = " (or fewer)" if self.m > 1 else ""
        finds = f"finds at least {counted(self.k, 'record')} that {'fits' if self.k == 1 else 'fit'}"
        return f"someone who knows the quasi-identifiers{items}{fewer} {finds}"


Part = KKMAnonymity | Requirement
"""What a requirement on such a table is joined of."""


@dataclass(frozen=True)
class MixedRequirement:
    """(k, k^m)-anonymity, and perhaps requirements on sensitive columns and sensitive items beside it.

    >>> asked = mixed_requirement("t-closeness t=0.3 distance=equal on=codes & k-km-anonymity k=5 m=2")
    >>> str(asked)
    'k-km-anonymity k=5 m=2 & t-closeness t=0.3 distance=equal on=codes'
    >>> str(asked.of_groups), str(asked.of_items)
    ('k-anonymity k=5 & t-closeness t=0.3 distance=equal on=codes', 'km-anonymity k=5 m=2')
    """

    linking: KKMAnonymity
    """What is promised against who looks for a person."""

    further: tuple[Requirement, ...] = ()
    """What is promised of sensitive values, group by group."""

    name: ClassVar[str] = "k-km-anonymity"

    @property
    def k(self) -> int:
        """How many records fit at least."""
        return self.linking.k

    @property
    def m(self) -> int:
        """How many items of a person may be known."""
        return self.linking.m

    @property
    def parts(self) -> tuple[Part, ...]:
        """The requirements this one is joined of."""
        return (self.linking, *self.further)

    def of_parts(self, parts: Sequence[Any]) -> MixedRequirement:
        """Return the requirement that is joined of others in place of its parts."""
        return MixedRequirement(parts[0], tuple(parts[1:]))

    @property
    def of_groups(self) -> Requirement:
        """What is asked of the groups of the table."""
        groups: Requirement = self.linking.of_groups
        return All((groups, *self.further)) if self.further else groups

    @property
    def of_items(self) -> KMAnonymity | None:
        """What is asked of the items within each group; nothing where no item is known."""
        return self.linking.of_items

    def strengthen(
        self, measures: Mapping[str, float], by_sensitive: Mapping[str, Mapping[str, float]]
    ) -> MixedRequirement:
        """Return the strongest requirement of this kind that a file keeps; the columns not in `by_sensitive` stay."""
        linking = replace(self.linking, k=at_least(self.k, measures.get("candidates", 0.0)))
        known = {*by_sensitive, *([None] if len(by_sensitive) == 1 else [])}
        further = (part.strengthen(measures, by_sensitive) if part.on in known else part for part in self.further)
        return MixedRequirement(linking, tuple(further))

    def rule_in_words(self) -> str:
        """Say what it promises."""
        return "; ".join(part.rule_in_words() for part in self.parts)

    def __str__(self) -> str:
        return " & ".join(map(str, self.parts))


def mixed_requirement(text: str) -> MixedRequirement:
    """Read a requirement on a table with a set-valued column from its text form, parts joined by `&`."""
    written = [part for part in split_outside_quotes(text, "&") if part.strip()]
    known: list[type[Configured]] = [KKMAnonymity, *REQUIREMENTS]
    parts = [parse(part, known, "requirement") for part in written]
    linking = [part for part in parts if isinstance(part, KKMAnonymity)]
    if len(linking) != 1:
        said = "says nothing of who knows items" if not linking else f"has {len(linking)} parts {KKMAnonymity.name}"
        raise BadInputError(
            f"the requirement {text.strip()!r} {said}; a table with items needs one part such as "
            f'"{KKMAnonymity.example}" (m=0: no item of a person is known), others joined by &'
        )
    return MixedRequirement(linking[0], tuple(part for part in parts if isinstance(part, Requirement)))
