"""What a tuner can try on a table with items beside the candidates of a study: every maker of items, k as the dial."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sfumato.mixed.anonymizers.merging import NoMerging, merging
from sfumato.mixed.mixed_table import MixedTable
from sfumato.mixed.policy import KKMAnonymity, MixedRequirement
from sfumato.mixed.study import MixedCandidate, MixedStudy, ends
from sfumato.release.maker import size_dial
from sfumato.tradeoff.search.families import Family, Proposals
from sfumato.transactions.anonymizers.registry import DEFAULT_MAKER, candidate_maker

OFFERED = (DEFAULT_MAKER, "coat", "pcta", "aa")
MERGED = ("none", "rt-merge bound=0.3")


@dataclass(frozen=True)
class MixedFamily(Family):
    """Candidates of a table with items that differ in k."""

    def at(self, value: float) -> Any:
        """Return the member of the family with a value of k."""
        wanted = self.example.requirement
        linking = replace(wanted.linking, k=int(value))
        return replace(self.example, requirement=replace(wanted, linking=linking))


def mixed_proposals(study: MixedStudy, data: MixedTable) -> Proposals:
    """Propose what can be tried: families of the study's own candidates first."""
    dial = size_dial("k", data.records)
    own = [one for one in study.candidates if not one.anonymizer.baseline]
    offered = [*own, *_offered(study, own)]
    families = [MixedFamily(one, dial, (0,)) for one in offered] if dial is not None else []
    first = [candidate for grid in ends() for candidate in grid.candidates]
    return Proposals(tuple(first), tuple({family.key: family for family in families}.values()))


def _offered(study: MixedStudy, own: list[MixedCandidate]) -> Iterator[MixedCandidate]:
    """List an example of every maker of items, with the requirements and limits of the study."""
    usual = MixedRequirement(KKMAnonymity(2, study.scales.known))
    for one in own[:1] or [candidate for grid in ends() for candidate in grid.candidates][:1]:
        wanted = one.requirement if own else usual
        for maker in map(candidate_maker, OFFERED):
            if one.utility is not None and not maker.keeps_utility_constraints:
                continue
            for method in map(merging, MERGED):
                if own or isinstance(method, NoMerging):
                    yield replace(one, item_anonymizer=maker, merging=method, requirement=wanted)
