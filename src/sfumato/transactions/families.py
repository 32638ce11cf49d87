"""What a tuner can try on baskets beside the candidates of a study: every maker with what it serves.

The dial is k; m has few values that matter, so there is a family for each: one item, as many as the scales take for
known, and what the study asks for. Complete k-anonymity is another promise, and has a family of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato.release.maker import size_dial
from sfumato.tradeoff.search.families import Family, Proposals
from sfumato.transactions.anonymizers.registry import DEFAULT_MAKER, candidate_maker
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.policy import CompleteKAnonymity, KMAnonymity, SuppressionLimit
from sfumato.transactions.study import ENDS, BasketCandidate, BasketStudy

OFFERED = (DEFAULT_MAKER, "coat", "pcta", "upcta", "lra", "vpa", "aa", "partition")


def basket_proposals(study: BasketStudy, baskets: Baskets) -> Proposals:
    """Propose what can be tried on baskets: families of the study's own candidates first."""
    dial = size_dial("k", baskets.filled)
    own = [one for one in study.candidates if not one.anonymizer.baseline]
    families = [Family(one, dial, (0,)) for one in (*own, *_offered(study, own))] if dial is not None else []
    return Proposals(tuple(ENDS.candidates), tuple({family.key: family for family in families}.values()))


def _offered(study: BasketStudy, own: list[BasketCandidate]) -> Iterator[BasketCandidate]:
    """List an example of every maker with what it serves, in the utility constraints and limits of the study."""
    policies: Any = dict.fromkeys((one.utility, one.limit) for one in own) or [(None, SuppressionLimit())]
    asked = {one.requirement.m for one in own if isinstance(one.requirement, KMAnonymity)}
    promises = [KMAnonymity(2, m) for m in sorted({1, study.scales.known, *asked}, reverse=True)]
    for maker in map(candidate_maker, OFFERED):
        for utility, limit in policies:
            if maker.name == "upcta" if utility is None else not maker.keeps_utility_constraints:
                continue  # without utility constraints upcta is pcta
            for promise in (*promises, CompleteKAnonymity(2)):
                if isinstance(promise, maker.requirements):
                    yield BasketCandidate(maker, promise, utility, limit)
