"""The release value, and writing it."""
