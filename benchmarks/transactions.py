"""Baskets: time of AA, COAT, PCTA, verification, sweeps over k and a million baskets; utility by strategy.

    python benchmarks/transactions.py --data ../shared/data/transactions    # --only speed, utility, million or retail

Without --data, Online Retail stands in for BMS-WebView-2. Times are the processor's, so that other work on the machine
counts less; the baseline is a plain account of COAT in the same run, on a sample that it can bear.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from common import peak_megabytes, print_table, verdict
from retail import retail
from sfumato.anonymizers.items import DEFAULT_MAKER, anonymize_baskets
from sfumato.data.bundled import load_baskets
from sfumato.data.item_reading import read_baskets
from sfumato.data.items import Baskets, baskets_of, counted_baskets, rows_once
from sfumato.measures.scales import measure_baskets
from sfumato.release.item_verification import verify
from sfumato.release.items import BasketRelease
from sfumato.requirements.items import KMAnonymity, basket_requirement

KS = (2, 5, 10, 15, 20, 25, 40, 60, 80, 100)
STRATEGIES = [
    f"coat order={order} seed={seed} visit={visit} loss={loss}"
    for order in ("ascending", "descending")
    for seed in ("least", "any")
    for visit in ("stay", "once", "round")
    for loss in ("subsets", "size")
]


def seconds(job: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    made = job()
    return time.process_time() - started, made


def coded_baskets(items: tuple[str, ...], lengths: np.ndarray, codes: np.ndarray) -> Baskets:
    """Make baskets of codes, as reading them does once they are counted."""
    starts, once = rows_once(np.repeat(np.arange(len(lengths)), lengths), codes, len(lengths))
    return counted_baskets(items, starts, once, np.ones(len(lengths), np.int64), None, "drawn")


def records(baskets: Baskets) -> np.ndarray:
    """Return for every record which distinct basket it is, in no order that means anything."""
    return np.random.default_rng(0).permutation(np.repeat(np.arange(baskets.distinct), baskets.weights))


def warm_up() -> None:
    small = load_small()
    for maker, m in (("aa", 3), ("coat", 3)):
        anonymize_baskets(small, KMAnonymity(2, m), maker)
    anonymize_baskets(small, "k-anonymity k=2", "partition")


def load_small() -> Baskets:
    rows = np.random.default_rng(1).integers(0, 20, (200, 4)).astype(np.int32)
    return coded_baskets(tuple(f"i{i:02}" for i in range(20)), np.full(200, 4), rows.ravel())


def speed(baskets: Baskets) -> None:
    rows = []
    made = {}
    for maker, target in (("aa", 2.0), ("coat", 3.0), ("pcta", 3.0), (DEFAULT_MAKER, 3.0), ("vpa", 3.0), ("lra", 3.0)):
        taken, release = seconds(lambda maker=maker: anonymize_baskets(baskets, KMAnonymity(5, 2), maker))
        rows.append([f"{maker}, k=5, m=2", f"{target:g} s", f"{taken:.2f} s", verdict(taken, target)])
        made[maker] = release
    fresh = BasketRelease(baskets, made["coat"].recodings, made["coat"].piece.copy())  # nothing recoded yet
    taken, _ = seconds(lambda: verify(fresh, KMAnonymity(5, 2)))
    rows.append(["verification, m=2", ".3 s", f"{taken:.2f} s", verdict(taken, 0.3)])
    for maker in ("aa", "coat", "pcta"):
        taken, _ = seconds(lambda maker=maker: anonymize_baskets(baskets, KMAnonymity(5, 3), maker))
        rows.append([f"{maker}, k=5, m=3", "60 s", f"{taken:.2f} s", verdict(taken, 60)])
    taken, _ = seconds(lambda: anonymize_baskets(baskets, basket_requirement("k-anonymity k=5"), "partition"))
    rows.append(["partition, k=5 complete", "", f"{taken:.2f} s", ""])
    makers = ("aa", "coat", "pcta")
    taken, _ = seconds(lambda: [anonymize_baskets(baskets, KMAnonymity(k, 2), maker) for maker in makers for k in KS])
    rows.append(["aa, coat, pcta x 10 values of k", "60 s", f"{taken:.1f} s", verdict(taken, 60)])
    megabytes = peak_megabytes(lambda: anonymize_baskets(baskets, KMAnonymity(5, 3), "coat"))
    rows.append(["memory of coat, m=3", "2,000 MB", f"{megabytes:.0f} MB", verdict(megabytes, 2000)])
    rows.append(ratio(baskets))
    print_table(["what", "target", "measured", ""], rows)


def ratio(baskets: Baskets) -> list[object]:
    """Compare with counting all pairs anew, in plain Python, before every merge."""
    kept = np.argsort(-baskets.supports, kind="stable")[:40]
    sets = [
        frozenset(baskets.codes[baskets.starts[b] : baskets.starts[b + 1]].tolist()) & set(kept.tolist())
        for b in records(baskets)[:2000]
    ]
    sample = baskets_of([[f"i{i:05}" for i in record] for record in sets if record])
    rows = [frozenset(sample.basket(int(b))) for b in records(sample)]
    own, release = seconds(lambda: anonymize_baskets(sample, KMAnonymity(25, 2), "coat"))
    theirs, parts = seconds(lambda: plain_coat(rows, sample.items, 25))
    assert {frozenset(sample.items[i] for i in members) for members in release.recoding.members} == parts
    return ["coat to plain Python, 40 items, 2,000 records, k=25", "", f"{theirs / own:.0f}x", "same parts"]


def plain_coat(rows: list[frozenset[str]], items: tuple[str, ...], k: int) -> set[frozenset[str]]:
    part = {item: frozenset([item]) for item in items}
    while True:
        counts: dict[tuple[frozenset[str], ...], int] = {}
        for row in rows:
            shown = sorted({part[item] for item in row}, key=min)
            for own in [(one,) for one in shown] + list(combinations(shown, 2)):
                counts[own] = counts.get(own, 0) + 1
        rare = [own for own, count in counts.items() if count < k]
        if not rare:
            return set(part.values())
        wanted = min(rare, key=lambda own: (k - counts[own], len(own), [min(one) for one in own]))
        names = [min(one) for one in wanted]
        while True:
            present = {part[name] for name in names}
            if sum(all(one & row for one in present) for row in rows) >= k:
                break
            seed = min(present, key=lambda one: (sum(bool(one & row) for row in rows), len(one), min(one)))
            prices = []
            for other in set(part.values()) - {seed}:
                union = sum(bool((seed | other) & row) for row in rows)
                prices.append(((2 ** len(seed | other) - 1) * union, union, min(other), other))
            merged = seed | min(prices)[3]
            part.update(dict.fromkeys(merged, merged))


def workload(baskets: Baskets, seed: int, number: int = 1000) -> np.ndarray:
    """Draw pairs of items: a random record with two or more, then two of its items."""
    random = np.random.default_rng(seed)
    every = records(baskets)
    drawn = []
    for own in random.choice(every[baskets.lengths[every] > 1], number):
        drawn.append(random.choice(baskets.codes[baskets.starts[own] : baskets.starts[own + 1]], 2, replace=False))
    return np.sort(np.array(drawn), axis=1)


def pair_supports(starts: np.ndarray, codes: np.ndarray, weights: np.ndarray, width: int) -> Any:
    from scipy.sparse import csr_array

    shape = (len(starts) - 1, width)
    plain = csr_array((np.ones(len(codes)), codes, starts), shape=shape)
    weighted = csr_array((np.repeat(weights, np.diff(starts)).astype(float), codes, starts), shape=shape)
    return (plain.T @ weighted).tocsr()


def error(release: BasketRelease, queries: np.ndarray, actual: np.ndarray) -> float:
    """Mean relative error of pair counts; an item of a larger part is in a record that shows it with chance 1/2."""
    rows, recoding = release.recoded, release.recoding
    together = pair_supports(rows.starts, rows.codes, rows.weights, len(rows.labels))
    parts = recoding.parts[queries]
    chance = np.where(recoding.sizes[parts] == 1, 1.0, 0.5).prod(axis=1)
    estimate = chance * np.array([together[a, b] for a, b in parts])
    return float(np.mean(np.abs(actual - estimate) / actual))


def utility(named: dict[str, Baskets]) -> None:
    header = ["strategy", *(f"{name}, k={k}" for name in named for k in (5, 25))]
    table: dict[str, list[object]] = {maker: [maker] for maker in (*STRATEGIES, "aa")}
    for baskets in named.values():
        exact = pair_supports(baskets.starts, baskets.codes, baskets.weights, len(baskets.items))
        drawn = [workload(baskets, seed) for seed in range(5)]
        actual = [np.array([exact[a, b] for a, b in queries]) for queries in drawn]
        for k in (5, 25):
            for maker, row in table.items():
                release = anonymize_baskets(baskets, KMAnonymity(k, 2), maker)
                found = [error(release, queries, real) for queries, real in zip(drawn, actual, strict=True)]
                row.append(f"{np.mean(found):.2f}")
    print_table(header, list(table.values()))


def million() -> None:
    """A million baskets over 2,000 items with a skew like that of shops."""
    random = np.random.default_rng(1)
    lengths = 1 + random.poisson(4, 1_000_000)
    codes = (2000 * random.random(int(lengths.sum())) ** 2.5).astype(np.int32)
    taken, baskets = seconds(lambda: coded_baskets(tuple(f"i{i:04}" for i in range(2000)), lengths, codes))
    rows = [["one million baskets, read", f"{taken:.1f} s", f"{baskets.distinct:,} distinct"]]
    for maker in ("aa", "coat", "pcta"):
        taken, release = seconds(lambda maker=maker: anonymize_baskets(baskets, KMAnonymity(5, 2), maker))
        rows.append([f"{maker}, k=5, m=2, verified", f"{taken:.1f} s", f"{release.recoding.size} parts"])
    print_table(["a million", "time", ""], rows)


def shop(only: str | None) -> None:
    """The synthetic shop (`retail.py`): every maker within its time and memory, making and measuring apart."""
    baskets = baskets_of(retail(), origin="retail")
    small = load_small()
    rows = []
    for maker, requirement, target in shop_tasks():
        if only is not None and only not in f"{maker}, {requirement}":
            continue
        measure_baskets(anonymize_baskets(small, requirement.replace("k=5", "k=2"), maker))
        made: dict[str, Any] = {}

        def job(maker: str = maker, requirement: str = requirement, made: dict[str, Any] = made) -> None:
            made["making"], release = seconds(lambda: anonymize_baskets(baskets, requirement, maker))
            made["measuring"], measured = seconds(lambda: measure_baskets(release))
            made["parts"], made["ncp"] = len(release.labels), measured["ncp"]

        megabytes = peak_megabytes(job)
        taken = made["making"] + made["measuring"]
        rows.append(
            [
                f"{maker}, {requirement}",
                f"{target} s, 1,000 MB",
                f"{made['making']:.1f} + {made['measuring']:.1f} s, {megabytes:.0f} MB",
                f"{verdict(max(taken / target, megabytes / 1000), 1)}",
                f"{made['parts']:,} parts, NCP {made['ncp']:.4f}",
            ]
        )
        print(rows[-1], flush=True)
    print_table(["retail: 90,000 baskets, 16,000 items", "target", "making + measuring", "", "what"], rows)


def shop_tasks() -> list[tuple[str, str, int]]:
    makers = ("aa", "lra", "vpa", "coat", DEFAULT_MAKER, "pcta", "upcta")
    tasks = [(maker, f"km-anonymity k=5 m={m}", target) for m, target in ((2, 15), (3, 60)) for maker in makers]
    return [("partition", "k-anonymity k=5", 15), *tasks]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, help="the folder of bms_webview_2.dat.gz and the others")
    options.add_argument("--only", choices=["speed", "utility", "million", "retail"])
    options.add_argument("--maker", help="of retail: only rows that contain this text")
    given = options.parse_args()
    warm_up()
    if given.only in (None, "retail"):
        shop(given.maker)
    if given.only == "retail":
        return
    named = {"online-retail": load_baskets("online-retail")}
    if given.data is not None:
        files = {"BMS-WebView-2": "bms_webview_2.dat.gz", "groceries": "groceries.tsv.gz"}
        files["ICD-9"] = "uci_diabetes130_icd9_by_patient.dat.gz"
        named = {**{name: read_baskets(given.data / file) for name, file in files.items()}, **named}
    if given.only in (None, "speed"):
        speed(next(iter(named.values())))
    if given.only in (None, "million"):
        million()
    if given.only in (None, "utility"):
        utility(named)


if __name__ == "__main__":
    main()
