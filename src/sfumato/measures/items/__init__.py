"""Measures of items."""
