"""Perturbed and synthetic records."""
