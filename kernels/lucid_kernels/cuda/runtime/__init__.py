"""Loading and launching.

`launch`: compiles a source, launches its kernels, raises the errors that they report.
`formula`: the CUDA text of a formula; needs no cupy either.
`ctype`: the C++ names of dtypes.
`plans`: repeats an operation that was called before without its launcher.
`quick`: finds the plan of a usual call, by a function made for calls of its kind.
`recording`: notes what a call launches.
`native`: makes the calls of a plan.
`driver`: where CUDA's functions lie.
`recycling`: gives arrays that nobody uses any more.
`tuning`: what was measured of the kernels' configurations on a chip.
`rows`: how kernels over rows and columns are launched, whose parts are in `rows.cuh`.
`words`: tables of addresses and numbers in device memory.
`source`: the text of a source with its headers; needs no cupy. `common.cuh` is what all of them include, `elements.cuh` loads
and stores elements and packs of 16 bytes, with `halves.cuh` those of halves, of which `packed_again.cuh` keeps packs,
`tensor_cores.cuh` has the instructions of chips from sm_80 on, `split_tf32.cuh` exact products of float by them, `philox.cuh`
random words.
"""
