"""Planted bugs for margin_loss: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

import numpy as np
from lucid_kernels.cpu.losses import margin_loss as on_cpu
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.losses.test_margin_loss import arguments, calls


def check() -> None:
    import cupy as cp
    from lucid_kernels.cuda.losses import margin_loss

    for classes in (7, 600):
        given = arguments(classes)
        options = {"reduction": "none", "with_grad": True}
        ours = calls(margin_loss, *map(cp.asarray, given), **options)
        for found, expected in zip(ours, calls(on_cpu, *given, **options), strict=True):
            for computed, wanted in zip(found(), expected(), strict=True):
                np.testing.assert_allclose(computed.get(), wanted, rtol=1e-12, atol=1e-12)


MARGIN_LOSS = "margin_loss.cu"
MUTATIONS = [
    Mutation(MARGIN_LOSS, "the label itself lacks too", r"if \(c == t\) continue;", "", check),
    Mutation(MARGIN_LOSS, "no factor of squares", r"T\(2\) \* gap", "gap", check),
    Mutation(MARGIN_LOSS, "no weight", r"weighted \? weight\[t\] : T\(1\)", "T(1)", check),
    Mutation(MARGIN_LOSS, "the label is not pushed back", r"-unit \* pushes", "unit * pushes", check),
    Mutation(MARGIN_LOSS, "one thread's share", r"total = (S::|block_)reduce\(total, Sum\(\), T\(0\), scratch\);", "", check),
    Mutation(MARGIN_LOSS, "NaN lacks", r"gap > T\(0\)( \? |;|\))", r"!(gap <= T(0))\1", check),
    Mutation(MARGIN_LOSS, "marks without a barrier", r"__syncthreads\(\);", "", check),
    Mutation(MARGIN_LOSS, "labels behind the first -1", r"labels\[c\] < 0 && c < count", "false", check),
    Mutation(MARGIN_LOSS, "equal labels count once", r"T\(often\[c\]\)", "T(1)", check),
    Mutation(MARGIN_LOSS, "labels are among the others", r"often\[o\] == 0 && ", "", check),
]
