"""What a release of a table with items does not protect against, said of this very release.

As for tables and baskets, texts follow from the settings and from what is published; what needs the records stands in
`count` and is for the publisher.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sfumato.anonymizers import Anonymizer
from sfumato.mixed.measures.attacks import Persons
from sfumato.mixed.measures.listed_items import listed_items, set_parts
from sfumato.mixed.measures.reader import MixedReader
from sfumato.mixed.policy import MixedRequirement
from sfumato.mixed.release import MixedRelease
from sfumato.phrases import counted, percent
from sfumato.publish.cautions import Caution, cautions
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.transactions.measures.attacks import Linking


def mixed_cautions(release: MixedRelease, candidate: Candidate) -> list[Caution]:
    """List what this release does not protect against."""
    assert isinstance(candidate.anonymizer, Anonymizer)
    relational = cautions(release.relational, candidate.requirement.of_groups, candidate.anonymizer)
    return [
        *_listed(release, candidate),
        *_more_known(release, candidate.requirement),
        *_same_rest(),
        *_sensitive(release, candidate),
        *relational,
    ]


def lists_items_of_groups(release: MixedRelease, candidate: Candidate) -> bool:
    """Say whether the file shows sets of items that were made of a group's: a setting, and what the file shows."""
    return candidate.sets == "group" and bool(set_parts(release).any())


def _listed(release: MixedRelease, candidate: Candidate) -> Iterator[Caution]:
    """Say what a group's sets tell of it beyond what they stand for."""
    if not lists_items_of_groups(release, candidate):
        yield Caution(
            "what sets tell of a group",
            "What stands for several items is the same for all groups, so it does not tell which of them somebody in a "
            "group has. What no published item of a group stands for nobody in it has, or it was left out.",
        )
        return
    listed = listed_items(release, candidate.requirement.k)
    share = percent(listed.most / max(listed.of_items, 1), 3)
    yield Caution(
        "what sets tell of a group",
        "A published item that stands for several lists items of its group: somebody in the group has each of them. "
        "How many records fit a person says nothing of that, so who knows in which group somebody is learns a list of "
        "items of which each is had by one of few. What no published item of a group stands for nobody in it has, or "
        "it was left out.",
        f"{listed.groups:,} of {counted(listed.of_groups, 'group')} list every item that their sets stand for; the "
        f"longest list has {counted(listed.most, 'item')} ({share} of all) of {counted(listed.records, 'record')}; "
        f"{counted(listed.rare, 'listed item')} fewer than {counted(candidate.requirement.k, 'record')} of the whole "
        "table have. Sets that all groups have in common (sets = common) list nothing of the kind"
        if listed.groups
        else "",
    )


def _more_known(release: MixedRelease, wanted: MixedRequirement) -> Iterator[Caution]:
    """Say what happens to somebody of whom more is known than the promise speaks of."""
    more = wanted.m + 1
    persons = Persons.drawn(release.data, replace(Linking(), persons=2000), more)
    kept, items = persons.in_release(release)
    fits = MixedReader.of(release).fitting(persons.questions(release.data, kept, items, True)) if kept else np.zeros(0)
    few, one = int((fits < wanted.k).sum()), int((fits == 1).sum())
    ends = f"{wanted.m} known items" if wanted.m != 1 else "one known item"
    yield Caution(
        "more known items",
        f"The promise ends at the quasi-identifiers and {ends if wanted.m else 'no known item'}. Someone who knows "
        f"{counted(more, 'item')} of a person beside the quasi-identifiers may find fewer than {wanted.k:,} records, "
        "or one alone.",
        f"of {len(fits):,} records of which the quasi-identifiers and {more} random items are known, {few:,} fit fewer "
        f"than {counted(wanted.k, 'record')}, {one:,} a single one"
        if few
        else "",
    )


def _same_rest() -> Iterator[Caution]:
    yield Caution(
        "what the rest of a record tells",
        "All records that fit what is known of a person may show further items in common: these are then known of the "
        "person, too. No number of candidates protects against that.",
    )


def _sensitive(release: MixedRelease, candidate: Candidate) -> Iterator[Caution]:
    if any(part.on == release.data.column for part in candidate.requirement.further):
        yield Caution(
            "sensitive items and known items",
            "What is promised of sensitive items holds of a whole group. Someone who also knows items of a person sees "
            "some records of the group only, among which sensitive items may be more frequent.",
        )
