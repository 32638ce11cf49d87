"""How a request can end without an answer: each with a sentence, and the status of HTTP that says its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response

from sfumato.errors import BadInputError, SfumatoError
from sfumato.texts.catalogue import t
from sfumato.texts.html import render


class MissingError(SfumatoError):
    """What was asked for is not there."""

    status = 404


class ConflictError(SfumatoError):
    """It cannot be done just now: something else is under way, or has changed since."""

    status = 409


class RefusedError(SfumatoError):
    """Whoever asks may not."""

    status = 403


class TooLargeError(SfumatoError):
    """More was handed in than is taken."""

    status = 413


class FieldError(BadInputError):
    """What was handed in cannot be used, and the field of the form that is to blame is known."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field

    def __reduce__(self) -> tuple[type[FieldError], tuple[str, str]]:
        """Let it pass from one process to another."""
        return FieldError, (self.field, str(self))


def status_of(error: SfumatoError) -> int:
    """Return the status of HTTP for an error of ours: what was handed in cannot be used, unless it says otherwise."""
    return int(getattr(error, "status", 422))


def answer_of(error: SfumatoError) -> dict[str, Any]:
    """Return what is told of an error: its sentence, and the field it belongs to where that is known."""
    return {"error": str(error), **({"field": error.field} if isinstance(error, FieldError) else {})}


@contextmanager
def blamed(
    field: str | Callable[[str], str], kinds: tuple[type[SfumatoError], ...] = (BadInputError,)
) -> Iterator[None]:
    """Let an error name the field that is to blame, which may depend on its sentence."""
    try:
        yield
    except FieldError:
        raise
    except kinds as error:
        sentence = str(error)
        raise FieldError(field if isinstance(field, str) else field(sentence), sentence) from None


def refused(path: str, answer: dict[str, Any], status: int, inside: bool = True) -> Response:
    """Say why something was not answered: to a script as JSON, to a person as a page.

    Who is not inside has no way back to the projects.
    """
    if path.startswith("/api/"):
        return JSONResponse(answer, status)
    sentence = answer["error"] if answer["error"].endswith((".", "!", "?")) else f"{answer['error']}."
    return HTMLResponse(render("workbench/error.html", t=t, sentence=sentence, inside=inside), status)
