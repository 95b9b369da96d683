"""Decompositions, linear systems, and products of vectors.

`lapack_calls`: one compiled loop calls any routine of NumPy's LAPACK by its address.
`lapack_decompositions`, `lapack_solve`: stacks of matrices by LAPACK; NumPy's own functions compute float32 in float64.
`batched_elimination`: systems, inverses and determinants of many small matrices, as many at a time as a vector has lanes.
`small_decompositions`: single matrices of up to 32 rows, where calls of LAPACK take longer than the arithmetic.
`cdist`: distances of all pairs of vectors.
`cross`: cross products.
`kron`: Kronecker products.
"""
from ..runtime import numba_import as numba_import
