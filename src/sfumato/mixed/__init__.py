"""The same walk for tables with a set-valued column: a patient is a row of demographics and a set of codes."""
# mypy: implicit-reexport

from sfumato.mixed.policy import KKMAnonymity, MixedRequirement, mixed_requirement
