"""What a release must satisfy: requirements on groups (`requirement`) and on items (`items`)."""
