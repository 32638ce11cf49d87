"""Two attacks on a release of baskets: finding a person's record, and inferring a sensitive item.

The requirements speak of the worst case; the first attack shows what happens to the persons in the data: some items of
each are known, and the records that fit are counted. The second is rho-uncertainty (Cao et al. 2010) turned into a
measure: how sure does somebody get that a person has a sensitive item who knows other items of that person?

The attack by both: the quasi-identifiers and some items of a person are known; how many records fit?

The persons are drawn once for all releases. A person whose record is not published is not looked for; an item that is
left out of a person's record helps nobody and is passed over, all others must be shown.

The information of the sets of a group beyond their meaning: that somebody in it has every item of a set.

A set `{a, b, c}` means "one or more of these". If sets are made of the items of their group (`sets=group`), somebody in
the group has each of them, and an attacker who knows how sets are made knows it. A node of a declared tree is the
same wherever it is published, and reveals nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.config.options import Configured, Option
from sfumato.data.dataset import MixedTable
from sfumato.data.items import Baskets, RowPersons, taken_rows
from sfumato.errors import BadInputError
from sfumato.measures.items.estimates import BasketReader, MixedReader, Questions
from sfumato.release._itemsets import Rows
from sfumato.release.items import SUPPRESSED, BasketRelease, MixedRelease, ShowsItems
from sfumato.release.writing_items import behind_parts
from sfumato.requirements.items import Itemset
from sfumato.runtime.arrays import Codes, Counts, Flags, Numbers, RedactedRepr
from sfumato.runtime.kernels import kernel

MOST_INFERRED_FROM = 2
"""A sensitive item is inferred from up to so many others."""


@dataclass(frozen=True)
class Linking(Configured):
    """The empirical attack: some items of a record of every person are known; how many persons have one that fits?"""

    persons: Annotated[int, Option(least=1)] = 5000
    """Persons who are attacked, drawn at random; all where there are no more."""

    below: Annotated[int, Option(least=1)] = 5
    """Fewer records that fit are too few."""

    seed: Annotated[int, Option(least=0)] = 0
    """The choice of the targets and of the attacker's knowledge."""

    name: ClassVar[str] = "linking"

    def draw(self, baskets: Baskets, known: int) -> list[Itemset]:
        """Draw what is known of the persons: so many items of each at random, all where a person has fewer."""
        random, (kind, number) = np.random.default_rng(self.seed), baskets.people
        first = np.flatnonzero(np.diff(kind, prepend=-1))
        person = np.repeat(np.arange(len(first)), number[first])
        if len(person) > self.persons:
            person = person[random.choice(len(person), self.persons, replace=False)]
        ends, itemsets = np.append(first, len(kind)), []
        for who in person:
            row = int(first[who])
            if ends[who + 1] - row > 1:  # what is known is of one record
                held = baskets.weights[row : ends[who + 1]]
                row += int(random.choice(len(held), p=held / held.sum()))
            items = baskets.codes[baskets.starts[row] : baskets.starts[row + 1]]
            if len(items):
                drawn = random.choice(items, min(known, len(items)), replace=False)
                itemsets.append(tuple(sorted(drawn.tolist())))
        return itemsets

    def measure(self, reader: BasketReader, drawn: Sequence[Itemset]) -> dict[str, float]:
        """Return how many records fit the known items of the persons."""
        return self.summary("match", reader.matches(drawn)) if drawn else {}

    def summary(self, name: str, fitting: Counts) -> dict[str, float]:
        """Return facts about the records that fit each person: the fewest, the median, and how often they are too
        few."""
        return {
            f"{name}_least": float(fitting.min()),
            f"{name}_median": float(np.quantile(fitting, 0.5, method="lower")),
            f"{name}ed_below": float((fitting < self.below).mean()),
        }


def sensitive_codes(baskets: Baskets, labels: Sequence[str]) -> tuple[int, ...]:
    """Find the sensitive items; one that no basket has is an error."""
    unknown = [label for label in labels if label not in baskets.places]
    if unknown:
        raise BadInputError(f"the sensitive item {unknown[0]!r} is in no basket of {baskets.origin}; name one that is")
    return tuple(baskets.places[label] for label in labels)


