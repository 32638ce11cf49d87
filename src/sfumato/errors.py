"""The two ways a request can end without a release, each with one sentence for the person who asked."""

import errno
from typing import Any


class SfumatoError(Exception):
    """Base of all errors that carry a sentence for the user; the command line prints it without a traceback."""

    exit_code = 2


class BadInputError(SfumatoError):
    """Something that was handed in cannot be used: names file, column, value and the remedy (exit code 2)."""

    exit_code = 2


class StoppedError(SfumatoError):
    """The user stopped the work; what was done is kept (exit code 130, as the shell has it)."""

    exit_code = 130
    map: Any = None
    """Of an exploration: the map of what was measured before, as far as there is one."""


class InfeasibleError(SfumatoError):
    """No release of this kind satisfies the requirement: says which part fails and what would do (exit code 1)."""

    exit_code = 1


def lacks_memory(error: BaseException) -> bool:
    """Say whether something failed for want of memory, as Python, the loader or the system have it."""
    text = str(error)
    return (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (isinstance(error, RuntimeError) and "can't start new thread" in text)
        or (isinstance(error, ImportError) and ("cannot allocate memory" in text or "failed to map segment" in text))
    )


def unforeseen(error: Exception, shown: bool = True) -> str:
    """Say what went wrong that no room has a sentence for; its own words may hold data, and are `shown` or not."""
    if lacks_memory(error):
        return (
            "there is not enough memory for this; close other programs, raise the limit (ulimit -v), work with fewer "
            "threads (--workers 1) or take a larger machine"
        )
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    words = f"{type(error).__name__}: {error}" if shown else type(error).__name__
    return f"this should not have happened ({words}): please report it, with what SFUMATO_DEBUG=1 prints"
