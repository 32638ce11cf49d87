"""A shop that nobody runs: 90,000 baskets over 16,000 items whose supports follow a power law, as lines of items.

    python benchmarks/retail.py /tmp/retail.dat.gz        # --baskets 90000 --items 16000 --seed 1

It stands in for FIMI's `retail` (88,162 baskets, 16,470 items, ten items a basket), which is not copied here. What
comes out with the defaults: 9.35 items a basket, 72 at most, the most frequent item in 57 % of the baskets, 6,323 items
in fewer than ten. Rule, every draw from one seed:

- a basket has so many draws as a log-normal number says (median 8, shape .7), from 1 to 80;
- a draw is the item of rank r (1, 2, ...) with a chance proportional to 1 / r; one that repeats an item of its basket
  is dropped;
- an item that nobody drew goes into one basket chosen evenly, so that all items occur;
- items are called 0, 1, 2, ... in the order in which they first appear, so frequent ones have low numbers.

Items are independent otherwise: there are more distinct pairs than in a real shop, which is the harder case.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np

BASKETS, ITEMS, SEED = 90_000, 16_000, 1
LONGEST = 80


def retail(baskets: int = BASKETS, items: int = ITEMS, seed: int = SEED) -> list[list[str]]:
    """Draw the baskets; the same numbers give the same baskets."""
    random = np.random.default_rng(seed)
    lengths = np.clip(np.rint(random.lognormal(np.log(8), 0.7, baskets)), 1, LONGEST).astype(np.int64)
    chances = np.cumsum(1 / np.arange(1, items + 1))
    ranks = np.searchsorted(chances, random.random(int(lengths.sum())) * chances[-1], side="right")
    owners = np.repeat(np.arange(baskets), lengths)
    missing = np.setdiff1d(np.arange(items), ranks)
    ranks = np.concatenate([ranks, missing])
    owners = np.concatenate([owners, random.integers(0, baskets, len(missing))])
    drawn: list[dict[int, None]] = [{} for _ in range(baskets)]  # a dictionary keeps the order and drops repetitions
    for owner, rank in zip(owners.tolist(), ranks.tolist(), strict=True):
        drawn[owner][rank] = None
    names: dict[int, str] = {}
    return [[names.setdefault(rank, str(len(names))) for rank in basket] for basket in drawn]


def make_retail(path: Path, baskets: int = BASKETS, items: int = ITEMS, seed: int = SEED) -> Path:
    """Write the baskets, a line each with spaces between items (gzip where the name ends so), unless they are there."""
    if not path.exists():
        draft = path.with_name(f".{path.name}")
        text = "".join(" ".join(basket) + "\n" for basket in retail(baskets, items, seed)).encode()
        draft.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
        draft.rename(path)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--baskets", type=int, default=BASKETS)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    make_retail(given.path, given.baskets, given.items, given.seed)
