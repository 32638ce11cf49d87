"""Reports: the page for data stewards, the picture of the map, and their folder."""
