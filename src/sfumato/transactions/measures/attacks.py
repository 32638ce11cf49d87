"""Two attacks on a release of baskets: finding a person's record, and inferring a sensitive item.

The requirements speak of the worst case; the first attack shows what happens to the persons in the data: some items of
each are known, and the records that fit are counted. The second is rho-uncertainty (Cao et al. 2010) turned into a
measure: how sure does somebody get that a person has a sensitive item who knows other items of that person?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Codes, Counts
from sfumato.configuration import Configured, Option
from sfumato.errors import BadInputError
from sfumato.kernels import kernel
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.measures.itemsets import Rows
from sfumato.transactions.measures.reader import BasketReader
from sfumato.transactions.policy import Itemset
from sfumato.transactions.recoding import BasketRelease

MOST_INFERRED_FROM = 2
"""A sensitive item is inferred from up to so many others."""


@dataclass(frozen=True)
class Linking(Configured):
    """The empirical attack: some items of every person are known; how many records fit?"""

    persons: Annotated[
        int, Option("Records that are attacked, drawn at random; all where there are no more.", least=1)
    ] = 5000
    below: Annotated[int, Option("Fewer records that fit are too few.", least=1)] = 5
    seed: Annotated[int, Option("What decides who is attacked, and what is known.", least=0)] = 0
    name: ClassVar[str] = "linking"

    def draw(self, baskets: Baskets, known: int) -> list[Itemset]:
        """Draw what is known of the persons: so many items of each at random, all where a person has fewer."""
        random = np.random.default_rng(self.seed)
        record_of = np.repeat(np.arange(baskets.distinct), baskets.weights)
        if len(record_of) > self.persons:
            record_of = record_of[random.choice(len(record_of), self.persons, replace=False)]
        itemsets = []
        for row in record_of:
            items = baskets.codes[baskets.starts[row] : baskets.starts[row + 1]]
            if len(items):
                drawn = random.choice(items, min(known, len(items)), replace=False)
                itemsets.append(tuple(sorted(drawn.tolist())))
        return itemsets

    def measure(self, reader: BasketReader, drawn: Sequence[Itemset]) -> dict[str, float]:
        """Say how many records fit what is known of the persons."""
        return self.summary("match", reader.matches(drawn)) if drawn else {}

    def summary(self, name: str, fitting: Counts) -> dict[str, float]:
        """Say of the records that fit each person: the fewest, the median, and how often they are too few."""
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

    Knowing other items, the attacker looks at the records that show what stands for them: the share that also shows
    what stands for a sensitive item, times the share of sensitive items among those it stands for. What stands for a
    known item and a sensitive one tells nothing beyond itself.
    """
    rows, published, worst = Rows.of_release(release), release.published, 0.0
    label = np.repeat(np.arange(rows.size), np.diff(published.ends))
    is_sensitive = np.isin(published.items, np.array(sensitive, np.int64))
    share = np.bincount(label, is_sensitive, rows.size) / np.maximum(published.leaves, 1)
    for target in np.flatnonzero(share):
        most = min(known, MOST_INFERRED_FROM)
        confidence = _confidence(rows.starts, rows.codes, rows.weights, *rows.postings, int(target), most)
        worst = max(worst, float(confidence) * float(share[target]))
    return worst


@kernel
def _confidence(
    starts: Counts, codes: Codes, weights: Counts, ends: Counts, rows: Counts, target: int, most: int
) -> float:
    """Return the largest share of rows with a target code among the rows with one or two other codes."""
    size = len(ends) - 1
    has = np.zeros(len(weights), np.bool_)
    for p in range(ends[target], ends[target + 1]):
        has[rows[p]] = True
    every, those = np.zeros(size, np.int64), np.zeros(size, np.int64)
    best = 0.0
    for first in range(size):
        if first == target:
            continue
        alone, alone_with = 0, 0
        for p in range(ends[first], ends[first + 1]):
            row = rows[p]
            alone += weights[row]
            if has[row]:
                alone_with += weights[row]
            if most < 2:
                continue
            for c in range(starts[row + 1] - 1, starts[row] - 1, -1):
                if codes[c] <= first:
                    break
                every[codes[c]] += weights[row]
                if has[row]:
                    those[codes[c]] += weights[row]
        if alone > 0:
            best = max(best, alone_with / alone)
        if most < 2 or alone_with == 0:
            for code in range(first + 1, size):
                every[code], those[code] = 0, 0
            continue
        for code in range(first + 1, size):
            if every[code] > 0 and code != target:
                best = max(best, those[code] / every[code])
            every[code], those[code] = 0, 0
    return best


def matching_distribution(fitting: NDArray[np.int64]) -> dict[str, int]:
    """Say how many records fit a person: the least, some percentiles, the most."""
    shares = {"least": 0.0, "1 %": 0.01, "5 %": 0.05, "25 %": 0.25, "half": 0.5, "75 %": 0.75, "most": 1.0}
    return {name: int(np.quantile(fitting, share, method="lower")) for name, share in shares.items()}
