"""Planted bugs for recurrent: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.recurrent_reference import CASES, data, run


def check() -> None:
    import cupy as cp
    from lucid_kernels.cpu.recurrent import recurrent as cpu
    from lucid_kernels.cuda.recurrent import recurrent

    for case in CASES:
        if case[1] != 5:
            continue
        arrays, attributes = data(*case, np.float64)
        device = [None if a is None else cp.asarray(a) for a in arrays]
        results = recurrent.recurrence(*device, **attributes)
        for got, want in zip(results[:3], run(*arrays, **attributes), strict=True):
            if want is not None:
                np.testing.assert_allclose(got.get(), want, rtol=1e-9)
        rng = np.random.default_rng(1)
        upstream = [None if y is None else rng.normal(size=y.shape) for y in results[:3]]
        kept = cpu.recurrence(*arrays, **attributes)[3:]
        expected = cpu.recurrence_grad(*upstream, arrays[1], *kept, **attributes)
        given = [None if g is None else cp.asarray(g) for g in upstream]
        for got, want in zip(recurrent.recurrence_grad(*given, device[1], *results[3:], **attributes), expected, strict=True):
            if want is not None:
                np.testing.assert_allclose(got.get(), want, rtol=1e-9, atol=1e-12)


RECURRENT = "recurrent.cu"
MUTATIONS = [
    Mutation(RECURRENT, "the gates of another row", r"at = i / n \* 4 \* n", "at = i / n * 3 * n", check),
    Mutation(RECURRENT, "the old cell noted late", r"cells\[i\] = cell\[i\];\s+cell\[i\] = ([^;]+);",
             r"cell[i] = \1; cells[i] = cell[i];", check),
    Mutation(RECURRENT, "no slope of the cell", r"d \* out \* \(T\(1\) - t \* t\)", "d * out", check),
    Mutation(RECURRENT, "the cell's gradient without forgetting", r"d_cell\[i\] = dc \* forget", "d_cell[i] = dc", check),
    Mutation(RECURRENT, "the reset gate left out", r"reset \* part\);", "part);", check),
    Mutation(RECURRENT, "no gradient around the product", r"d_hidden\[i\] = d \* update;", "d_hidden[i] = d;", check),
    Mutation(RECURRENT, "always tanh", r"relu \? \(sum <= T\(0\) \? T\(0\) : sum\) : tanh_\(sum\)", "tanh_(sum)", check),
    Mutation(RECURRENT, "the gradient of later steps", r"const T d = d_hidden\[i\] \+ g\[i\], y", "const T d = g[i], y", check),
]
