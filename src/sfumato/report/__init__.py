"""Looking: the page a data steward reads, the picture of the map, and the folder they stand in."""
