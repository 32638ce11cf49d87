"""One catalogue of everything that is said to people."""
