"""Planted bugs for recurrent: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

from unittest import mock

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.recurrent import test_recurrent
from tests.kernels.recurrent_reference import CASES, data, run


def check_small() -> None:
    import cupy as cp
    from lucid_kernels.cuda.recurrent import recurrent

    for mode in ("LSTM", "GRU", "RNN_TANH"):
        for rows, features in ((34, 7), (1, 130)):
            test_recurrent.test_a_small_state(recurrent, cp, None, mode, rows, features, True, True, np.float64, 1e-9)


def check() -> None:
    from lucid_kernels.cuda.recurrent import recurrent

    with mock.patch.object(recurrent, "_SMALL", 0):
        check_steps()


def check_steps() -> None:
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


RECURRENT, ELEMENTS, SMALL = "recurrent.cu", {"inside": "recurrent.cuh"}, "recurrent_small.cu"
MUTATIONS = [
    Mutation(RECURRENT, "the gates of another row", r" here = j / n \* 4 \* n", " here = j / n * 3 * n", check),
    Mutation(RECURRENT, "an LSTM's gates of another row", r" at = i / n \* 4 \* n", " at = i / n * 3 * n", check, **ELEMENTS),
    Mutation(RECURRENT, "the old cell noted late", r"cells\[i\] = cell\[j\];\s+cell\[j\] = ([^;]+);",
             r"cell[j] = \1; cells[i] = cell[j];", check, **ELEMENTS),
    Mutation(RECURRENT, "no slope of the cell", r"d \* out \* \(T\(1\) - t \* t\)", "d * out", check, **ELEMENTS),
    Mutation(RECURRENT, "the cell's gradient without forgetting", r"d_cell\[j\] = dc \* forget", "d_cell[j] = dc", check, **ELEMENTS),
    Mutation(RECURRENT, "the reset gate left out", r"reset \* part\);", "part);", check, **ELEMENTS),
    Mutation(RECURRENT, "no gradient around the product", r"left\[j\] = d \* update;", "left[j] = d;", check, **ELEMENTS),
    Mutation(RECURRENT, "always tanh", r"relu \? \(sum <= T\(0\) \? T\(0\) : sum\) : tanh_\(sum\)", "tanh_(sum)", check, **ELEMENTS),
    Mutation(RECURRENT, "the gradient of later steps", r"const T d = d_hidden \+ \(has_g \? g\[i\] : T\(0\)\), y",
             "const T d = has_g ? g[i] : T(0), y", check, **ELEMENTS),
    Mutation(RECURRENT, "the bias of another gate", r"has_bias \? bias\[gate\]", "has_bias ? bias[0]", check),
    Mutation(RECURRENT, "the rows of the first time", r"const i64 i = first \+ j;", "const i64 i = j;", check, **ELEMENTS),
    Mutation(RECURRENT, "a gradient that the product does not read", r"step\[here \+ k \* n\] = value;", ";", check),
    Mutation(SMALL, "a gate beyond the last", r"gate < GATES && ", "", check_small),
    Mutation(SMALL, "only what comes through the product", r"later < 0 \|\| adds \?", "later < 0 ?", check_small),
    Mutation(SMALL, "rows beyond the last", r"e / DEPTH < rows && ", "", check_small),
    Mutation(SMALL, "the product goes beyond its depth", r"first \+ e % DEPTH < depth", "true", check_small),
    Mutation(SMALL, "the first part of the depth alone", r"fetch\(first \+ DEPTH\);", ";", check_small),
    Mutation(SMALL, "no barrier", r"__syncthreads\(\);", ";", check_small),
    Mutation(SMALL, "the sums of a warp left out", r"slice < SLICES; \+\+slice", "slice < SLICES - 1; ++slice", check_small),
    Mutation(SMALL, "always the initial state", r"previous < 0 \?", "true ?", check_small),
    Mutation(SMALL, "another gate", r"gate \* n \+ column", "(gate ^ 1) * n + column", check_small),
    Mutation(SMALL, "features beyond the last", r"feature >= n\) return", "false) return", check_small),
    Mutation(SMALL, "the gradient of the first step again", r"later < 0 \? left :", "later < 1 << 20 ? left :", check_small),
]
