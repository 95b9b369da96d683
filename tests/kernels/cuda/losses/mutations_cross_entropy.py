"""Planted bugs for cross_entropy: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.mutations import family, reductions


def check_cross_entropy() -> None:
    tests, cross_entropy, cupy = family("cross_entropy")
    for reduction in ("none", "mean"):
        tests.test_values_and_gradients(cross_entropy.cross_entropy, cupy, None, reduction, np.float32)
    for labels in (777, 9001):
        tests.test_many_labels_are_summed_in_chunks(cross_entropy.cross_entropy, cupy, None, labels)


def check_bad_labels() -> None:
    tests, cross_entropy, cupy = family("cross_entropy")
    for shape in ((5, 7), (5, 7, 3)):
        try:
            tests.test_label_out_of_range(cross_entropy.cross_entropy, cupy, None, shape, 7)
        except pytest.fail.Exception as failure:  # what pytest.raises raises; not an AssertionError
            raise AssertionError(str(failure)) from failure


MUTATIONS = [
    # cross_entropy_rows, cross_entropy_columns
    *reductions("cross_entropy.cu", check_cross_entropy),
    Mutation("cross_entropy.cu", "label not checked", r"t >= 0 && t < C", "t >= 0", check_bad_labels),
    Mutation("cross_entropy.cu", "bad label not reported", r"set_error\(", "if (false) set_error(", check_bad_labels),
    Mutation("cross_entropy.cu", "a lane alone reduces", r"smooth = reduce", "if (leader) smooth = reduce", check_cross_entropy),
    Mutation("cross_entropy.cu", "warps that do not wait for the weights", r"scratch\[thread / 32\] = sum;\n  __syncthreads\(\);",
             "scratch[thread / 32] = sum;", check_cross_entropy),
    Mutation("cross_entropy.cu", "weights of some warps", r"thread % 32 < threads / 32 \?", "thread % 32 < threads / 64 ?", check_cross_entropy),
    Mutation("cross_entropy.cu", "gradient not averaged", r"\) \* o.scale : nothing", ") : nothing", check_cross_entropy),
    Mutation("cross_entropy.cu", "ignored label has a gradient", r"result\[j\] = counts \?", "result[j] = true ?", check_cross_entropy),
    Mutation("cross_entropy.cu", "weight of another class", r"o\.weight_of\(c \+ j\), p", "o.weight_of(c), p", check_cross_entropy),
    Mutation("cross_entropy.cu", "gaps left out", r"grad \+ c \* inner", "grad + c", check_cross_entropy),
    Mutation("cross_entropy.cu", "labels beyond the last", r"inside = i < slices", "inside = true", check_cross_entropy),
    # label_weights, sum_chunks
    *reductions("label_sums.cu", check_cross_entropy)[1:],  # one reduction a block: the first barrier waits for nothing
    Mutation("label_sums.cu", "ignored label has a weight", r"!counts \? A\(0\) :", "", check_cross_entropy),
    Mutation("label_sums.cu", "chunk not cut off", r"first \+ chunk < n \? first \+ chunk : n", "first + chunk", check_cross_entropy),
    Mutation("label_sums.cu", "sum of a warp", r"block_reduce\(sum, Sum\(\), A\(0\), scratch\)", "warp_reduce(sum, Sum())",
             check_cross_entropy),
]  # fmt: skip
