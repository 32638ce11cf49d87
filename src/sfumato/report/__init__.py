"""Looking: the page a data steward reads, the picture of the map, and the folder they stand in."""

from sfumato.report.folder import DRAWN, PUBLIC_FILES, save_map

__all__ = ["DRAWN", "PUBLIC_FILES", "save_map"]
