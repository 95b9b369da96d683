"""Fourier transforms along the last dimension.

`fft`: lengths of 32 to 4096 complex or 64 to 8192 real numbers whose factors are 2, 3 and 5; NumPy has the others.
`microkernels`: steps of radix 2 to 8 in registers.

NumPy takes 2.5 to 6 times as long.
"""
from ..runtime import numba_import as numba_import
