"""Where long work is: it names each step as it begins, to whoever listens, and may be stopped there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sfumato.process.interrupts import look

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@contextmanager
def told_to(listener: Callable[[str], None]) -> Iterator[None]:
    """Let somebody hear of every step of the work inside."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def step(name: str) -> None:
    """Say that a step begins; stop here, if whoever began this work wishes so.

    >>> heard: list[str] = []
    >>> with told_to(heard.append):
    ...     step("write")
    >>> heard
    ['write']
    """
    look()
    listener = _listener.get()
    if listener is not None:
        listener(name)
