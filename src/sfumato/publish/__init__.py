"""Leaving the house: publishing a release with its certificate, and auditing any published file."""
