"""Leaving the house: publishing a release with its certificate, recoding new data, auditing any published file."""

from sfumato.publish.applied import apply as apply
from sfumato.publish.audit.audit import Audit as Audit
from sfumato.publish.audit.audit import audit as audit
from sfumato.publish.baskets.audit import BasketAudit as BasketAudit
from sfumato.publish.baskets.audit import audit_baskets as audit_baskets
from sfumato.publish.certificate import certificate_files as certificate_files
from sfumato.publish.certificate import read_certificate as read_certificate
from sfumato.publish.leaving import publish as publish
from sfumato.publish.mapping import mapping_of as mapping_of
from sfumato.publish.mapping import read_mapping as read_mapping
from sfumato.publish.mixed.audit import MixedAudit as MixedAudit
from sfumato.publish.mixed.audit import audit_mixed as audit_mixed
from sfumato.publish.publication import publish_point as publish_point
