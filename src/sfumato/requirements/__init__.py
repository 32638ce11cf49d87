"""What a release of baskets must satisfy, and what it may do: requirements, utility constraints, suppression limit.

All values print as what a person would type:

    km-anonymity k=5 m=2
    k-anonymity k=5
    privacy-constraints k=5 file=known.txt
    rho-uncertainty rho=0.5 m=2 sensitive=042,295
    hkp-coherence h=0.5 k=5 p=2 private=042
    ps-rules k=5 c=0.5 file=rules.txt
    utility-constraints level=2
    suppression share=.05 of=occurrences

What a release must satisfy.
"""

from sfumato.config.options import parse
from sfumato.requirements.inference import Coherence as Coherence
from sfumato.requirements.inference import PSRules as PSRules
from sfumato.requirements.inference import RhoUncertainty as RhoUncertainty
from sfumato.requirements.item_policy import SuppressionLimit as SuppressionLimit
from sfumato.requirements.item_policy import UtilityConstraints as UtilityConstraints
from sfumato.requirements.items import BasketRequirement as BasketRequirement
from sfumato.requirements.items import CompleteKAnonymity as CompleteKAnonymity
from sfumato.requirements.items import KMAnonymity as KMAnonymity
from sfumato.requirements.items import PrivacyConstraints as PrivacyConstraints

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
    """Write what a release may do, by name, where it is not as usual."""
    policy = {"utility": utility, "limit": limit if limit != SuppressionLimit() else None}
    return {name: str(constraint) for name, constraint in policy.items() if constraint is not None}
