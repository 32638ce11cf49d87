"""Leaving the house: publishing a release with its certificate, recoding new data, auditing any published file."""

from sfumato.publish.applied import Applied, LeftOut, apply
from sfumato.publish.audit.audit import Audit, audit
from sfumato.publish.audit.question import WorstGroup
from sfumato.publish.baskets.audit import BasketAudit, audit_baskets
from sfumato.publish.certificate import certificate_files, read_certificate
from sfumato.publish.leaving import Leaving, Publication, publish
from sfumato.publish.mapping import Mapping, mapping_of, read_mapping
from sfumato.publish.publication import publish_point

__all__ = [
    "Applied",
    "Audit",
    "BasketAudit",
    "Leaving",
    "LeftOut",
    "Mapping",
    "Publication",
    "WorstGroup",
    "apply",
    "audit",
    "audit_baskets",
    "certificate_files",
    "mapping_of",
    "publish",
    "publish_point",
    "read_certificate",
    "read_mapping",
]
