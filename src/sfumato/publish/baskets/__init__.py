"""Publishing baskets: the file, its certificate, its audit."""
