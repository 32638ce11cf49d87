"""Cormode et al. 2013: the study, its figures, the claims about single models and about maps."""
