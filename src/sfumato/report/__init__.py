"""Looking: the page a data steward reads, and the picture of the map."""

from sfumato.report.writing import write_picture, write_report

__all__ = ["write_picture", "write_report"]
