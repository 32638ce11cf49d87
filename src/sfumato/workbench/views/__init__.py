"""Hierarchies of columns: as trees, as intervals on a histogram, and every way to change them.

One file per page: what it shows as plain values, and the endpoints that belong to it.
"""