def rho(release: BasketRelease, sensitive: Sequence[int], known: int) -> float:
    """Return how sure somebody gets of a sensitive item who knows up to so many others (two at most).

    The attacker knows other items and selects the records that show a part for each of them. The gain is the share of
    these that also shows a part for a sensitive item, times the share of sensitive items among the items of that part.
    A part that covers both a known item and a sensitive one reveals nothing more.
    """
    rows, parts, worst = Rows.of_persons(release), release.parts, 0.0
    label = np.repeat(np.arange(rows.size), np.diff(parts.starts))
    is_sensitive = np.isin(parts.items, np.array(sensitive, np.int64))
    share = np.bincount(label, is_sensitive, rows.size) / np.maximum(parts.sizes, 1)
    for target in np.flatnonzero(share):
        most = min(known, MOST_INFERRED_FROM)
        confidence = _confidence(rows.starts, rows.codes, rows.people, *rows.postings, int(target), most)
        worst = max(worst, float(confidence) * float(share[target]))
    return worst


@kernel
def _confidence(
    starts: Counts, codes: Codes, people: RowPersons, ends: Counts, rows: Counts, target: int, most: int
) -> float:
    """Return the largest share of persons with a target code among those with one or two other codes, in one row."""
    size = len(ends) - 1
    has = np.zeros(len(people.kind), np.bool_)
    for p in range(ends[target], ends[target + 1]):
        has[rows[p]] = True
    # by code, and in the last place without a second one: the persons, those with the target, and who was counted last
    counted, last = np.zeros((2, size + 1), np.int64), np.full((2, size + 1), -1, np.int32)
    best = 0.0
    for first in range(size):
        if first == target:
            continue
        for p in range(ends[first], ends[first + 1]):
            row = rows[p]
            for place in range(starts[row + 1], starts[row] - 1, -1):
                code = size if place == starts[row + 1] else codes[place]
                if code <= first or (most < 2 and code < size):
                    break
                for side in range(1 + has[row]):
                    if last[side, code] != people.kind[row]:
                        last[side, code] = people.kind[row]
                        counted[side, code] += people.number[row]
        for code in range(size + 1):
            if code != target and counted[1, code] > 0:
                best = max(best, counted[1, code] / counted[0, code])
            counted[:, code], last[:, code] = 0, -1
    return best


def matching_distribution(fitting: NDArray[np.int64]) -> dict[str, int]:
    """Return how many records fit a person: the least, some percentiles, the most."""
    shares = {"least": 0.0, "1 %": 0.01, "5 %": 0.05, "25 %": 0.25, "half": 0.5, "75 %": 0.75, "most": 1.0}
    return {name: int(np.quantile(fitting, share, method="lower")) for name, share in shares.items()}


@dataclass(frozen=True, eq=False, repr=False)
class Persons(RedactedRepr):
    """The targets: a record of which pair, which of its records (from 0 to 1), and which items are known."""

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


@dataclass(frozen=True, repr=False)
class ListedItems(RedactedRepr):
    """How much the sets of groups list of what somebody in the group has."""

    groups: int
    """How many groups show a set of which every item is had by somebody in the group."""

    of_groups: int
    most: int
    """How many items such sets list in the group where they list most."""

    records: int
    """How many records that group has."""

    of_items: int
    rare: int
    """How many of all listed items fewer records of the whole table have than a bound."""


def set_parts(release: ShowsItems) -> Flags:
    """Return, for every part, whether it is a set of items that was made here: no item, and no node of the tree."""
    behind = behind_parts(release)
    sets = [label in behind and len(behind[label].items) > 1 and not behind[label].is_known for label in release.labels]
    return np.array(sets, np.bool_)


def listed_items(release: MixedRelease, few: int) -> ListedItems:
    """Count what sets list, group by group; `few` is the bound under which an item is rare in the whole table."""
    items, parts = len(release.data.baskets.items), release.parts
    had = np.unique(release.group[release.row_of_item] * items + release.items)
    starts, codes = release.shown
    width = max(len(parts.labels), 1)
    shown = np.unique(np.repeat(release.group, np.diff(starts)) * width + codes)
    shown = shown[set_parts(release)[shown % width]] if parts.labels else shown
    group, part = shown // width, shown % width
    at, members = taken_rows(parts.starts, parts.items, part)
    entry = np.repeat(np.arange(len(part)), np.diff(at))
    keys = group[entry] * items + members
    missing = np.bincount(entry, ~np.isin(keys, had), len(part))
    keys = np.unique(keys[missing[entry] == 0])
    listed = np.bincount(keys // items, minlength=release.relational.groups)
    most = int(listed.argmax()) if len(listed) else 0
    supports = release.baskets.supports
    return ListedItems(
        int((listed > 0).sum()),
        release.relational.groups,
        int(listed.max(initial=0)),
        int(release.relational.sizes[most]),
        items,
        int((supports[np.unique(keys % items)] < few).sum()),
    )
