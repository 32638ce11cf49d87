"""Requirements of releases: on groups (`requirement`) and on items (`items`)."""
