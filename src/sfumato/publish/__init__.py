"""Publishing a release with its certificate, recoding new data, and auditing any published file."""
