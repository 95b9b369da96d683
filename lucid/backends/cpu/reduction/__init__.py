"""Reductions and scans on the CPU.

`sums`: sums, means, variances, norms and products.
`extremes`: `max`, `min`, `any`, `all`.
`scans`: running sums, products and extremes.
`narrow`: NumPy's reductions, and what replaces them for matrices of a few columns.
`layouts`: large arrays as a kernel takes them.
"""
