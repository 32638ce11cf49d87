"""How much memory the shell allows (ulimit -v), which neither DuckDB nor what draws our charts looks at."""

from __future__ import annotations


def address_space() -> int | None:
    """Return how many bytes a process may have addresses for; None where nothing limits it."""
    try:
        import resource  # not on every system
    except ImportError:
        return None
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if allowed == resource.RLIM_INFINITY else allowed
