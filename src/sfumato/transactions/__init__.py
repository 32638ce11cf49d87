"""The same walk for sets of items: baskets, what they must satisfy, who makes releases of them.

from sfumato.transactions import anonymize_baskets, read_baskets

baskets = read_baskets("visits.txt", tree="icd.csv")
release = anonymize_baskets(baskets, "km-anonymity k=5 m=2", "coat", utility="utility-constraints level=2")
"""

from sfumato.transactions.aa import AA
from sfumato.transactions.anonymizer import BasketAnonymizer, Task
from sfumato.transactions.baskets import Baskets, baskets_of
from sfumato.transactions.bundled import BASKETS, BundledBaskets, load_baskets
from sfumato.transactions.coat import COAT
from sfumato.transactions.lra import LRA
from sfumato.transactions.making import (
    BASKET_ANONYMIZERS,
    DEFAULT_MAKER,
    PAPER,
    anonymize_baskets,
    basket_anonymizer,
    sweep,
)
from sfumato.transactions.partition import Partition
from sfumato.transactions.pcta import PCTA, UPCTA
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
from sfumato.transactions.reading import read_baskets
from sfumato.transactions.recoding import BasketRelease, Recoded, Recoding, global_release, set_recoding
from sfumato.transactions.tree_reading import read_tree
from sfumato.transactions.verifying import Weak, least_support, verify, violations
from sfumato.transactions.vpa import VPA

__all__ = [
    "AA",
    "BASKETS",
    "BASKET_ANONYMIZERS",
    "BASKET_REQUIREMENTS",
    "COAT",
    "DEFAULT_MAKER",
    "LRA",
    "PAPER",
    "PCTA",
    "UPCTA",
    "VPA",
    "BasketAnonymizer",
    "BasketRelease",
    "BasketRequirement",
    "Baskets",
    "BundledBaskets",
    "CompleteKAnonymity",
    "KMAnonymity",
    "Partition",
    "PrivacyConstraints",
    "Recoded",
    "Recoding",
    "SuppressionLimit",
    "Task",
    "UtilityConstraints",
    "Weak",
    "anonymize_baskets",
    "basket_anonymizer",
    "basket_requirement",
    "baskets_of",
    "global_release",
    "least_support",
    "load_baskets",
    "read_baskets",
    "read_tree",
    "set_recoding",
    "suppression_limit",
    "sweep",
    "utility_constraints",
    "verify",
    "violations",
]
