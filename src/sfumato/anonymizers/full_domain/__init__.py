"""Full-domain recoding: the algorithm (`full_domain`), the lattice and how it is searched."""
