"""Studies: a value that describes what to explore, its first draft, and a check of whether it would run."""
