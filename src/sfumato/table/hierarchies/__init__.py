"""Hierarchies: the value, and the ways to one: declared by a person, or made of the values that occur."""
