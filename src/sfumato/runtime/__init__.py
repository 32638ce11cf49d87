"""Threads of ours: how many there are, who may stop them, and what they do once for all.

The process we are: what the shell allows it, how it is stopped, where its output goes.
"""

__all__ = ["Crew", "Once", "together", "workers"]
