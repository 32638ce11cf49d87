"""Local recoding: the algorithm (`local_recoding`), the sweep that begins it, the regrouping that ends it."""
