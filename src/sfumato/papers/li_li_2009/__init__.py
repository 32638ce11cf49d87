"""Li & Li 2009: figures 2 and 3, and the frontier under them."""
