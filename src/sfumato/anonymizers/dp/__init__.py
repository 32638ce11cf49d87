"""Differentially private records: a model of all columns is estimated from noisy marginals, and records are drawn.

Differential privacy: what a mechanism is, its noise and its account, and the mechanisms, one file each.
"""
