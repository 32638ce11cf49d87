"""What a value says of itself: nothing of records, since a notebook keeps whatever is displayed in it.

A class names in `spoken` the fields that may be seen by everybody; all others stay inside, whatever is added later.
"""

from __future__ import annotations

from typing import ClassVar


class Quiet:
    """Base of dataclasses (with `repr=False`) that hold records, values of records, or what was measured of them."""

    spoken: ClassVar[tuple[str, ...]] = ()
    """The fields that a representation shows."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.spoken)
        return f"<{type(self).__name__}{': ' if fields else ''}{fields}>"
