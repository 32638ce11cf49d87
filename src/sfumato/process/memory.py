"""What the shell allows of memory (`ulimit -v`): told before work begins, where native code would only abort.

Numpy, LLVM, Arrow and DuckDB end the process when a thread or a library finds no room, without a word of ours. So below
what they need to be loaded at all nothing is begun, and under any limit they get few threads.
"""

from __future__ import annotations

import os

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


def _gigabytes(size: int) -> str:
    return f"{size / (1 << 30):.3g} GB"
