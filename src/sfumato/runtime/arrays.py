"""Types of arrays by their content, and the representation of values without records.

A notebook saves everything that it displays. So a class lists in `public_fields` the fields that are public; all
others are hidden, including later ones.
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray


class RedactedRepr:
    """Base of dataclasses (with `repr=False`) that contain records, values of records, or measures of them."""

    public_fields: ClassVar[tuple[str, ...]] = ()
    """The fields in the representation."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.public_fields)
        return f"<{type(self).__name__}{': ' if fields else ''}{fields}>"


Codes = NDArray[np.int32]
"""Indices of values in a list, such as the leaves of a hierarchy."""

Counts = NDArray[np.int64]
"""Counts; also indices of long arrays."""

Numbers = NDArray[np.float64]
"""Measures, shares, weights."""

Flags = NDArray[np.bool_]
"""Yes or no."""
