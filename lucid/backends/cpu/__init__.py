"""The CPU: NumPy for small arrays, our Numba kernels for large ones.

`backend`: the table.
`elementwise`, `clip`: elementwise functions; `clip`.
`ufunc_loops`: NumPy's loops on all threads.
`chains`: which small kernels are loops of NumPy's.
`half_precision`: elementwise functions of float16 and bfloat16.
`accurate`: float32 functions of NumPy's that are not accurate enough, in float64.
`interpreter`: formulas of small arrays, without a kernel.
`creation`, `copies`: new arrays, and copies.
`manipulation`, `joining`, `pad`: other shapes; joined arrays; padding.
`indexing`: elements by index and by mask.
`reduction`: reductions and scans.
`sorting`: sorting.
`undispatched`: functions of NumPy's that are called more quickly.
`matmul`, `vectors`: products of matrices; products and distances of vectors.
`linalg`, `lapack`: linear algebra, by calls of LAPACK.
`fft`: Fourier transforms.
`convolution`, `fractional_pooling`, `interpolation`: windows of volumes, windows that begin anywhere, resizing.
`poisson`: quantiles of Poisson distributions.
`bits`: one kernel for all dtypes of a size, where elements are only moved.
"""
