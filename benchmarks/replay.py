"""The searches of `instrument.py` with every release made once: what a change of the tuner is worth, without the noise.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/replay.py [--source adult] [--pairs k,loss] [--makers mondrian,exchange]
     [--seconds 60] [--seed 1] [--kept kept.db]

Every release's point and its processor time are kept from when it was first made (after another of its kind, so that
nothing compiles). A search takes them from there: its clock is the processor time that it uses itself, deciding and
searching cuts, and what its releases took then. So runs can be compared though the machine is busy, and again costs a
tenth. Both forms of the same groups share finding them: what is kept of the second is what it took beside the first.
"""

from __future__ import annotations

import argparse
import math
import pickle
import re
import sqlite3
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from common import print_table
from instrument import OURS, PAIRS, Place, cost, hypervolume
from sfumato.tradeoff.exploration import explore as exploration
from sfumato.tradeoff.search import tuner
from sfumato.tradeoff.study import study as studies
from sfumato.tradeoff.study.grids import ends
from sfumato.tradeoff.study.search_plan import SearchPlan

SHARES = (0.25, 0.5, 0.75, 1.0)
"""Of the seconds: when the hypervolume is taken."""

Found = list[tuple[float, Place]]
"""What a search found, each with the second at which it knew."""


class Replay:
    """A study whose releases are made once, and a clock that goes as if they were made every time."""

    def __init__(self, source: str, seed: int, kept: Path) -> None:
        self.source, self.seed = source, seed
        self.rows = sqlite3.connect(kept, timeout=60, isolation_level=None)
        key = "source, seed, candidate"
        self.rows.execute(f"CREATE TABLE IF NOT EXISTS kept ({key}, seconds, point, PRIMARY KEY ({key}))")
        study = studies.of_table(studies.read_study(source))
        self.study = replace(study, grids=ends()).with_seed(seed)
        self.table, self.other = self.study.table.open(), self.study.table.open()
        self.measure, self.warm_up = (self._measuring(table) for table in (self.table, self.other))
        self.known_kinds: set[object] = set()
        self.ahead = 0.0  # seconds that the clock is ahead of the processor's

    def _measuring(self, table: Any) -> Any:
        return exploration.Exploration(self.study, None, 1, table)._measure

    def clock(self) -> float:
        """Return the processor time as if every release had been made."""
        return time.process_time() + self.ahead

    def point(self, candidate: Any) -> Any:
        """Return the point of a candidate, and let the clock go on by what it took when it was made."""
        began, key = time.process_time(), (self.source, self.seed, str(candidate))
        where = "source = ? AND seed = ? AND candidate = ?"
        row = self.rows.execute(f"SELECT seconds, point FROM kept WHERE {where}", key).fetchone()
        if row is None:
            maker = re.sub(r"[\d.]+", "", str(candidate.anonymizer))  # `cut=loss` has machine code of its own
            kind = maker, str(candidate.requirement.parts[0].name), candidate.form
            if kind not in self.known_kinds:
                self.known_kinds.add(kind)
                self.warm_up(candidate)
            started = time.process_time()
            point = self.measure(candidate)
            row = time.process_time() - started, zlib.compress(pickle.dumps(point))
            self.rows.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?)", (*key, *row))
        self.ahead += row[0] - (time.process_time() - began)
        return pickle.loads(zlib.decompress(row[1]))

    def searched(self, pair: tuple[str, str], maker: str, seconds: float) -> Found:
        """Search as `explore --budget` does, with all makers or with one; return what was found when."""
        study = replace(self.study, axes=pair, search=SearchPlan(makers=(maker,)) if maker else None)
        found: Found = []
        started = self.clock()

        def measured(work: Any, candidates: Any, ends: float | None = None) -> Iterator[tuple[Any, Any]]:
            for candidate in candidates:
                if ends is not None and self.clock() >= ends:
                    return
                point = self.point(candidate)
                if not point.is_baseline and point.has(pair):
                    place = cost(pair[0], point.measures[pair[0]]), cost(pair[1], point.measures[pair[1]])
                    found.append((self.clock() - started, place))
                yield candidate, point

        exploration.Exploration.measured = measured  # type: ignore[method-assign]
        tuner.time = SimpleNamespace(monotonic=self.clock)  # type: ignore[assignment]
        tuner.tune(study, seconds, workers=1, table=self.table)
        return found


def compare(replay: Replay, pair: tuple[str, str], makers: list[str], seconds: float) -> None:
    """Print the hypervolumes of all makers together and of each alone, in the frame of all of them, as time goes by."""
    runs = {maker or OURS: replay.searched(pair, maker, seconds) for maker in ("", *makers)}
    every = [place for found in runs.values() for _, place in found]
    low, high = (
        (min(x for x, _ in every), min(y for _, y in every)),
        (max(x for x, _ in every), max(y for _, y in every)),
    )
    moments = [share * seconds for share in SHARES]
    ends = [*moments[:-1], math.inf]  # what was begun before time was up counts
    rows = [
        (name, len(found), *(f"{hypervolume([p for t, p in found if t <= end], low, high):.5f}" for end in ends))
        for name, found in runs.items()
    ]
    print(f"{pair[0]} and {pair[1]} of {replay.source}, seed {replay.seed}: {time.strftime('%Y-%m-%d %H:%M')}\n")
    print_table(["run", "releases", *(f"{end:g} s" for end in moments)], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default="adult")
    parser.add_argument("--pairs", default=" ".join(map(",".join, PAIRS)), help="pairs of axes, such as k,loss")
    parser.add_argument("--makers", default="mondrian,exchange", help="the single makers to hold it against")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kept", type=Path, default=Path("kept.db"), help="where releases are kept; private")
    chosen = parser.parse_args()
    replayed = Replay(chosen.source, chosen.seed, chosen.kept)
    for first, second in (pair.split(",") for pair in chosen.pairs.split()):
        compare(replayed, (first, second), chosen.makers.split(","), chosen.seconds)
