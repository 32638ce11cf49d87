"""Searching for releases: over cut vectors (NSGA-II, exact), and over the parameters of all makers (within a time)."""
