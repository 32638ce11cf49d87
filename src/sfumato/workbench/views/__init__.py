"""One file per page: what it shows as plain values, and the endpoints that belong to it."""
