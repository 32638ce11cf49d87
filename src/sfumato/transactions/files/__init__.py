"""Baskets from files and into files: lines, rows, lists, trees of items, and the bundled ones."""
