"""Guessing what the columns of a table are: by their names and by what their values look like."""
