"""Leaving the house: publishing a release with its certificate, recoding new data, auditing any published file."""

from sfumato.publish.applying import Applied, LeftOut, apply
from sfumato.publish.asking import WorstGroup
from sfumato.publish.audit import Audit, audit
from sfumato.publish.basket_audit import BasketAudit, audit_baskets
from sfumato.publish.basket_releasing import BasketPublication
from sfumato.publish.certificate import certificate_files, read_certificate
from sfumato.publish.mapping import Mapping, mapping_of, read_mapping
from sfumato.publish.noisy_releasing import NoisyPublication
from sfumato.publish.releasing import Publication, publish_point

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
