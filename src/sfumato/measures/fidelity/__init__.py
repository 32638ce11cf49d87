"""The fidelity of a release to its original: marginals, associations, models, and whether a classifier can separate
the two."""
