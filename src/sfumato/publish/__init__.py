"""Leaving the house: publishing a release with its certificate, recoding new data, auditing any published file.

Publishing what was made elsewhere: the file as it is, and a certificate of what could be confirmed.

Tables with a set-valued column on their way out, and the audit of such files, whoever made them.

Publishing records in place of records: perturbed or synthetic ones, of our own makers.

Publishing differentially private releases: drawn afresh, with their own certificate.

Publishing baskets: the file, its certificate, its audit.
"""
