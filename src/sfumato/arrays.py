"""Arrays by what is in them: the few kinds that the whole house is made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
"""Places of values in a list of them, such as the leaves of a hierarchy."""

Counts = NDArray[np.int64]
"""How many; also places in long arrays."""

Numbers = NDArray[np.float64]
"""Measures, shares, weights."""

Flags = NDArray[np.bool_]
"""Yes or no."""
