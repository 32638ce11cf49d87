"""Errors of requests, each with a sentence and an HTTP status."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response

from sfumato.errors import BadInputError, SfumatoError
from sfumato.texts.catalogue import t
from sfumato.texts.html import render


class MissingError(SfumatoError):
    """The requested thing does not exist."""

    status = 404


class ConflictError(SfumatoError):
    """It is not possible at the moment: other work is running, or the study has changed."""

    status = 409


class RefusedError(SfumatoError):
    """Access is denied."""

    status = 403


class TooLargeError(SfumatoError):
    """The body is too large."""

    status = 413


class FieldError(BadInputError):
    """The body is invalid, and the invalid field is known."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field

    def __reduce__(self) -> tuple[type[FieldError], tuple[str, str]]:
        """Make it picklable for another process."""
        return FieldError, (self.field, str(self))


def status_of(error: SfumatoError) -> int:
    """Return the HTTP status of an error; 422 by default."""
    return int(getattr(error, "status", 422))


def answer_of(error: SfumatoError) -> dict[str, Any]:
    """Return an error as values: its sentence, and its field if known."""
    return {"error": str(error), **({"field": error.field} if isinstance(error, FieldError) else {})}


@contextmanager
def blamed(
    field: str | Callable[[str], str], kinds: tuple[type[SfumatoError], ...] = (BadInputError,)
) -> Iterator[None]:
    """Attach the invalid field to an error; the field may depend on the sentence."""
    try:
        yield
    except FieldError:
        raise
    except kinds as error:
        sentence = str(error)
        raise FieldError(field if isinstance(field, str) else field(sentence), sentence) from None


def refused(path: str, answer: dict[str, Any], status: int, inside: bool = True) -> Response:
    """Return an error answer: JSON for scripts, a page for people.

    A visitor without access gets no link to the projects.
    """
    if path.startswith("/api/"):
        return JSONResponse(answer, status)
    sentence = answer["error"] if answer["error"].endswith((".", "!", "?")) else f"{answer['error']}."
    return HTMLResponse(render("workbench/error.html", t=t, sentence=sentence, inside=inside), status)
