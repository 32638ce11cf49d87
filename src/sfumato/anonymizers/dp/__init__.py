"""Differential privacy: what a mechanism is, its noise and its account, and the mechanisms, one file each."""
