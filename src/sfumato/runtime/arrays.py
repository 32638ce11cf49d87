"""Arrays by what is in them: the few kinds that the whole house is made of.

What a value says of itself: nothing of records, since a notebook keeps whatever is displayed in it.

A class names in `spoken` the fields that may be seen by everybody; all others stay inside, whatever is added later.
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray


class Quiet:
    """Base of dataclasses (with `repr=False`) that hold records, values of records, or what was measured of them."""

    spoken: ClassVar[tuple[str, ...]] = ()
    """The fields that a representation shows."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.spoken)
        return f"<{type(self).__name__}{': ' if fields else ''}{fields}>"


Codes = NDArray[np.int32]
"""Places of values in a list of them, such as the leaves of a hierarchy."""

Counts = NDArray[np.int64]
"""How many; also places in long arrays."""

Numbers = NDArray[np.float64]
"""Measures, shares, weights."""

Flags = NDArray[np.bool_]
"""Yes or no."""
