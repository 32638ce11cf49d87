"""What is said of a release of a table with items: both sides, and both together."""
