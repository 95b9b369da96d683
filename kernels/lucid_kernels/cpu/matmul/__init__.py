"""Products of matrices; `matmul` chooses the algorithm."""
