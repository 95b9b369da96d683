"""How CUDA kernels are compiled, launched and launched again. Begin with `launch`.

`launch`: compiles a source, launches its kernels, raises the errors that they report.
`formula`: the CUDA text of a formula; needs no cupy either.
`ctype`: the C++ names of dtypes.
`plans`: repeats an operation that was called before without its launcher.
`plan_lookup`: finds the plan of a call in half of the time, by a function made for calls of its kind.
`recording`: notes what a call launches.
`native`: makes the calls of a plan.
`driver`: functions of the CUDA driver and of cuBLAS, by address.
`recycling`: result arrays that are reused once nobody holds them.
`tuning`: what was measured of the kernels' configurations on a chip.
`rows`: launches of kernels over rows and columns (`rows.cuh`).
`device_tables`: tables of addresses and numbers in device memory.
`source`: the text of a source with its headers; needs no cupy. `common.cuh` is what all of them include, `elements.cuh` loads
and stores elements and packs of 16 bytes, with `halves.cuh` those of halves, of which `packed_again.cuh` keeps packs,
`tensor_cores.cuh` has the instructions of chips from sm_80 on, `split_tf32.cuh` exact products of float by them, `philox.cuh`
random words.
"""
