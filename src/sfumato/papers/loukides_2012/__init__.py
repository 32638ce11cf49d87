"""Loukides et al. 2012: the worked example, the maps, the claims."""
