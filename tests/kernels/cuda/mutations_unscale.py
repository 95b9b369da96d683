"""Planted bugs for gradients of a scaled loss: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda import test_unscale


def check_unscale() -> None:
    import cupy as cp
    from lucid_kernels.cuda.unscale import multi_tensor_unscale

    for dtype in test_unscale.DTYPES:
        for position in (None, 0, 4999, slice(None)):
            test_unscale.check(cp, multi_tensor_unscale, dtype, position)
        test_unscale.check(cp, multi_tensor_unscale, dtype, 17, np.inf)
        test_unscale.test_strided_mixed_and_repeated_gradients(cp, multi_tensor_unscale, dtype)


UNSCALE = "unscale.cu"
MUTATIONS = [
    # gradients of a scaled loss
    Mutation(UNSCALE, "infinity is finite", r"!\(g - g == 0\)", "g != g", check_unscale),
    Mutation(UNSCALE, "seen by thread 0 only", r"__syncthreads_or\(bad\)", "bad", check_unscale),
    Mutation(UNSCALE, "the last element decides", r"bad \|= unscale_element\(grad \+ i, \*inverse\);\n      start", "bad = unscale_element(grad + i, *inverse);\n      start",
             check_unscale),
    Mutation(UNSCALE, "one tensor as it is", r"GRID_STRIDE\(i, n\) bad", "GRID_STRIDE(i, n - 1) bad", check_unscale),
]  # fmt: skip
