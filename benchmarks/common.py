"""What the benchmarks share: timing, peak memory, synthetic cells, a printed table.

Machines are noisy and shared, so a time is the median of several repeats after a warm-up, and what counts is a
ratio to a plain baseline of the same run.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sfumato.data.cells import Cells
    from sfumato.data.hierarchies.hierarchy import Hierarchy

DOMAINS = (100, 50, 20, 16, 10, 5)
"""Leaves of the synthetic quasi-identifiers."""

VALUES = 14
"""Values of the synthetic sensitive attribute, as many as Adult's occupation has."""


def median_seconds(job: Callable[[], Any], repeats: int = 7, warm_up: int = 1) -> float:
    """Return the median time of a job, after runs that are not counted."""
    for _ in range(warm_up):
        job()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        job()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def compare_seconds(own: Callable[[], Any], plain: Callable[[], Any], repeats: int = 7) -> tuple[float, float, float]:
    """Time two jobs in turns; return both medians and the median of the ratios plain / own."""
    pairs = []
    for _ in range(repeats):
        pairs.append((median_seconds(own, 1, 1), median_seconds(plain, 1, 1)))
    own_times, plain_times = zip(*pairs, strict=True)
    ratios = [theirs / ours for ours, theirs in pairs]
    return statistics.median(own_times), statistics.median(plain_times), statistics.median(ratios)


def peak_megabytes(job: Callable[[], Any]) -> float:
    """Return how far the memory of this process rises above its present level during a job (Linux only).

    Freed memory that the process still holds hides a rise, so call this in a fresh process; what is left is trimmed.
    """
    if not sys.platform.startswith("linux"):
        return float("nan")
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status("VmRSS")
    kept = job()
    peak = _status("VmHWM") - before
    del kept
    return peak / 1024


def _status(field: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


def synthetic_cells(n: int, domains: Sequence[int] = DOMAINS, values: int = VALUES, seed: int = 1) -> Cells:
    """Draw n distinct cells: quasi-identifiers skewed towards low codes, one sensitive attribute, counts from 1 on."""
    from sfumato.data.cells import Quasi, sorted_cells
    from sfumato.data.hierarchies.numeric import numeric

    sizes = [*domains, values]
    generator = np.random.default_rng(seed)
    keys, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    drawn = n
    while len(keys) < n:
        drawn += drawn // 4
        columns = [(size * generator.random(drawn) ** 1.5).astype(np.int64) for size in sizes]
        keys, counts = np.unique(np.ravel_multi_index(columns, sizes), return_counts=True)
    chosen = np.sort(generator.choice(len(keys), n, replace=False))
    codes = np.stack(np.unravel_index(keys[chosen], sizes), axis=1).astype(np.int32)
    quasi = [Quasi(f"q{i}", numeric(0, size - 1, 1)) for i, size in enumerate(domains)]
    return sorted_cells(quasi, [("s", _sensitive_tree(values))], codes, counts[chosen].astype(np.int64))


def _sensitive_tree(values: int) -> Hierarchy:
    """Build a hierarchy of two levels, up to five values under each node."""
    from sfumato.data.hierarchies.categorical import tree

    named = [f"v{i:03}" for i in range(values)]
    return tree([[f"node {start}", *named[start : start + 5]] for start in range(0, values, 5)])


def rowless(cells: Cells) -> Any:
    """Stand in for a table where only its cells are read, so that a release can be made without rows."""
    roles = SimpleNamespace(sensitive=tuple(attribute.name for attribute in cells.sensitive))
    return SimpleNamespace(cells=cells, roles=roles, shared=(), memberships=None, grown=(), fine={})


def forget_groups(cells: Cells) -> None:
    """Let the next release find its groups itself: one of the same requirement would be handed those of the last."""
    vars(cells).pop("once", None)


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table, so that results can be pasted into the README."""
    texts = [[str(entry) for entry in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(header))]
    texts.insert(1, ["-" * width for width in widths])
    for row in texts:
        print("| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |")
    print(flush=True)


def verdict(reached: float, target: float, at_least: bool = False) -> str:
    """Say whether a target is reached."""
    return "reached" if (reached >= target if at_least else reached <= target) else "MISSED"
