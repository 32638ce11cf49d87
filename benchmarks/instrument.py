"""One instrument: the hypervolume of `explore --budget` against single makers, the cuts alone and the former tuner.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/instrument.py [--seconds 60] [--seeds 5] [--former /path/to/older/src]
     [--makers mondrian,exchange] [--pairs k,loss]

All get the same seconds of processor time (one thread, machine code compiled), start from the same study (the trivial
release and the original), and are held against each other in one frame per pair of axes: the ends of all points of that
pair, k by its logarithm. The hypervolume is worked out here, by its definition, from the measures on the maps. A single
maker is the same search with that maker alone; `cuts alone` is the preset `dewri` on these axes. Where queries are an
axis, they are drawn by the seed, so there every run is held against the others of its own seed; elsewhere single makers
and the former tuner are run with the first seed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from common import print_table, verdict

PAIRS = (("k", "loss"), ("p_loss", "u_loss"), ("a_know", "query_error"))
HIGHER = ("k",)
MAKERS = ("mondrian", "hilbert", "full-domain", "local-recoding", "exchange", "sabre", "burel", "anatomy", "cut-vector")
Place = tuple[float, float]
Run = tuple[str, int]
OURS = "all makers"

RUN = """
import json, sys, time
from types import SimpleNamespace
source, first, second, maker, seconds, seed = sys.argv[1:7]
import sfumato.tradeoff.exploration.explore as exploration
import sfumato.tradeoff.search.tuner as tuner
from dataclasses import replace
from sfumato.tradeoff.study import study as studies
given = studies.of_table(studies.read_study(source))
given = replace(given, grids=studies.ends(), axes=(first, second)).with_seed(int(seed))
if maker:
    from sfumato.tradeoff.study.search_plan import SearchPlan
    given = replace(given, search=SearchPlan(makers=(maker,)))
table = given.table.open()
table.cells
tuner.tune(given, tries=8, workers=1, table=table)  # machine code
clock = SimpleNamespace(monotonic=time.process_time, perf_counter=time.perf_counter, sleep=time.sleep)
import sfumato.runtime.threads as crew
tuner.time = exploration.time = crew.time = clock
started = time.process_time()
map_ = tuner.tune(given, float(seconds), workers=1, table=table)
points = [[p.measures[first], p.measures[second]] for p in map_.points
          if p.status == "measured" and not p.is_baseline and first in p.measures and second in p.measures]
print(json.dumps({"spent": time.process_time() - started, "points": points}))
"""


def ran(source: str, pair: Place | tuple[str, str], maker: str, seconds: float, seed: int, path: str) -> list[Place]:
    """Search in a process of its own; return the costs of all releases it has found."""
    environment = os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", RUN, source, *map(str, pair), maker, str(seconds), str(seed)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
        return []
    return [
        (cost(pair[0], point[0]), cost(pair[1], point[1]))
        for point in json.loads(done.stdout.splitlines()[-1])["points"]
        if all(map(math.isfinite, point))
    ]


def cost(name: object, value: float) -> float:
    """Lower is better; k by its logarithm."""
    return -math.log(value) if name in HIGHER else value


def hypervolume(places: Sequence[Place], low: Place, high: Place) -> float:
    """Return which part of the box from the best corner to the worst is dominated, by definition: strip by strip."""
    xs = sorted({min(max(x, low[0]), high[0]) for x, _ in places} | {high[0]})
    covered = 0.0
    for left, right in pairwise(xs):
        lowest = min((y for x, y in places if x <= left), default=high[1])
        covered += (right - left) * max(high[1] - max(lowest, low[1]), 0.0)
    return covered / ((high[0] - low[0]) * (high[1] - low[1]))


def held(pair: tuple[str, str], runs: dict[Run, list[Place]]) -> dict[Run, float]:
    """Return the hypervolume of every run in the frame of all of them."""
    every = [place for places in runs.values() for place in places]
    low = min(x for x, _ in every), min(y for _, y in every)
    high = max(x for x, _ in every), max(y for _, y in every)
    return {name: hypervolume(places, low, high) for name, places in runs.items()}


def compare(
    source: str, seconds: float, seeds: int, former: str, makers: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> None:
    """Print the hypervolumes of each pair of axes."""
    here = str(Path(__file__).resolve().parents[1] / "src")
    for pair in pairs:
        queried = "query_error" in pair
        runs = {}
        for seed in range(1, seeds + 1):
            runs[OURS, seed] = ran(source, pair, "", seconds, seed, here)
            if queried or seed == 1:
                runs |= {(maker, seed): ran(source, pair, maker, seconds, seed, here) for maker in makers}
                if former:
                    runs["former tuner", seed] = ran(source, pair, "", seconds, seed, former)
        frames = [[key for key in runs if key[1] == seed] for seed in range(1, seeds + 1)] if queried else [list(runs)]
        reached = {key: value for keys in frames for key, value in held(pair, {key: runs[key] for key in keys}).items()}
        print(f"{pair[0]} and {pair[1]}: {time.strftime('%Y-%m-%d %H:%M')}\n")
        rows = [(name, seed, len(runs[name, seed]), f"{value:.5f}") for (name, seed), value in reached.items()]
        print_table(["run", "seed", "releases", "hypervolume"], rows)
        for keys in frames:
            least = min(reached[key] for key in keys if key[0] == OURS)
            best = max(reached[key] for key in keys if key[0] != OURS)
            print(f"the least of ours {least:.5f}, the best other {best:.5f}: {verdict(least, best, at_least=True)}")
        print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default="adult")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--former", default="", help="the src folder of an older checkout")
    parser.add_argument("--makers", default=",".join(MAKERS), help="the single makers to hold it against")
    parser.add_argument("--pairs", default=" ".join(map(",".join, PAIRS)), help="pairs of axes, such as k,loss")
    chosen = parser.parse_args()
    axes = [(first, second) for first, second in (pair.split(",") for pair in chosen.pairs.split())]
    compare(chosen.source, chosen.seconds, chosen.seeds, chosen.former, chosen.makers.split(","), axes)
