"""The same walk for tables with a set-valued column: a patient is a row of demographics and a set of codes.

    patients = sfumato.read_mixed("patients.csv", quasi=["age", "sex"], items="codes", tree="icd.csv")
    release = sfumato.anonymize_mixed(patients, "k-km-anonymity k=5 m=2", merge="rt-merge bound=0.3")
    sfumato.write_mixed(release, "published.csv")

Importing this room imports no maker: the audit, which shares nothing with makers, reads its requirements.
"""
# mypy: implicit-reexport

from sfumato.mixed.policy import KKMAnonymity, MixedRequirement, mixed_requirement
