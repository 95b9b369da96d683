"""What NumPy and CuPy compute alike: each module has `table`, which binds its operations to either.

`elementwise`: elementwise functions.
`complex`: complex numbers by their parts.
`creation`: new arrays.
`manipulation`, `views`, `pad`: other shapes, copied or as views; padding.
`indexing`, `slices`: elements by index; arrays made of parts of others.
`reductions`, `scans`: reductions; running sums, products and extremes.
`sorting`: order statistics and searches.
`matmul`, `linear`, `vectors`: products of matrices; `linear` and its gradients; products and distances of vectors.
`linalg`, `linalg_gradients`, `elimination`: decompositions and systems; their gradients; Gaussian elimination of batches.
`ldl`: factors of symmetric matrices, on the host.
`fft`: Fourier transforms.
`convolution`, `unfold`: 3-d convolution as 2-d ones; windows as columns.
`windows`: where windows lie.
`interpolation`: resizing.
`attention`: attention with dropout.
"""
