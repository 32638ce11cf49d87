"""Values that the world has put in order already: diagnoses, countries, education; facts, and no prose of others.

Hierarchies: the value, and the ways to one: declared by a person, or made of the values that occur.
"""
