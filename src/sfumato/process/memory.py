"""What the shell allows of memory (`ulimit -v`): told before work begins, where native code would only abort.

Numpy, LLVM, Arrow and DuckDB end the process when a thread or a library finds no room, without a word of ours. So below
what they need to be loaded at all nothing is begun, and under any limit they get few threads.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sfumato.errors import BadInputError

LEAST = 2 << 30
"""With less address space the libraries may abort while they are loaded; measured with a table of 40 rows."""

THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
"""Every further thread of a library takes address space when it is loaded, one for each core of the machine."""


def allowed_bytes() -> int | None:
    """Return how many bytes of address space the shell allows (`ulimit -v`), or None where it sets no limit."""
    try:
        import resource  # not on every system
    except ImportError:
        return None
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if allowed == resource.RLIM_INFINITY else allowed


def keep_within_limit() -> None:
    """Raise where the shell allows too little to begin; let libraries that are loaded later be modest under a limit."""
    allowed = allowed_bytes()
    if allowed is None:
        return
    if allowed < LEAST:
        raise BadInputError(
            f"there is not enough memory: the shell allows {_gigabytes(allowed)} of address space (ulimit -v), and "
            f"{_gigabytes(LEAST)} are needed before a table is read; raise the limit"
        )
    for name, value in THREADS.items():
        os.environ.setdefault(name, value)


UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)


def read_size(name: str, text: str) -> int:
    """Read a size in bytes as people write it, such as 4GB; a thousand is 1024 here."""
    match = SIZE.fullmatch(text.strip())
    if match is None or (size := int(float(match[1]) * UNITS[match[2].upper()])) <= 0:
        raise BadInputError(f"{name} must be a size such as 4GB or 500MB, not {text!r}")
    return size


def machine_bytes() -> int | None:
    """Return how much memory the machine has, or less where the container or the shell allows less; None: unknown."""
    sizes = [size for size in (allowed_bytes(), _installed(), _in_container()) if size is not None]
    return min(sizes, default=None)


def _installed() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _in_container() -> int | None:
    """Return the limit of the control group that this process runs in."""
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            return int(Path(name).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
    return None


def _gigabytes(size: int) -> str:
    return f"{size / (1 << 30):.3g} GB"
