"""What comes out: the release value, and writing it."""
