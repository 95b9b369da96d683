"""Planted bugs for the special functions: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

import math

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.elementwise import test_special


def check(*names: str) -> None:
    import cupy as cp
    from lucid_kernels.cpu.elementwise import special as cpu
    from lucid_kernels.cuda.elementwise import special

    for name in names:
        arrays = test_special.arguments(np.float64, 1 if name in test_special.UNARY else 2)
        result = getattr(special, name)(*map(cp.asarray, arrays)).get()
        np.testing.assert_allclose(result, getattr(cpu, name)(*arrays), **test_special.TOLERANCE[np.float64], err_msg=name)


def check_normal() -> None:
    import cupy as cp
    from lucid_kernels.cpu.elementwise import special as cpu
    from lucid_kernels.cuda.elementwise import special

    x = np.linspace(20, 25, 50)
    np.testing.assert_allclose(special.erfcx(cp.asarray(x)).get(), cpu.erfcx(x), rtol=1e-14)
    check("erf", "erfc", "erfinv", "erfcx", "ndtr", "ndtri", "log_ndtr")


def check_gamma() -> None:
    import cupy as cp
    from lucid_kernels.cuda.elementwise import special

    check("digamma", "zeta", "lgamma")
    x = np.array([1.0, 2.0, 0.5, -0.5, -1.5])
    trigamma = [math.pi**2 / 6, math.pi**2 / 6 - 1, math.pi**2 / 2, math.pi**2 / 2 + 4, math.pi**2 / 2 + 4 + 4 / 9]
    np.testing.assert_allclose(special.polygamma(cp.asarray(x), n=1).get(), trigamma, rtol=1e-14)


def check_incomplete() -> None:
    check("gammainc", "gammaincc")


def check_bessel() -> None:
    check("i0", "i0e", "i1", "i1e")


def check_all() -> None:
    check_normal()
    check_gamma()
    check_incomplete()


SPECIAL = "special.cu"
NORMAL, GAMMA, BESSEL = "special_normal.cuh", "special_gamma.cuh", "special_bessel.cuh"
INCOMPLETE = "special_incomplete_gamma.cuh"
MUTATIONS = [
    Mutation(SPECIAL, "the last element is left out", r"GRID_STRIDE\(i, n\)", "GRID_STRIDE(i, n - 1)", check_all),
    Mutation(SPECIAL, "arguments exchanged", r"widened\(a\[at\[1\]\]\), widened\(b\[at\[2\]\]\)", "widened(b[at[2]]), widened(a[at[1]])", check_incomplete),
    Mutation(SPECIAL, "no correction", r"1\.0 \+ fma\(x, x, -square\)", "1.0", check_normal, NORMAL),
    Mutation(SPECIAL, "tail of the other side", r"p < 0\.5 \? p : 1\.0 - p", "1.0 - p", check_normal, NORMAL),
    Mutation(SPECIAL, "a wrong coefficient", r"5\.0 \* r", "6.0 * r", check_normal, NORMAL),
    Mutation(SPECIAL, "no reflection", r"reflected = -PI / tan", "reflected = PI / tan", check_gamma, GAMMA),
    Mutation(SPECIAL, "one correction", r"i < 12", "i < 1", check_gamma, GAMMA),
    Mutation(SPECIAL, "squared once", r"ratio \* ratio - zeta_", "ratio - zeta_", check_gamma, GAMMA),
    Mutation(SPECIAL, "even I1", r"return copysign\((chebyshev.*), x\);", r"return \1;", check_bessel, BESSEL),
    Mutation(SPECIAL, "early overflow", r"half \* half", "exp(size)", check_bessel, BESSEL),
    Mutation(SPECIAL, "sign of the expansion", r"\+ sign \* rest", "+ rest", check_incomplete, INCOMPLETE),
    Mutation(SPECIAL, "no Stirling correction", r" - stirling\)", ")", check_incomplete, INCOMPLETE),
]
