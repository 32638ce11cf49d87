"""The limit under a map, the tighter one for buckets, and the score of a frontier between them."""
