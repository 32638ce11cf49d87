"""Looking: the page a data steward reads, the picture of the map, and the folder they stand in."""

__all__ = ["DRAWN", "PUBLIC_FILES", "save_map"]
