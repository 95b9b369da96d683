"""Planted bugs for ctc_loss: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

import numpy as np
from lucid_kernels.cpu.losses.ctc_loss import ctc_loss as on_cpu
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.losses.test_ctc_loss import arguments


def check() -> None:
    import cupy as cp
    from lucid_kernels.cuda.losses.ctc_loss import ctc_loss

    given = arguments()
    for zero_infinity in (False, True):
        attributes = {"blank": 0, "zero_infinity": zero_infinity, "with_grad": True}
        found = ctc_loss(*map(cp.asarray, given), **attributes)
        for computed, expected in zip(found, on_cpu(*given, **attributes), strict=True):
            np.testing.assert_allclose(computed.get(), expected, rtol=1e-12, atol=1e-12)


CTC_LOSS = "ctc_loss.cu"
MUTATIONS = [
    Mutation(CTC_LOSS, "frames without a barrier", r"__syncthreads\(\);", "", check),
    Mutation(CTC_LOSS, "equal labels are skipped to", r" && label != states\.of\([^)]*\)", "", check),
    Mutation(CTC_LOSS, "before the first state", r"p > 1 && label", "label", check),
    Mutation(CTC_LOSS, "one state to begin with", r"p < 2 \? 0\.0", "p < 1 ? 0.0", check),
    Mutation(CTC_LOSS, "the frame counts twice", r" - \(double\)widened\(x\[row \* classes \+ blank\]\)", "", check),
    Mutation(CTC_LOSS, "no frames, a target", r"size > 1 \? infinity<double>\(\) : 0\.0", "0.0", check),
    Mutation(CTC_LOSS, "impossible ones", r"\|\| impossible \? nothing", "? nothing", check),
    Mutation(CTC_LOSS, "classes that never are", r"if \(both != -infinity<double>\(\)\) grad", "grad", check),
    Mutation(CTC_LOSS, "before the blanks are subtracted", r"s = 2 \* threadIdx\.x", "s = 0", check),
]
