"""Exploring: candidates become points, which are kept; and the folder they are read back from."""
