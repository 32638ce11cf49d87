"""Exchange: the algorithm (`exchange`), its regions, the plan, and how records are dealt out by it."""
