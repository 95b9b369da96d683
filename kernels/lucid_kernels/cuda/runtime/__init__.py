"""Loading and launching.

`launch`: compiles a source, launches its kernels, raises the errors that they report.
`formula`: the CUDA text of a formula; needs no cupy either.
`ctype`: the C++ names of dtypes.
`plans`: repeats an operation that was called before without its launcher.
`recording`: notes what a call launches.
`native`: makes the calls of a plan.
`driver`: where CUDA's functions lie.
`recycling`: gives arrays that nobody uses any more.
`source`: the text of a source with its headers; needs no cupy. `common.cuh` is what all of them include,
`tensor_cores.cuh` the instructions of chips from sm_80 on, `split_tf32.cuh` exact products of float by them,
`philox.cuh` random words.
"""
