"""Publishing differentially private releases: drawn afresh, with their own certificate."""
