"""What a release of baskets does not protect against, said of this very release.

As for tables, texts follow from the settings and from what is published; what needs the baskets stands in `count`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.measures.items.basket_scales import PreparedBaskets
from sfumato.measures.items.estimates import BasketReader
from sfumato.measures.items.linking import rho
from sfumato.publish.cautions import Caution
from sfumato.release._itemsets import Rows
from sfumato.release.items import BasketRelease
from sfumato.release.legend import behind_labels
from sfumato.requirements.inference import Coherence, InferenceRequirement, RhoUncertainty
from sfumato.requirements.items import (
    BasketRequirement,
    CompleteKAnonymity,
    KMAnonymity,
    PrivacyConstraints,
    known_in_words,
)
from sfumato.texts.format import counted, listed, percent


def basket_cautions(release: BasketRelease, requirement: BasketRequirement, prepared: PreparedBaskets) -> list[Caution]:
    """List what this release does not protect against."""
    return [
        *_more_known(release, requirement, prepared),
        *_same_rest(release, requirement),
        *_sensitive(release, requirement, prepared),
        *_always(release),
    ]


def _more_known(release: BasketRelease, requirement: BasketRequirement, prepared: PreparedBaskets) -> Iterator[Caution]:
    """Say what happens to somebody of whom more is known than the promise speaks of."""
    if isinstance(requirement, CompleteKAnonymity):
        return
    if isinstance(requirement, PrivacyConstraints):
        text = (
            f"The promise is about the sets of items in {requirement.file} and nothing else: someone who knows other "
            "items of a person may find a single record."
        )
        yield Caution("other known items", text)
        return
    if isinstance(requirement, InferenceRequirement):
        yield _inferred(requirement)
        return
    assert isinstance(requirement, KMAnonymity)
    more = requirement.m + 1
    persons = prepared.scales.linking.draw(release.baskets, more)
    fits = BasketReader.of(release).matches(persons) if persons else np.zeros(0, np.int64)
    few, one = int((fits < requirement.k).sum()), int((fits == 1).sum())
    yield Caution(
        "more known items",
        f"The promise ends at {known_in_words(requirement.m)}. Someone who knows {more} items of a person may find "
        f"fewer than {requirement.k:,} records, or one alone.",
        f"of {len(fits):,} records of which {more} random items are known, {few:,} fit fewer than "
        f"{counted(requirement.k, 'record')}, {one:,} a single one"
        if few
        else "",
    )


def _inferred(requirement: InferenceRequirement) -> Caution:
    """Say where a promise about sensitive items ends."""
    if isinstance(requirement, RhoUncertainty):
        text = (
            "The promise is about how surely sensitive items can be inferred, not about finding a record: a few known "
            f"items may fit a single one. It ends at {known_in_words(requirement.m)}."
        )
    elif isinstance(requirement, Coherence):
        text = (
            "The promise is about someone who knows public items alone, and ends at "
            f"{known_in_words(requirement.p)}. Who knows a private item, or more, may find a single record."
        )
    else:
        text = (
            "The promise is about the rules of a file and nothing else: someone who knows other items of a person may "
            "find a single record, or be sure of what no rule names."
        )
    return Caution("other known items", text)


def _same_rest(release: BasketRelease, requirement: BasketRequirement) -> Iterator[Caution]:
    """Say that who is found among k records may have more in common with all of them."""
    rows = Rows.of_release(release)
    alone = int(rows.weights[(rows.weights == 1) & (np.diff(rows.starts) > 0)].sum())
    bounded = isinstance(requirement, InferenceRequirement)
    required = "That is bounded for the sensitive items alone." if bounded else "Nothing was required of that."
    yield Caution(
        "what the rest of a record tells",
        "The records that fit what is known may have other items in common: then those are known of the person too, "
        f"however many records fit. {required}",
    )
    if not isinstance(requirement, CompleteKAnonymity):
        yield Caution(
            "whole baskets",
            "Someone who knows all items of a person, or how many there are, can compare whole baskets; the promise "
            "does not cover that.",
            f"{counted(alone, 'record')} of {release.baskets.size:,} show a basket that no other shows"
            if alone
            else "",
        )


def _sensitive(release: BasketRelease, requirement: BasketRequirement, prepared: PreparedBaskets) -> Iterator[Caution]:
    if isinstance(requirement, InferenceRequirement):
        return  # the promise says it
    if not prepared.scales.sensitive:
        yield Caution(
            "sensitive items",
            "No item was named as sensitive, so it was not looked at how surely one can be inferred from the others.",
        )
        return
    names = listed([release.baskets.items[code] for code in prepared.sensitive])
    confidence = rho(release, prepared.sensitive, prepared.scales.known)
    sure = f", up to {percent(confidence, 3)} sure, from up to two other items" if confidence else ""
    yield Caution(
        "sensitive items",
        "Nothing was required of how surely the items that the publisher takes for sensitive can be inferred from "
        "other items of a person.",
        f"{names}{sure}",
    )


def _always(release: BasketRelease) -> Iterator[Caution]:
    yield Caution(
        "items a person does not have",
        "Someone who knows that a person does not have an item can exclude records; the promise is about items that a "
        "person has.",
    )
    yield Caution(
        "membership",
        "Someone who knows items of a person can judge whether the person is in the data: where no record fits, the "
        "person is not, or the item was left out. Only differential privacy limits this.",
    )
    yield Caution(
        "minimality",
        "Items were generalized no more than needed. Who knows the algorithm can sometimes reason from what was not "
        "done.",
    )
    if any(len(behind.items) > 1 and not behind.is_known for behind in behind_labels(release).values()):
        yield Caution(
            "items that occur", "A published set lists items that occur in the data: somebody has each of them."
        )
    yield Caution(
        "composition",
        "Another release about the same people, by whomever, can be joined with this one; the promise is about this "
        "file alone.",
    )
    yield Caution(
        "several records of one person",
        "One record was taken for one person. Where a person has several, fewer persons than records fit.",
    )
