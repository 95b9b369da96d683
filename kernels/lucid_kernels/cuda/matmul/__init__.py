"""Products of matrices by cuBLAS."""
