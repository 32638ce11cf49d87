"""The audit of any published file: its own reading, counting, measures and decisions."""
