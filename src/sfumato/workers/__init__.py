"""Threads of ours: how many there are, and who may stop them."""

from sfumato.workers.crew import Crew, side_by_side, workers

__all__ = ["Crew", "side_by_side", "workers"]
