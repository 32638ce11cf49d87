"""The attacks that the field agrees on, each with its baseline and an interval, on releases of every kind."""
