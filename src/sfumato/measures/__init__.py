"""What we say of a release.

How risky a table is as it stands: groups, subsets of the quasi-identifiers, households, the population.

What we say of a release of baskets: counts of itemsets, losses, queries, attacks, and the proof.

What is said of a release of a table with items: both sides, and both together.
"""
