"""The same walk for sets of items: baskets, what they must satisfy, who makes releases of them.

from sfumato.transactions import anonymize_baskets, read_baskets

baskets = read_baskets("visits.txt", tree="icd.csv")
release = anonymize_baskets(baskets, "km-anonymity k=5 m=2", "coat", utility="utility-constraints level=2")
"""

from sfumato.transactions.anonymizers.aa import AA
from sfumato.transactions.anonymizers.anonymizer import BasketAnonymizer, Task
from sfumato.transactions.anonymizers.coat import COAT
from sfumato.transactions.anonymizers.lra import LRA
from sfumato.transactions.anonymizers.partition import Partition
from sfumato.transactions.anonymizers.pcta import PCTA, UPCTA
from sfumato.transactions.anonymizers.registry import (
    BASKET_ANONYMIZERS,
    DEFAULT_MAKER,
    PAPER,
    anonymize_baskets,
    basket_anonymizer,
    sweep,
)
from sfumato.transactions.anonymizers.vpa import VPA
from sfumato.transactions.baskets import Baskets, baskets_of
from sfumato.transactions.files.bundled import BASKETS, BundledBaskets, load_baskets
from sfumato.transactions.files.reading import read_baskets
from sfumato.transactions.files.trees import read_tree
from sfumato.transactions.measures.verification import Weak, least_support, verify, violations
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
from sfumato.transactions.recoding import BasketRelease, Recoded, Recoding, global_release, set_recoding

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
