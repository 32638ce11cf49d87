"""The two kinds of failing requests, each with one sentence for the user."""

import errno
from typing import Any


class SfumatoError(Exception):
    """Base of all errors with a sentence for the user; the command line prints it without a traceback."""

    exit_code = 2


class BadInputError(SfumatoError):
    """Invalid input: the sentence names file, column, value and the remedy (exit code 2)."""

    exit_code = 2


class StoppedError(SfumatoError):
    """The user stopped the work; finished results are kept (exit code 130, as in the shell)."""

    exit_code = 130
    map: Any = None
    """For an exploration: the map of the points measured so far, if any."""


class InfeasibleError(SfumatoError):
    """No release of this kind satisfies the requirement: names the failing part and a feasible value (exit code 1)."""

    exit_code = 1


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error means a lack of memory, as Python, the loader or the system report it."""
    text = str(error)
    return (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (isinstance(error, RuntimeError) and "can't start new thread" in text)
        or (isinstance(error, ImportError) and ("cannot allocate memory" in text or "failed to map segment" in text))
    )


def unforeseen(error: Exception, shown: bool = True) -> str:
    """Describe an unexpected error; its own message may contain data, and is included only if `shown`."""
    if lacks_memory(error):
        return (
            "there is not enough memory for this; close other programs, raise the limit (ulimit -v), work with fewer "
            "threads (--workers 1) or take a larger machine"
        )
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    words = f"{type(error).__name__}: {error}" if shown else type(error).__name__
    return f"this should not have happened ({words}): please report it, with what SFUMATO_DEBUG=1 prints"
