"""The independent check of any published file."""
