"""Planted bugs for the reductions: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

SHAPES = (((3, 7), 1), ((3, 700), 1), ((1003, 33), 0), ((6, 33), 0), ((6, 64), 0), ((1003, 64), 0), ((2, 3, 9, 2), (0, 2)), ((2, 40000), 1), ((5000, 2), 0), ((4001,), 0))


def _check(*names: str) -> None:
    import cupy

    tests: Any = importlib.import_module("tests.kernels.cuda.reduction.test_reduce")
    reduce = importlib.import_module("lucid_kernels.cuda.reduction.reduce").reduce
    for name in names:
        for shape, axis in SHAPES:
            x = tests.values(shape, np.float32)
            tests.check(cupy, reduce, name, x, cupy.asarray(x), axis)


def check_sums() -> None:
    _check("SumAll")


def check_moments() -> None:
    _check("Variance")


def check_extremes() -> None:
    import cupy

    _check("ArgMax")
    tests: Any = importlib.import_module("tests.kernels.cuda.reduction.test_reduce")
    reduce = importlib.import_module("lucid_kernels.cuda.reduction.reduce").reduce
    tests.test_the_first_of_equal_elements(cupy, reduce)


def check_special() -> None:
    import cupy

    tests: Any = importlib.import_module("tests.kernels.cuda.reduction.test_reduce")
    reduce = importlib.import_module("lucid_kernels.cuda.reduction.reduce").reduce
    for special in (np.nan, np.inf, -np.inf):
        tests.test_nan_and_infinity(cupy, reduce, (2, 9000), -1, special)


def check_ties() -> None:
    import cupy

    tests: Any = importlib.import_module("tests.kernels.cuda.reduction.test_extremes")
    for shape, axis in SHAPES:
        tests.check(cupy, shape, axis, np.float32)
    tests.test_nan_and_infinity(cupy, np.nan)


FILE, HEADER, KERNELS = "reduce.cu", "reduce.cuh", "reduce_kernels.cuh"
MUTATIONS = [
    # rows, columns, combine
    Mutation(FILE, "half of the lanes", r"offset = width / 2", "offset = width / 4", check_sums, inside=KERNELS),
    Mutation(FILE, "barrier of a row", r"__syncthreads\(\);\n    if \(threadIdx.x == 0\)", ";\n    if (threadIdx.x == 0)", check_sums, inside=KERNELS),
    Mutation(FILE, "a warp left out", r"int warp = 1;", "int warp = 2;", check_sums, inside=KERNELS),
    Mutation(FILE, "a turn left out", r"int turn = 1;", "int turn = 2;", check_sums, inside=KERNELS),
    Mutation(FILE, "barrier of columns", r"__syncthreads\(\);\n      if \(threadIdx.y", ";\n      if (threadIdx.y", check_sums, inside=KERNELS),
    Mutation(FILE, "elements of the next chunk", r"start \+ chunk < (groups|length) \? start \+ chunk : \1", r"\1", check_sums, inside=KERNELS),
    Mutation(FILE, "chunks of another output", r"chunk \* outputs \+ output", "chunk * outputs", check_sums, inside=KERNELS),
    Mutation(FILE, "a chunk in the place of another", r"blockIdx\.y \* outputs \+ output", "output", check_sums, inside=KERNELS),
    Mutation(FILE, "a chunk left out", r"chunk < chunks", "chunk < chunks - 1", check_sums, inside=KERNELS),
    Mutation(FILE, "past the end of a column", r"end - first < V \? \(int\)\(end - first\) : V", "V", check_sums, inside=KERNELS),
    Mutation(FILE, "another output", r"x \+ places\[1\] \+ at", "x + places[0] + at", check_sums, inside=KERNELS),
    Mutation(FILE, "groups behind the chunk", r"first \+ k \* blockDim.x >= end", "false", check_sums, inside=KERNELS),
    Mutation(FILE, "rows with a rest", r" && reduced.size\[0\] % V == 0", "", check_sums, inside=KERNELS),
    Mutation(FILE, "the first column of a thread", r" \+ n \* kept.step\[0\]\[0\]", "", check_sums, inside=KERNELS),
    Mutation(FILE, "accumulators that are still read", r"if \(n\) __syncthreads\(\);", "", check_sums, inside=KERNELS),
    Mutation(FILE, "half of the turns", r"half = blockDim.y / 2", "half = blockDim.y / 4", check_sums, inside=KERNELS),
    Mutation(FILE, "barrier of turns", r"__syncthreads\(\);\n    if \(threadIdx.y < half", ";\n    if (threadIdx.y < half", check_sums, inside=KERNELS),
    # operations
    Mutation(FILE, "elements that are not there", r"if \(v < count\) acc.value", "acc.value", check_sums, inside=HEADER),
    Mutation(FILE, "distance of the means", r" \+ step \* step \* \(a.count \* share\)", "", check_moments, inside=HEADER),
    Mutation(FILE, "not centred", r"squares \+= .*$", "squares += x[v] * x[v];", check_moments, inside=HEADER),
    Mutation(FILE, "mean of the other", r"a.mean \+ step \* share", "b.mean", check_moments, inside=HEADER),
    Mutation(FILE, "the last of equal elements", r"a.index < b.index \? a : b", "a.index < b.index ? b : a", check_extremes, inside=HEADER),
    Mutation(FILE, "place in the group", r"acc.index = index \+ v", "acc.index = index", check_extremes, inside=HEADER),
    Mutation(FILE, "NaN lost", r"a > b \|\| a != a \? a : b", "a > b ? a : b", check_special, inside=HEADER),
    Mutation("extremes.cu", "ties of a smaller one", r"same\(b.best.value, acc.best.value\) \? b.ties : 0", "b.ties", check_ties, inside=HEADER),
    Mutation("extremes.cu", "NaN do not tie", r"a == b \|\| \(a != a && b != b\)", "a == b", check_ties, inside=HEADER),
    Mutation("extremes.cu", "signs of sizes", r"of_sizes\(p\) && x\[v\] < A\(0\)", "of_sizes(p) && x[v] > A(0)", check_ties, inside=HEADER),
    Mutation("extremes.cu", "elements that are not there", r"if \(v >= count\) break;", "", check_ties, inside=HEADER),
    Mutation(FILE, "infinities of one size", r"return x == peak \? A\(1\) : exp_\(x - peak\);", "return exp_(x - peak);", check_special, inside=HEADER),
]  # fmt: skip
