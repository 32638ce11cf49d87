"""The one door to Vega, which draws our charts in V8.

V8 uses little memory, but reserves addresses for 70 GB, and where a shell allows fewer (ulimit -v) it ends the process
without a word. So room is looked for before anything is drawn, and whoever draws can go on without the picture.
"""

from __future__ import annotations

from sfumato.errors import BadInputError
from sfumato.process.memory import allowed_bytes

RESERVED = 70_000_000_000
"""Bytes of addresses that V8 reserves; 67.4 GB were seen (vl-convert 1, Linux)."""

NO_ROOM = (
    f"drawing reserves addresses for {RESERVED // 10**9} GB, though it uses little memory, and this shell allows fewer "
    "(ulimit -v): raise that limit and give the same command again"
)


class NoRoomError(BadInputError):
    """Nothing can be drawn, because the shell allows too few addresses."""


def need_room() -> None:
    """Refuse to draw where it would end the process."""
    allowed = allowed_bytes()
    if allowed is not None and allowed < RESERVED:
        raise NoRoomError(NO_ROOM)


def as_png(specification: str, scale: float) -> bytes:
    """Draw a Vega-Lite specification as a PNG."""
    need_room()
    from vl_convert import vegalite_to_png

    drawn: bytes = vegalite_to_png(specification, scale=scale)
    return drawn


def as_svg(specification: str) -> str:
    """Draw a Vega-Lite specification as an SVG."""
    need_room()
    from vl_convert import vegalite_to_svg

    drawn: str = vegalite_to_svg(specification)
    return drawn


def libraries(snippet: str) -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that ends in a snippet."""
    need_room()
    from vl_convert import javascript_bundle

    bundled: str = javascript_bundle(snippet)
    return bundled
