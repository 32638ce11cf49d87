"""Makers of releases from which no sensitive item can be inferred: suppression, and generalization with suppression."""
