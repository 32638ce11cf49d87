"""The data set and how to read it."""
