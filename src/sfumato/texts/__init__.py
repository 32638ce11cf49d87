"""Texts for people."""
