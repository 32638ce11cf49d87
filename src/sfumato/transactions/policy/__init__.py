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
"""

from sfumato.configuration import parse
from sfumato.transactions.policy.inference import Coherence as Coherence
from sfumato.transactions.policy.inference import InferenceRequirement as InferenceRequirement
from sfumato.transactions.policy.inference import PSRules as PSRules
from sfumato.transactions.policy.inference import RhoUncertainty as RhoUncertainty
from sfumato.transactions.policy.item_lists import Itemset as Itemset
from sfumato.transactions.policy.item_lists import itemsets_of as itemsets_of
from sfumato.transactions.policy.item_lists import named_items as named_items
from sfumato.transactions.policy.limit import SuppressionLimit as SuppressionLimit
from sfumato.transactions.policy.limit import suppression_limit as suppression_limit
from sfumato.transactions.policy.requirements import FILE as FILE
from sfumato.transactions.policy.requirements import BasketRequirement as BasketRequirement
from sfumato.transactions.policy.requirements import CompleteKAnonymity as CompleteKAnonymity
from sfumato.transactions.policy.requirements import KMAnonymity as KMAnonymity
from sfumato.transactions.policy.requirements import PrivacyConstraints as PrivacyConstraints
from sfumato.transactions.policy.requirements import known_in_words as known_in_words
from sfumato.transactions.policy.utility import UtilityConstraints as UtilityConstraints
from sfumato.transactions.policy.utility import utility_constraints as utility_constraints

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
