"""Who makes releases of baskets: one file per algorithm."""
