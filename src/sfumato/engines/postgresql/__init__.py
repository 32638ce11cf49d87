"""PostgreSQL behind the protocol: the server counts, and what is published streams through Arrow into the writer."""
