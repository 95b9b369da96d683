"""Scalar functions for use inside kernels, written so that LLVM vectorises the loops that call them; no arrays.

`basic`: exp, tanh, sigmoid and others of float32 and float64.
`vector`: functions of float32 written for whole registers of AVX-512.
`elementary`: further functions for formulas.
`inverse`: hyperbolic and inverse functions.
`log`: logarithms of float32.
`pow`: powers of float64.
`polynomial`, `polynomial_tables`: special functions of float32 without branches, and their coefficients.
`normal`: error function and normal distribution.
`gamma`: derivatives of lgamma, and the Hurwitz zeta function.
`incomplete_gamma`: the incomplete gamma functions.
`pathwise`: how gamma and beta numbers move with a parameter.
`bessel`: modified Bessel functions.
`series`: sums that special functions share.
"""
from ..runtime import numba_import as numba_import
