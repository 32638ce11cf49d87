"""The same walk for sets of items: baskets, what they must satisfy, who makes releases of them.

from sfumato.transactions import anonymize_baskets, read_baskets

baskets = read_baskets("visits.txt", tree="icd.csv")
release = anonymize_baskets(baskets, "km-anonymity k=5 m=2", "coat", utility="utility-constraints level=2")
"""

from sfumato.transactions.anonymizers.pcta import UPCTA as UPCTA
from sfumato.transactions.anonymizers.registry import BASKET_ANONYMIZERS as BASKET_ANONYMIZERS
from sfumato.transactions.anonymizers.registry import DEFAULT_MAKER as DEFAULT_MAKER
from sfumato.transactions.anonymizers.registry import anonymize_baskets as anonymize_baskets
from sfumato.transactions.anonymizers.registry import basket_anonymizer as basket_anonymizer
from sfumato.transactions.anonymizers.registry import sweep as sweep
from sfumato.transactions.anonymizers.registry import usual_maker as usual_maker
from sfumato.transactions.baskets import Baskets as Baskets
from sfumato.transactions.baskets import baskets_of as baskets_of
from sfumato.transactions.files.bundled import load_baskets as load_baskets
from sfumato.transactions.files.reading import read_baskets as read_baskets
from sfumato.transactions.measures.verification import least_support as least_support
from sfumato.transactions.measures.verification import verify as verify
from sfumato.transactions.measures.verification import violations as violations
from sfumato.transactions.policy import BasketRequirement as BasketRequirement
from sfumato.transactions.policy import Coherence as Coherence
from sfumato.transactions.policy import CompleteKAnonymity as CompleteKAnonymity
from sfumato.transactions.policy import InferenceRequirement as InferenceRequirement
from sfumato.transactions.policy import KMAnonymity as KMAnonymity
from sfumato.transactions.policy import PrivacyConstraints as PrivacyConstraints
from sfumato.transactions.policy import PSRules as PSRules
from sfumato.transactions.policy import RhoUncertainty as RhoUncertainty
from sfumato.transactions.policy import SuppressionLimit as SuppressionLimit
from sfumato.transactions.policy import UtilityConstraints as UtilityConstraints
from sfumato.transactions.policy import basket_requirement as basket_requirement
from sfumato.transactions.recoding import BasketRelease as BasketRelease
from sfumato.transactions.recoding import global_release as global_release
from sfumato.transactions.recoding import set_recoding as set_recoding
