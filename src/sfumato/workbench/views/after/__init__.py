"""The pages after a run: the map, a point, several side by side, publishing."""

from sfumato.workbench.views.after import compare, map, point, publish

ENDPOINTS = (*map.ENDPOINTS, *point.ENDPOINTS, *compare.ENDPOINTS, *publish.ENDPOINTS)
"""What can be asked for there."""
