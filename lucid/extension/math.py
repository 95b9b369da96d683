"""Functions of a number for kernels compiled by `lucid.extension.jit`: loops that call them are vectorised.

To import it imports Numba. ``exp(x)`` of a float32 is computed in float32. They exist in compiled code only. All are those of
lucid's own kernels.
"""
from lucid_kernels.cpu.math.basic import exp, exp_nonpositive, gauss, normal_cdf, sigmoid, tanh
from lucid_kernels.cpu.math.elementary import (
    cos,
    erf,
    erfc,
    exp2,
    expm1,
    fmod,
    hypot,
    log,
    log1p,
    log2,
    log10,
    power,
    sin,
    tan,
)

__all__ = ["cos", "erf", "erfc", "exp", "exp2", "exp_nonpositive", "expm1", "fmod", "gauss", "hypot", "log", "log1p", "log2",
           "log10", "normal_cdf", "power", "sigmoid", "sin", "tan", "tanh"]
