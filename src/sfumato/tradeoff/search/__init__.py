"""Searching for releases: over cut vectors (NSGA-II, exact), and over the parameters of all makers (a budget)."""
