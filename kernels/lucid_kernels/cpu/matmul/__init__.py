"""Products of matrices.

`matmul`: the kernels, and the list of the algorithms.
`problem`: what the choice depends on.
`__main__`: `explain` on the command line.
`skinny`: few rows, with the other matrix read as it lies (small M).
`blocked`: tiles that read both operands where they lie.
`openblas_tiles`: tiles, or matrices of a stack, each by OpenBLAS on one thread.
`openblas`: OpenBLAS's routines by address, and its threads.
`batched_small`: stacks of small matrices.
`batch_reduce`: sums of products over images (batch-reduce GEMM).
`prepacked`: products with one matrix again and again, packed once.
`inner`: products inside a parallel kernel.
`csr_matmul`: with a sparse matrix by rows.
`dot`: the inner product of two vectors.
`tiling`: how a product is cut into tiles.
`packing`: operands in the order in which the blocks read them.
`batch_offsets`: where the matrices of a stack lie.
`microkernels`, `panel_microkernels`: the register blocks.

OpenBLAS's threads are kept out: they spin for 25 ms after a product, on the cores that the next kernel needs.
"""
