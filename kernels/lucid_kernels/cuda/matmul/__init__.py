"""Products of matrices.

`products`: cuBLAS, called directly: CuPy computes stacks of float16 in float32 and has no bfloat16.
`csr_matmul`: products with a sparse matrix by rows.
`blas`: its functions by address, with workspaces of their own.
"""
