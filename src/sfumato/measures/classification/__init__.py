"""Learning a column from a release: the workload, its classifiers, and what that is worth."""
