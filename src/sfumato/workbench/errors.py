"""How a request can end without an answer: each with a sentence, and the status of HTTP that says its kind."""

from __future__ import annotations

from sfumato.errors import BadInputError, InfeasibleError, SfumatoError


class MissingError(SfumatoError):
    """What was asked for is not there."""


class ConflictError(SfumatoError):
    """It cannot be done just now: something else is under way, or has changed since."""


class RefusedError(SfumatoError):
    """Whoever asks may not."""


class FieldError(BadInputError):
    """What was handed in under one name cannot be used: the sentence stands beside that field of a form."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


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


def told(error: SfumatoError) -> dict[str, str]:
    """Say an error as plain values: its sentence, and the field it belongs to."""
    return {"error": str(error)} | ({"field": error.field} if isinstance(error, FieldError) else {})
