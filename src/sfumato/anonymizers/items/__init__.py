"""Registry of item anonymizers."""

from sfumato.anonymizers.items.item_anonymizer import BasketAnonymizer
from sfumato.config.options import Registry, parse
from sfumato.data.items import Baskets
from sfumato.release.items import BasketRelease
from sfumato.requirements import items as item_rules

_HOMES = (
    "aa aa.AA",
    "coat coat_pcta.COAT",
    "pcta coat_pcta.PCTA",
    "upcta coat_pcta.UPCTA",
    "lra lra_vpa.LRA",
    "vpa lra_vpa.VPA",
    "partition partition.Partition",
    "suppress-control inference_control.SuppressControl",
    "td-control inference_control.TDControl",
)
BASKET_ANONYMIZERS: Registry[BasketAnonymizer] = Registry(__name__, *_HOMES)
CANDIDATES: Registry[BasketAnonymizer] = Registry(
    __name__, *_HOMES, "one-item item_anonymizer.OneItem", "original item_anonymizer.OriginalBaskets"
)
"""The candidates of a study: all anonymizers, and the two ends of a map."""

PAPER = ("aa", "coat", "pcta")
"""The three anonymizers of Loukides et al. 2012 as we read their papers."""

DEFAULT_MAKER = "coat order=ascending visit=once loss=size"
"""The anonymizers with the least loss in our measurements (docs/concepts/items.md); the names alone are the papers'
algorithms."""


TREE_MAKER = "coat order=ascending visit=once loss=tree"
"""The same where the items have a tree: its sets seldom mix what the tree keeps apart."""

INFERENCE_MAKER = "td-control"
"""The anonymizers that prevent the inference of sensitive items."""


def usual_maker(requirement: item_rules.BasketRequirement, has_tree: bool) -> str:
    """Name the maker that is taken where nobody says which."""
    if isinstance(requirement, item_rules.InferenceRequirement):
        return INFERENCE_MAKER
    return TREE_MAKER if has_tree else DEFAULT_MAKER


def basket_anonymizer(text: str) -> BasketAnonymizer:
    """Read an anonymizer of baskets from its text form, such as `coat order=ascending`."""
    return parse(text, BASKET_ANONYMIZERS, "anonymizer of baskets")


def anonymize_baskets(
    baskets: Baskets,
    require: item_rules.BasketRequirement | str,
    maker: BasketAnonymizer | str | None = None,
    utility: item_rules.UtilityConstraints | str | None = None,
    limit: item_rules.SuppressionLimit | str | None = None,
) -> BasketRelease:
    """Make one release of baskets that satisfies a requirement, verified; everything may be given as text."""
    wanted = item_rules.basket_requirement(require) if isinstance(require, str) else require
    chosen = usual_maker(wanted, baskets.tree is not None) if maker is None else maker
    made = basket_anonymizer(chosen) if isinstance(chosen, str) else chosen
    utility = item_rules.utility_constraints(utility) if isinstance(utility, str) else utility
    limit = item_rules.suppression_limit(limit) if isinstance(limit, str) else limit
    return made.anonymize(baskets, wanted, utility, limit)


def candidate_maker(text: str) -> BasketAnonymizer:
    """Read who makes a candidate from its text form, such as `coat order=ascending` or `one-item`."""
    return parse(text, CANDIDATES, "anonymizer of baskets")
