"""What there is: the bundled data, and everything that can be chosen."""
