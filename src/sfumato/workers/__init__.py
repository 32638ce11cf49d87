"""Threads of ours: how many there are, and who may stop them."""

from sfumato.workers.crew import Crew, together, workers

__all__ = ["Crew", "together", "workers"]
