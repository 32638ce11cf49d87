"""Dewri et al. 2011: the frontiers, their figures, the claims."""
