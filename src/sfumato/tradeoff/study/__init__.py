"""Studies: what to explore, as a value; a first draft of one, and whether it would run."""
