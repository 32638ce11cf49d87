"""Study, map, question."""
