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
    Mutation(RECURRENT, "the gates of another row", r" at = i / n \* 4 \* n", " at = i / n * 3 * n", check),
    Mutation(RECURRENT, "the old cell noted late", r"cells\[i\] = cell\[j\];\s+cell\[j\] = ([^;]+);",
             r"cell[j] = \1; cells[i] = cell[j];", check),
    Mutation(RECURRENT, "no slope of the cell", r"d \* out \* \(T\(1\) - t \* t\)", "d * out", check),
    Mutation(RECURRENT, "the cell's gradient without forgetting", r"d_cell\[j\] = dc \* forget", "d_cell[j] = dc", check),
    Mutation(RECURRENT, "the reset gate left out", r"reset \* part\);", "part);", check),
    Mutation(RECURRENT, "no gradient around the product", r"d_hidden\[j\] = d \* update;", "d_hidden[j] = d;", check),
    Mutation(RECURRENT, "always tanh", r"relu \? \(sum <= T\(0\) \? T\(0\) : sum\) : tanh_\(sum\)", "tanh_(sum)", check),
    Mutation(RECURRENT, "the gradient of later steps", r"const T d = d_hidden\[j\] \+ \(has_g \? g\[i\] : T\(0\)\), y",
             "const T d = has_g ? g[i] : T(0), y", check),
    Mutation(RECURRENT, "the bias of another gate", r"has_bias \? bias\[gate\]", "has_bias ? bias[0]", check),
    Mutation(RECURRENT, "the rows of the first time", r"const i64 i = first \+ j;", "const i64 i = j;", check),
    Mutation(RECURRENT, "a gradient that the product does not read", r"step\[here \+ n\] = dc", "dc", check),
]
