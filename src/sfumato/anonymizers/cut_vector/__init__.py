"""Cut vectors: the anonymizer (`cut_vector`), their space, and the kernels that weigh them."""
