"""Products of matrices.

`products`: cuBLAS, called directly: CuPy computes stacks of float16 in float32 and has no bfloat16.
`csr_matmul`: products with a sparse matrix by rows.
`blas`: its functions by address, with workspaces of their own.
`blas_lt`: likewise cuBLASLt, whose products end with an epilogue.
`epilogues`: products with a bias, an activation or their gradients in the epilogue, and when these are chosen.
"""
