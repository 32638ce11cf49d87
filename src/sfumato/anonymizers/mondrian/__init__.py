"""Mondrian: the algorithm (`mondrian`), its kernels, cuts by a score, suppression, households."""
