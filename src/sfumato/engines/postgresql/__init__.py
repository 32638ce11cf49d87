"""PostgreSQL: the server counts, and published rows stream through Arrow into the writer."""
