"""Pages: HTML made of templates that escape whatever is handed to them.

What is said to people: of points, choices, verdicts, disagreements and checks, for tables and for baskets alike.

One catalogue of everything that is said to people.
"""

__all__ = ["drawing", "file", "in_script", "render", "source"]
