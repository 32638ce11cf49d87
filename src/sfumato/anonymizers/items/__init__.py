"""Registry of item anonymizers."""

from __future__ import annotations

from sfumato.anonymizers.items.item_anonymizer import BasketAnonymizer
from sfumato.config.options import Registry, parse
from sfumato.data.items import Baskets
from sfumato.release.items import BasketRelease
from sfumato.requirements.items import (
    BasketRequirement,
    InferenceRequirement,
    SuppressionLimit,
    UtilityConstraints,
    basket_requirement,
    suppression_limit,
    utility_constraints,
)

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
"""Who can be a candidate of a study: everybody who makes releases, and the two ends of a map."""

PAPER = ("aa", "coat", "pcta")
"""The three anonymizers of Loukides et al. 2012 as we read their papers."""

DEFAULT_MAKER = "coat order=ascending visit=once loss=size"
"""What loses least in our measurements (docs/transactions.md); the names alone are the papers' algorithms."""


TREE_MAKER = "coat order=ascending visit=once loss=tree"
"""The same where the items have a tree: its sets seldom mix what the tree keeps apart."""

INFERENCE_MAKER = "td-control"
"""Who makes what nothing sensitive may be inferred from."""


def usual_maker(requirement: BasketRequirement, has_tree: bool) -> str:
    """Name the maker that is taken where nobody says which."""
    if isinstance(requirement, InferenceRequirement):
        return INFERENCE_MAKER
    return TREE_MAKER if has_tree else DEFAULT_MAKER


def basket_anonymizer(text: str) -> BasketAnonymizer:
    """Read an anonymizer of baskets from its text form, such as `coat order=ascending`."""
    return parse(text, BASKET_ANONYMIZERS, "anonymizer of baskets")


def anonymize_baskets(
    baskets: Baskets,
    require: BasketRequirement | str,
    maker: BasketAnonymizer | str | None = None,
    utility: UtilityConstraints | str | None = None,
    limit: SuppressionLimit | str | None = None,
) -> BasketRelease:
    """Make one release of baskets that satisfies a requirement, verified; everything may be given as text."""
    wanted, utility, limit = _policy(require, utility, limit)
    chosen = usual_maker(wanted, baskets.tree is not None) if maker is None else maker
    return _maker(chosen).anonymize(baskets, wanted, utility, limit)


def _maker(maker: BasketAnonymizer | str) -> BasketAnonymizer:
    return basket_anonymizer(maker) if isinstance(maker, str) else maker


def _policy(
    require: BasketRequirement | str, utility: UtilityConstraints | str | None, limit: SuppressionLimit | str | None
) -> tuple[BasketRequirement, UtilityConstraints | None, SuppressionLimit | None]:
    return (
        basket_requirement(require) if isinstance(require, str) else require,
        utility_constraints(utility) if isinstance(utility, str) else utility,
        suppression_limit(limit) if isinstance(limit, str) else limit,
    )


def candidate_maker(text: str) -> BasketAnonymizer:
    """Read who makes a candidate from its text form, such as `coat order=ascending` or `one-item`."""
    return parse(text, CANDIDATES, "anonymizer of baskets")
