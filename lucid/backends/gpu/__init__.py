"""GPUs: CuPy, and our CUDA kernels.

`backend`: the table.
`graphs`: work that is captured once and launched again.
`memory`: CuPy's pool with its peaks, pinned host memory, copies for which the host does not wait.
`packed_weights`: weights of convolutions, kept as tensor cores read them.
`convolution`: of volumes, and with ReLU.
`linear`: linear layers, with the bias in the epilogue of the product.
`elementwise`: a function for each row of `lucid.backends.elementwise`.
`manipulation`: new arrays, copies, views and joined arrays.
`indexing`: elements by index and by mask.
`reductions`: sums, extremes, norms and moments along dimensions.
`sorting`: sorting and scans.
`linalg`, `fft`: linear algebra by cuSOLVER, Fourier transforms by cuFFT.
`fractional_pooling`: pooling windows that begin anywhere.
`poisson`: quantiles of Poisson distributions.
`planning`: the operations that are repeated by plans.
`driver`: what the driver and its tools are asked for beside arrays.
"""
