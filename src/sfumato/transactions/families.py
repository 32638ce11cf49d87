"""What a tuner can try on baskets beside the candidates of a study: every maker with what it serves.

The dial of a promise is k; m has few values that matter, so there is a family for each: one item, as many as the scales
take for known, and what the study asks for. Complete k-anonymity is another promise, and has a family of its own. What
a study asks for by name (constraints, rules, sensitive items) is tried with every maker that serves it; where it bounds
a share (rho, h, c), that is a dial too. COAT and PCTA are offered with the choices that their papers leave open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from sfumato.release.maker import Dial, size_dial
from sfumato.tradeoff.search.families import Family, Proposals
from sfumato.transactions.anonymizers.registry import DEFAULT_MAKER, TREE_MAKER, candidate_maker
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.policy import BasketRequirement, CompleteKAnonymity, KMAnonymity, SuppressionLimit
from sfumato.transactions.study import ENDS, BasketCandidate, BasketStudy

OFFERED = (
    DEFAULT_MAKER,
    "coat",
    "pcta",
    "upcta",
    "lra",
    "vpa",
    "aa",
    "partition",
    "td-control",
    "suppress-control",
    "coat loss=size",
    "coat seed=any visit=round loss=size",
    "pcta order=ascending loss=size",
    "pcta visit=round",
    "upcta order=ascending loss=size",
)
"""Who is tried: the makers, then other strategies of those that have some."""

SHARES = ("rho", "h", "c")
"""What bounds a share of records, in the requirements that have one."""

LEAST_SHARE = 0.01


def basket_proposals(study: BasketStudy, baskets: Baskets) -> Proposals:
    """Propose what can be tried on baskets: families of the study's own candidates first."""
    candidates = [replace(one, warm=()) for one in study.candidates if not one.anonymizer.baseline]
    families = [
        Family(one, dial, (0,))
        for one in (*candidates, *_offered(study, candidates, baskets))
        for dial in _dials(one.requirement, baskets)
    ]
    return Proposals(tuple(ENDS.candidates), tuple({family.key: family for family in families}.values()))


def _dials(requirement: BasketRequirement, baskets: Baskets) -> list[Dial]:
    """List the numbers of a requirement that can be turned: how many records fit, and shares of them."""
    names = {field.name for field in fields(requirement)}  # type: ignore[arg-type]
    sizes = size_dial("k", baskets.filled) if "k" in names else None
    shares = [Dial(name, LEAST_SHARE, 1.0) for name in SHARES if name in names]
    return [*([] if sizes is None else [sizes]), *shares]


def _offered(study: BasketStudy, candidates: list[BasketCandidate], baskets: Baskets) -> Iterator[BasketCandidate]:
    """List an example of every maker with what it serves, in the utility constraints and limits of the study."""
    policies: Any = dict.fromkeys((one.utility, one.limit) for one in candidates) or [(None, SuppressionLimit())]
    asked = {one.requirement.m for one in candidates if isinstance(one.requirement, KMAnonymity)}
    promises = [KMAnonymity(2, m) for m in sorted({1, study.scales.known, *asked}, reverse=True)]
    named = dict.fromkeys(one.requirement for one in candidates if one.requirement.names_items)
    by_tree = [] if baskets.tree is None else [TREE_MAKER]
    for maker in map(candidate_maker, [*OFFERED, *by_tree]):
        for utility, limit in policies:
            if maker.name == "upcta" if utility is None else not maker.keeps_utility_constraints:
                continue  # without utility constraints upcta is pcta
            for promise in (*promises, CompleteKAnonymity(2), *named):
                if isinstance(promise, maker.requirements):
                    yield BasketCandidate(maker, promise, utility, limit)
