"""Hierarchies of columns: as trees, as intervals on a histogram, and every way to change them."""
