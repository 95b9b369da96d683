"""The CPU: NumPy for small arrays, our Numba kernels for large ones.

`backend`: the table.
`elementwise`, `ternary`: elementwise functions of large arrays.
`ufunc_loops`: NumPy's loops on all threads.
`half_precision`: elementwise functions of float16 and bfloat16.
`accurate`: float32 functions of NumPy's that are not accurate enough, in float64.
`interpreter`: formulas of small arrays, without a kernel.
`reductions`, `narrow_reductions`: reductions; of matrices of a few columns.
`scans`: running sums, products and extremes.
`indexing`, `masks`: elements by index; by mask.
`sorting`: sorting.
`linalg`: linear algebra by LAPACK.
`copies`: copies and new arrays.
`bits`: one kernel for all dtypes of a size, where elements are only moved.
"""
