"""GPUs: CuPy, and our CUDA kernels.

`backend`: the table.
`graphs`: work that is captured once and launched again.
`memory`: CuPy's pool with its peaks, pinned host memory, copies for which the host does not wait.
`convolution`: of volumes, and with ReLU.
`elementwise`: a function for each row of `lucid.backends.elementwise`.
`manipulation`: new arrays, copies, views and joined arrays.
`indexing`: elements by index and by mask.
`reductions`: sums, extremes, norms and moments along dimensions.
`sorting`: sorting and scans.
`linalg`, `fft`: linear algebra by cuSOLVER, Fourier transforms by cuFFT.
`fractional_pooling`: pooling windows that begin anywhere.
`poisson`: quantiles of Poisson distributions.
`planning`: the operations that are repeated by plans.
"""
