"""Kernels for the GPU and the CPU under one contract (`kernels/README.md`). Imports nothing from `lucid`.

`cpu`: Numba kernels.
`cuda`: CUDA kernels and their launchers, in packages of the same names.
`measuring`: how calls are timed.
`simulator`: runs the CUDA sources on machines without a GPU.
`expression`: formulas as data, which the kernel `fused` of either side computes.
`formulas`: activations and their gradients, each a formula.
`recurrence`: the loop over time of recurrent networks, for both sides.
`special_tables`: coefficients of the special functions, for both sides.
`integers`: lengths divided and rounded up.
`windows`: how many fit into a length, for both sides.
`uniform_range`: constants of uniform random numbers, for both sides.
`tf32`: whether float32 may be computed as TF32 on a GPU.
`compilation_log`: a message when something compiles for long.
`arguments`: those of the commands that explain what computes an operation.
`naming`: names of functions that other functions make.
`extras`: how to install optional dependencies.
`numpy_warnings`: NumPy's floating-point warnings, turned off.
`trusted_files`: compiled code is loaded only from files that no other user can have written.
"""
