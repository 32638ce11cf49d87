"""How a request can end without an answer: each with a sentence, and the status of HTTP that says its kind."""

from __future__ import annotations

from sfumato.errors import BadInputError, InfeasibleError, SfumatoError


class MissingError(SfumatoError):
    """What was asked for is not there."""


class ConflictError(SfumatoError):
    """It cannot be done just now: something else is under way, or has changed since."""


class RefusedError(SfumatoError):
    """Whoever asks may not."""


STATUS: dict[type[SfumatoError], int] = {
    MissingError: 404,
    ConflictError: 409,
    RefusedError: 403,
    InfeasibleError: 422,
    BadInputError: 422,
}
"""By kind of error, the status that a browser is told."""


def status_of(error: SfumatoError) -> int:
    """Return the status of HTTP for an error of ours."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 422)
