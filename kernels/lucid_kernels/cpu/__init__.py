"""Numba kernels. Importing a module of this package imports numba; importing the package itself does not.

From top to bottom; a package imports only from those below it:

`convolution`, `normalization`: these stand on products and reductions.
`attention`, `recurrent`, `reduction`, `linalg`, `pooling`: these stand on products or loops.
`matmul`: matrix products.
`elementwise`, `fft`, `indexing`, `interpolation`, `losses`, `movement`, `random`: families without products.
`optimizer`: SGD's and Adam's steps, for one parameter or a list.
`math`, `arrays`: scalar functions; contiguous inputs, results and loops over arrays.
`simd`: vectors in LLVM IR.
`runtime`: compiler, cache, threads, memory.

A family that both sides have is the module of its name, such as `convolution.conv2d`. `microkernels` are inner loops in LLVM
IR.

malloc is told to keep freed memory: operations on arrays of 10,000 floats, which NumPy computes, took 2.4 times as long
without.
"""
from .runtime.malloc import keep_freed_memory

keep_freed_memory()
