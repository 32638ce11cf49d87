"""What comes in: reading, roles, hierarchies, missing values, the table, its cells, the bundled data sets.

Guessing what the columns of a table are: by their names and by what their values look like.

Baskets from files and into files: lines, rows, lists, trees of items, and the bundled ones.
"""
