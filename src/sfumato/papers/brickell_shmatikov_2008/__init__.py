"""Brickell & Shmatikov 2008: figures 1 to 4, tables 2 and 3."""
