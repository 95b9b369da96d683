"""Planted bugs for gamma numbers and pathwise gradients: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.random import test_gamma, test_pathwise


def check_numbers() -> None:
    import cupy
    from lucid_kernels.cuda.random import gamma

    for dtype in (np.float32, np.float64):
        test_gamma.check(cupy, gamma, np.dtype(dtype), test_gamma.PLACES[0])


def check_gamma_slopes() -> None:
    import cupy
    from lucid_kernels.cuda.random import pathwise

    for dtype in (np.float32, np.float64):
        test_pathwise.check_gamma(cupy, pathwise, np.dtype(dtype))


def check_beta_slopes() -> None:
    import cupy
    from lucid_kernels.cuda.random import pathwise

    for dtype in (np.float32, np.float64):
        test_pathwise.check_beta(cupy, pathwise, np.dtype(dtype))


GAMMA, PATHWISE, HEADER = "gamma.cu", "pathwise.cu", "special_pathwise.cuh"
MUTATIONS = [
    Mutation(GAMMA, "the same block for each attempt", r"philox\(counter, seed, attempt\)", "philox(counter, seed, 1)", check_numbers),
    Mutation(GAMMA, "no squeeze, no test", r"add\(1\.0, -mul\(0\.0331, mul\(square, square\)\)\)", "2.0", check_numbers),
    Mutation(GAMMA, "third of a shape", r"-1\.0 / 3\.0", "-1.0 / 4.0", check_numbers),
    Mutation(GAMMA, "small shapes without their factor", r"small \? exp\(exponent\) : 1\.0", "1.0", check_numbers),
    Mutation(GAMMA, "no least number", r"number < least \? least : number", "number", check_numbers),
    Mutation(GAMMA, "infinite shapes", r"shape < CUDART_INF", "true", check_numbers),
    Mutation(PATHWISE, "gamma: arguments exchanged", r"gamma_slope\(\(double\)a\[i\], \(double\)x\[i\]\)",
             "gamma_slope((double)x[i], (double)a[i])", check_gamma_slopes),
    Mutation(PATHWISE, "beta: the sum for the other parameter", r"\(double\)total\[i\] - \(double\)a\[i\]", "(double)total[i]",
             check_beta_slopes),
    Mutation(PATHWISE, "series: digamma of a", r"digamma_\(a \+ 1\.0\)", "digamma_(a)", check_gamma_slopes, inside=HEADER),
    Mutation(PATHWISE, "expansion: not by eta", r" - by_eta \* ratio / a", "", check_gamma_slopes, inside=HEADER),
    Mutation(PATHWISE, "expansion: centre", r"eta != 0\.0 \? u / eta : 1\.0", "u / eta", check_gamma_slopes, inside=HEADER),
    Mutation(PATHWISE, "fraction: slope of c", r"h \* \(c_slope \* d \+ c \* d_slope\)", "h * c * d_slope", check_gamma_slopes,
             inside=HEADER),
    Mutation(PATHWISE, "beta: the wrong parameter", r"1\.0 - x, 0\.0\)", "1.0 - x, 1.0)", check_beta_slopes, inside=HEADER),
    Mutation(PATHWISE, "beta: leading term halved", r"2\.0 \* a \* a", "a * a", check_beta_slopes, inside=HEADER),
    Mutation(PATHWISE, "beta: numbers above 1", r"x <= 1\.0", "true", check_beta_slopes, inside=HEADER),
]
