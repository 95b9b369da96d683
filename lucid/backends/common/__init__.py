"""What NumPy and CuPy compute alike: each module has `table`, which binds its operations to either.

`functions`: operations that both have.
`elementwise`: elementwise functions.
`complex`: complex numbers by their parts.
`convolution`: 3-d convolution as 2-d ones, and windows as columns.
`elimination`: Gaussian elimination of stacks.
`fft`: Fourier transforms.
`fractional_pooling`: fractional max pooling.
`interpolation`: resizing.
`linalg`, `linalg_gradients`: decompositions and systems, and their gradients.
`linear`: `linear` and its gradients in one call.
`nll_loss`: the negative log-likelihood of class indices.
`pad`: padding.
`poisson`: quantiles of Poisson distributions.
`slices`: arrays made of parts of others.
`sorting`: order statistics, searches and scans.
`vectors`: products and distances of vectors.
`views`: views.
"""
