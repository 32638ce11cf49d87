"""Releases that were made elsewhere: a file, a frame, what a program or a function makes."""
