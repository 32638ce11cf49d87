"""Leaving the house: the audit of any published file."""

from sfumato.publish.audit import Audit, WorstGroup, audit

__all__ = ["Audit", "WorstGroup", "audit"]
