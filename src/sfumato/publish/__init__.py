"""Leaving the house: publishing a release with its certificate, recoding new data, auditing any published file.

Tables with a set-valued column on their way out, and the audit of such files, whoever made them.

Publishing baskets: the file, its certificate, its audit.
"""
