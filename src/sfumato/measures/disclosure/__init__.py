"""How risky a table is as it stands: groups, subsets of the quasi-identifiers, households, the population."""
