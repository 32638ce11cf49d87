"""Releases that were made elsewhere: a file, a frame, what a function makes."""
