"""Threads of ours: how many there are, who may stop them, and what they do once for all."""

from sfumato.workers.crew import Crew, together, workers
from sfumato.workers.once import Once

__all__ = ["Crew", "Once", "together", "workers"]
