"""Values that the world has put in order already: diagnoses, countries, education; facts, and no prose of others."""
