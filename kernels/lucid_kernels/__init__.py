"""Kernels for the CPU and the GPU under one contract (`kernels/README.md`). Imports nothing from `lucid`.

A family, such as `convolution.conv2d`, has a module of the same name, with the same functions, in `cpu` and in `cuda`.

`cpu`: Numba kernels.
`cuda`: CUDA kernels and their launchers, in packages of the same names.
`measuring`: how calls are timed.
`simulator`: runs the CUDA sources on machines without a GPU.
`expression`: formulas as data, which the kernel `fused` of either side computes.
`formulas`: activations and their gradients, each a formula.
`recurrence`: the loop over time of recurrent networks, for both sides.
`special_tables`: coefficients of the special functions, for both sides.
`integers`: lengths divided and rounded up.
`windows`: how many sliding windows fit into a length.
`uniform_range`: constants of uniform random numbers, for both sides.
`tf32`: whether float32 may be computed as TF32 on a GPU.
`compilation_log`: a message when something compiles for long.
`arguments`: parses the arguments of the `explain` commands.
`naming`: names for generated functions.
`extras`: how to install optional dependencies.
`numpy_warnings`: NumPy's floating-point warnings, turned off.
`trusted_files`: compiled code is loaded only from files that no other user can have written.
"""
