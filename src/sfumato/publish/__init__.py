"""Leaving the house: publishing a release with its certificate, recoding new data, auditing any published file."""

from sfumato.publish.applied import Applied, LeftOut, apply
from sfumato.publish.audit.audit import Audit, audit
from sfumato.publish.audit.question import WorstGroup
from sfumato.publish.baskets.audit import BasketAudit, audit_baskets
from sfumato.publish.baskets.publication import BasketPublication
from sfumato.publish.certificate import certificate_files, read_certificate
from sfumato.publish.mapping import Mapping, mapping_of, read_mapping
from sfumato.publish.noisy.publication import NoisyPublication
from sfumato.publish.publication import Publication, publish_point

__all__ = [
    "Applied",
    "Audit",
    "BasketAudit",
    "BasketPublication",
    "LeftOut",
    "Mapping",
    "NoisyPublication",
    "Publication",
    "WorstGroup",
    "apply",
    "audit",
    "audit_baskets",
    "certificate_files",
    "mapping_of",
    "publish_point",
    "read_certificate",
    "read_mapping",
]
