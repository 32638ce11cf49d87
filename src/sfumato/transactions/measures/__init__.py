"""What we say of a release of baskets: counts of itemsets, losses, queries, attacks, and the proof."""
