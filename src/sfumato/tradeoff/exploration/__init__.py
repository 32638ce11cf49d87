"""Exploration: measuring candidates, keeping points, and reading the folder."""
