"""A small table whose cut vectors can all be looked at: numbers, two values, a tree, and an illness."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.data.hierarchies.categorical import flat, tree
from sfumato.data.hierarchies.numeric import numeric
from sfumato.data.reading import read


def small_table(seed=5, records=90):
    generator = np.random.default_rng(seed)
    rows = {
        "age": generator.integers(20, 26, records).tolist(),
        "sex": generator.choice(["f", "m"], records).tolist(),
        "town": generator.choice(["a", "b", "c", "d"], records, p=[0.4, 0.3, 0.2, 0.1]).tolist(),
        "illness": generator.choice(["flu", "cold", "cough"], records).tolist(),
    }
    domains = {
        "age": numeric(20, 25),
        "sex": flat(["f", "m"]),
        "town": tree([["North", "a", "b"], ["South", "c", "d"]]),
    }
    return read(pa.table(rows), quasi=["age", "sex", "town"], sensitive=["illness"], hierarchies=domains)
