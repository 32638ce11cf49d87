"""The same walk for sets of items: baskets, what they must satisfy, who makes releases of them."""

from sfumato.transactions.baskets import Baskets, baskets_of
from sfumato.transactions.policy import (
    BASKET_REQUIREMENTS,
    BasketRequirement,
    CompleteKAnonymity,
    KMAnonymity,
    PrivacyConstraints,
    SuppressionLimit,
    UtilityConstraints,
    basket_requirement,
    suppression_limit,
    utility_constraints,
)
from sfumato.transactions.recoding import BasketRelease, Recoded, Recoding, global_release, set_recoding, tree_recoding

__all__ = [
    "BASKET_REQUIREMENTS",
    "BasketRelease",
    "BasketRequirement",
    "Baskets",
    "CompleteKAnonymity",
    "KMAnonymity",
    "PrivacyConstraints",
    "Recoded",
    "Recoding",
    "SuppressionLimit",
    "UtilityConstraints",
    "basket_requirement",
    "baskets_of",
    "global_release",
    "set_recoding",
    "suppression_limit",
    "tree_recoding",
    "utility_constraints",
]
