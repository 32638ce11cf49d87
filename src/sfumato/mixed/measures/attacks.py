"""The attack by both: the quasi-identifiers and some items of a person are known; how many records fit?

The persons are drawn once for all releases. A person whose record is not published is not looked for; an item that is
left out of a person's record helps nobody and is passed over, all others must be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Counts, Numbers
from sfumato.mixed.measures.reader import MixedReader, Questions
from sfumato.mixed.mixed_table import MixedTable
from sfumato.mixed.release import SUPPRESSED, MixedRelease
from sfumato.quiet import Quiet
from sfumato.transactions.measures.attacks import Linking
from sfumato.transactions.policy import Itemset


@dataclass(frozen=True, eq=False, repr=False)
class Persons(Quiet):
    """Who is looked for: a record of which pair, where among its records (from 0 to 1), and which items are known."""

    pair: Counts
    place: Numbers
    items: Sequence[Itemset]

    @staticmethod
    def drawn(data: MixedTable, linking: Linking, known: int) -> Persons:
        """Draw persons and what is known of each: so many items at random, all where a person has fewer."""
        random = np.random.default_rng(linking.seed)
        pair = np.repeat(np.arange(len(data.pairs)), data.pairs.count)
        if len(pair) > linking.persons:
            pair = pair[np.sort(random.choice(len(pair), linking.persons, replace=False))]
        items = []
        for basket in data.pairs.basket[pair].tolist():
            held = data.baskets.codes[data.baskets.starts[basket] : data.baskets.starts[basket + 1]]
            items.append(tuple(sorted(random.choice(held, min(known, len(held)), replace=False).tolist())))
        return Persons(pair, random.random(len(pair)), items)

    def questions(self, data: MixedTable, kept: Sequence[int], items: Sequence[Itemset], quasi: bool) -> Questions:
        """Ask for some of the persons, by their quasi-identifiers and items, or by their items alone."""
        if not quasi:
            return Questions.of_items(data, items)
        codes = data.cells.codes[data.pairs.cell[self.pair[list(kept)]]]
        return Questions(codes, codes, items)

    def in_release(self, release: MixedRelease) -> tuple[list[int], list[Itemset]]:
        """Return who is published, and what of the known items is published of each."""
        entries, pairs = release.placed, release.data.pairs
        order = np.argsort(entries.pair, kind="stable")
        begins = np.searchsorted(entries.pair[order], np.arange(len(pairs) + 1))
        starts = np.concatenate([[0], np.cumsum(release.lengths)])
        rows, kept, items = release.rows_of_placed, [], []
        wanted = (self.place * pairs.count[self.pair]).astype(np.int64)
        for person, (pair, at) in enumerate(zip(self.pair.tolist(), wanted.tolist(), strict=True)):
            for entry in order[begins[pair] : begins[pair + 1]].tolist():
                if at < entries.count[entry]:
                    row = int(rows[entry])
                    held = slice(starts[row], starts[row + 1])
                    gone = set(release.items[held][release.part[held] == SUPPRESSED].tolist())
                    kept.append(person)
                    items.append(tuple(item for item in self.items[person] if item not in gone))
                    break
                at -= int(entries.count[entry])
        return kept, items


def attacked(release: MixedRelease, reader: MixedReader, persons: Persons, linking: Linking) -> dict[str, float]:
    """Measure both attacks: by items alone, and by quasi-identifiers and items."""
    kept, items = persons.in_release(release)
    if not kept:
        return {}
    by_items = [number for number, itemset in enumerate(items) if itemset]
    values: dict[str, float] = {}
    if by_items:
        asked = persons.questions(release.data, kept, [items[number] for number in by_items], False)
        values |= linking.summary("match", reader.fitting(asked))
    both = reader.fitting(persons.questions(release.data, kept, items, True))
    return values | linking.summary("joint_match", both)
