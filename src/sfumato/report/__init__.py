"""Looking: the page a data steward reads, the picture of the map, and the folder they stand in."""

from sfumato.report.folder import DRAWN, PUBLIC_FILES, save_map
from sfumato.report.writing import write_picture, write_report

__all__ = ["DRAWN", "PUBLIC_FILES", "save_map", "write_picture", "write_report"]
