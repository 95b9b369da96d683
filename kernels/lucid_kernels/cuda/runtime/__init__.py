"""Loading and launching.

`launch`: compiles a source, launches its kernels, raises the errors that they report.
`formula`: the CUDA text of a formula; needs no cupy either.
`ctype`: the C++ names of dtypes.
`source`: the text of a source with its headers; needs no cupy. `common.cuh` is what all of them include,
`tensor_cores.cuh` the instructions of chips from sm_80 on.
"""
