"""Linear algebra, products, norms, distances."""
