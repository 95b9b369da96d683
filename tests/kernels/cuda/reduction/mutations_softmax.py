"""Planted bugs for softmax: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.mutations import family, reductions


def check_softmax() -> None:
    tests, softmax, cupy = family("softmax")
    for name in tests.NAMES:
        tests.test_values_and_gradients(softmax, cupy, None, name, np.float32)


def check_long_rows() -> None:
    tests, softmax, cupy = family("softmax")
    for name in tests.NAMES:
        tests.test_rows_longer_than_the_registers(softmax, cupy, name, np.float32)


def check_all_rows() -> None:
    check_softmax()
    check_long_rows()


def check_infinity() -> None:
    tests, softmax, cupy = family("softmax")
    for dim in (0, 1):
        tests.test_nan_and_infinity(softmax, cupy, "softmax", dim)


def check_halves() -> None:
    tests, softmax, cupy = family("softmax")
    for dtype in tests.HALVES:
        tests.test_halves_are_rounded_once(softmax, cupy, None, "softmax", dtype)


MUTATIONS = [
    # softmax_rows, softmax_columns, and the gradients
    *reductions("softmax.cu", check_softmax),
    Mutation("softmax.cu", "maximum of one thread", r"all = reduce\(top, Max\(\), -infinity<A>\(\)\)", "all = top", check_softmax,
             inside="rows.cuh"),
    Mutation("softmax.cu", "sum not moved to the maximum", r"sum \* exp_\(top - all\)", "sum", check_softmax, inside="rows.cuh"),
    Mutation("softmax.cu", "sum not moved to a new maximum", r"sum \* exp_\(top - most\)", "sum", check_softmax, inside="rows.cuh"),
    Mutation("softmax.cu", "-inf first", r"sum = top == -infinity<A>\(\) \? A\(0\) :", "sum =", check_infinity, inside="rows.cuh"),
    Mutation("softmax.cu", "a thread with -inf alone", r"reduce\(top == -infinity<A>\(\) \? A\(0\) :", "reduce(", check_infinity,
             inside="rows.cuh"),
    Mutation("softmax.cu", "the rest of a long row left out", r"first < width; first \+= AT_ONCE", "false; first += AT_ONCE", check_long_rows,
             inside="rows.cuh"),
    Mutation("softmax.cu", "the rest of a long row twice", r"threadIdx\.x \* \(i64\)N \+ KEPT \* step", "threadIdx.x * (i64)N",
             check_long_rows, inside="rows.cuh"),
    Mutation("softmax.cu", "packs behind the end of a long row", r"if \(first \+ k \* step >= width\) continue;", "", check_long_rows,
             inside="rows.cuh"),
    Mutation("softmax.cu", "the largest of one thread", r"^  top = reduce\(top, Max.*$", "", check_softmax),
    Mutation("softmax.cu", "the sum of the exponentials of one thread", r"^  sum = reduce\(sum, Sum.*$", "", check_softmax),
    Mutation("softmax.cu", "a turn left out", r"k < blockDim\.y", "k < blockDim.y - 1", check_softmax, inside="rows.cuh"),
    Mutation("softmax.cu", "the first turn twice", r"scratch\[threadIdx\.y \* blockDim\.x", "scratch[0 * blockDim.x", check_softmax,
             inside="rows.cuh"),
    Mutation("softmax.cu", "sum of one thread", r"^ *sum = (S::|turns_)reduce\(sum.*$", "", check_softmax),
    Mutation("softmax.cu", "a lane leaves", r"ExpSum<A> of;", r"\g<0> if (threadIdx.x == 5) return;", check_all_rows),
    Mutation("softmax.cu", "a lane leaves a row in registers", r"^  top = reduce\(top", "  if (threadIdx.x == 5) return;\n\\g<0>", check_softmax),
    Mutation("softmax.cu", "barrier among rows", r"blockDim\.x == 32", "blockDim.x == 64", check_softmax, inside="common.cuh"),
    Mutation("softmax.cu", "wrong slice", r"i / inner \* C \* inner", "i / inner * C", check_softmax),
    Mutation("softmax.cu", "columns beyond the last", r"i < slices \? C : 0", "C", check_softmax),
    Mutation("softmax.cu", "gradient without exp", r"exp_\(y\)", "y", check_softmax),
    Mutation("softmax.cu", "second array of a pair", r"row\[ARRAYS - 1\] = second", "row[ARRAYS - 1] = first", check_softmax,
             inside="rows.cuh"),
    Mutation("softmax.cu", "a half taken for another", r"__bfloat162float\(x\)", "__bfloat162float(x) + 1.f", check_halves,
             inside="halves.cuh"),
    Mutation("softmax.cu", "a part of a pack", r"j < N; \+\+j\) pack", "j < N - 1 + (N == 1); ++j) pack", check_halves, inside="elements.cuh"),
]  # fmt: skip
