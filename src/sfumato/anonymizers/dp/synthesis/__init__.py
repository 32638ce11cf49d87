"""Differentially private records: a model of all columns is estimated from noisy marginals, and records are drawn."""
