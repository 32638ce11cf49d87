"""Hierarchies of columns: as trees, as intervals on a histogram, and every way to change them."""

from sfumato.workbench.views.hierarchies.editor import ENDPOINTS

__all__ = ["ENDPOINTS"]
